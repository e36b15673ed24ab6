"""Running a command and measuring it from outside: CPU seconds of the whole tree, and its peak memory."""

import resource
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Measured:
    """CPU and wall seconds of a process tree; peak resident bytes of its root and of all together, sampled."""

    cpu_seconds: float
    wall_seconds: float
    peak_root_bytes: int
    peak_tree_bytes: int


def measure(arguments: Sequence[str], log: Path) -> Measured:
    """Runs `python ARGUMENTS` in the project and measures it. Its output goes to `log`.

    A run whose verdict blocks (1, 4) has done all its work too: what the gate says is not measured here.

    Raises:
        RuntimeError: the command failed; the end of its output is in the message.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        watcher = _Watcher(process.pid)
        watcher.start()
        code = process.wait()
        watcher.stopped.set()
        watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # A traceback ends with 1 too.
    if code not in (0, 1, 4) or b"Traceback (most recent call last)" in log.read_bytes():
        end = log.read_text(encoding="utf-8", errors="replace")[-2000:]
        raise RuntimeError(f"{' '.join(arguments)} ended with {code}:\n{end}")
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Measured(cpu, time.monotonic() - started, watcher.root, watcher.tree)


class _Watcher(threading.Thread):
    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self.stopped = threading.Event()
        self.root = 0
        self.tree = 0

    def run(self) -> None:
        while not self.stopped.wait(0.2):
            try:
                own = self._process.memory_info().rss
                total = own + sum(_resident(child) for child in self._process.children(recursive=True))
            except psutil.NoSuchProcess:
                return
            self.root, self.tree = max(self.root, own), max(self.tree, total)


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
