"""Progress of a run: bars on a terminal, plain lines elsewhere. It shows what the ledger records, stage by stage."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from schemas.names import StageName
from tasks.run.context import Report


class _Lines:
    """One line per stage when its documents are through."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._done: Counter[StageName] = Counter()
        self._computed: Counter[StageName] = Counter()
        self._said = 0.0

    def report(self, stage: StageName, done: int, computed: int) -> None:
        with self._lock:
            self._done[stage] += done
            self._computed[stage] += computed
            now = time.monotonic()
            if now - self._said < 2.0 and self._done[stage] < self._total:
                return
            self._said = now
            self._console.print(
                f"{now - self._started:7.1f} s  {stage:<12} {self._done[stage]:>6} documents, "
                f"{self._computed[stage]} computed",
                highlight=False,
            )


class _Bars:
    """A bar per stage."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[StageName, TaskID] = {}
        self._computed: Counter[StageName] = Counter()
        self._lock = threading.Lock()
        self.total = 0

    def report(self, stage: StageName, done: int, computed: int) -> None:
        with self._lock:
            if stage not in self._tasks:
                self._tasks[stage] = self._progress.add_task(str(stage), total=self.total or None, computed=0)
            self._computed[stage] += computed
            self._progress.update(self._tasks[stage], advance=done, computed=self._computed[stage])


@contextmanager
def shown_progress(console: Console) -> Iterator[Report]:
    """A callback for `RunContext.report`, shown while the block runs."""
    if not console.is_terminal:
        yield _Lines(console, 0).report
        return
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[computed]} computed"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bars(progress).report
