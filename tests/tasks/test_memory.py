"""A run does not keep what its threads have freed."""

import os
import platform
import subprocess
import sys

from tasks.memory import give_back_freed_memory, give_back_large_blocks, share_freed_memory

# Eight threads fill 40 MB each and free it, but for a little at the end of it; then the main one fills as much as all.
_SCRIPT = """
import resource, sys, threading
from pathlib import Path
from tasks.memory import share_freed_memory
if sys.argv[1] == "shared":
    assert share_freed_memory()
def fill(megabytes):
    return [bytearray(100_000) for _ in range(10 * megabytes)]
together, kept = threading.Barrier(8), []
def work():
    blocks = fill(40)
    kept.append(bytearray(1_000))
    together.wait()
    del blocks
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
last = fill(320)
print(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20)
"""


def test_what_one_thread_has_freed_another_uses() -> None:
    if platform.libc_ver()[0] != "glibc":
        assert not share_freed_memory()
        return
    own, shared = (
        int(subprocess.run([sys.executable, "-c", _SCRIPT, how], capture_output=True, text=True, check=True).stdout)
        for how in ("own", "shared")
    )
    assert own - shared > 50


_ARROW = """
import sys
{imports}
import pyarrow
print(pyarrow.default_memory_pool().backend_name)
"""


def test_arrow_takes_its_memory_where_all_others_do() -> None:
    for imports, environment, expected in (
        ("import flows.cli", {}, "system"),
        ("", {}, None),
        ("import flows.cli", {"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc"),
    ):
        here = {key: value for key, value in os.environ.items() if key != "ARROW_DEFAULT_MEMORY_POOL"} | environment
        script = _ARROW.format(imports=imports)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=here)
        name = done.stdout.strip()
        assert name == expected if expected else name != "system"


def test_what_is_free_goes_back() -> None:
    blocks = [bytearray(10_000) for _ in range(5_000)]
    keep = bytearray(10_000)
    del blocks
    assert give_back_freed_memory() == (platform.libc_ver()[0] == "glibc")
    assert len(keep) == 10_000


# A freed large block teaches the C library to take the next ones from where small ones lie, between which they stay.
_BLOCKS = """
import resource, sys
from pathlib import Path
from tasks.memory import give_back_large_blocks
large = bytearray(30 * 2**20)
del large
if sys.argv[1] == "given back":
    assert give_back_large_blocks()
blocks = [(bytearray(2**20), bytearray(2_000)) for _ in range(200)]
kept = [small for _, small in blocks]
del blocks
print(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20)
"""


def test_large_blocks_go_back_by_themselves() -> None:
    if platform.libc_ver()[0] != "glibc":
        assert not give_back_large_blocks()
        return
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", _BLOCKS, how], capture_output=True, text=True, check=True).stdout)
        for how in ("kept", "given back")
    )
    assert kept - given_back > 150
