"""How this process gets memory: left to the libraries, a run keeps some hundred megabytes that it has freed.

Each of the many threads of DuckDB, Arrow and Lance would have an arena of its own, and Arrow an allocator of its own
besides; what one has freed no other uses; the more documents, the more of it.
"""

import ctypes
import os
import sys

_ARENA_MAX = -8
_MMAP_THRESHOLD = -3
_LARGE_BYTES = 256 * 2**10


def let_arrow_share() -> None:
    """Arrow takes its memory where all others do, unless the environment says otherwise; to be called before it is
    imported."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def share_freed_memory() -> bool:
    """One arena for all threads. Returns whether the C library took it: only glibc has such a setting."""
    return _glibc("mallopt", _ARENA_MAX, 1) == 1


def give_back_large_blocks() -> bool:
    """From here on, blocks of 256 KiB and more go back to the machine when they are freed, and none is cut into small
    ones: some percent of the time of what asks for many, and tens of megabytes less. Returns whether it was taken."""
    return _glibc("mallopt", _MMAP_THRESHOLD, _LARGE_BYTES) == 1


def give_back_freed_memory() -> bool:
    """What is free goes back to the machine: some milliseconds' work, for when much was held that is needed no more.

    Returns whether any did; it is glibc that can.
    """
    return _glibc("malloc_trim", 0) == 1


def _glibc(function: str, *arguments: int) -> int:
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return int(getattr(ctypes.CDLL(None), function)(*arguments))
    except AttributeError:  # musl
        return 0
