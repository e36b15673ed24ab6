"""How this process gets memory: with glibc's own settings a run keeps some hundred megabytes that it has freed.

Each of the many threads of DuckDB, Arrow and Lance would have an arena of its own, and what one has freed no other
uses; the more documents, the more of it.
"""

import ctypes
import sys

_ARENA_MAX = -8


def share_freed_memory() -> bool:
    """One arena for all threads. Returns whether the C library took it: only glibc has such a setting."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, 1) == 1)
    except AttributeError:  # musl
        return False
