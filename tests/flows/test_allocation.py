"""A run does not keep what its threads have freed."""

import platform
import subprocess
import sys

import pytest

# Blocks that lie on the heap below one that is still held keep their pages when they are freed.
_SCRIPT = """
import resource, sys
from pathlib import Path
from flows.allocation import share_freed_memory
if sys.argv[1] == "shared":
    assert share_freed_memory()
def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
for size in range(1, 30):
    bytearray(size << 20)  # each time one is freed, glibc raises the size from which blocks have pages of their own
before = held()
large, last = [bytearray(8 << 20) for _ in range(20)], bytearray(4 << 20)
del large
print((held() - before) >> 20)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
def test_large_blocks_are_given_back_when_they_are_freed() -> None:
    own, shared = (
        int(subprocess.run([sys.executable, "-c", _SCRIPT, how], capture_output=True, text=True, check=True).stdout)
        for how in ("own", "shared")
    )
    assert own > 100
    assert shared < 20
