"""How this process gets memory: with glibc's own settings a run keeps several hundred megabytes that it has freed.

Each of the many threads of DuckDB, Arrow and Lance would have an arena of its own, and what one has freed no other
uses; the more documents, the more of it.
"""

import ctypes
import sys

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
_LARGE = 2**20


def share_freed_memory() -> bool:
    """One arena for all threads, and pages of their own, given back when freed, for blocks of a megabyte and more.

    Returns whether the C library took it: only glibc has such settings.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # musl
        return False
    return all(mallopt(*setting) == 1 for setting in ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, _LARGE)))
