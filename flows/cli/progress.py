"""Progress of a run: bars on a terminal, plain lines elsewhere. It shows what the ledger records, stage by stage."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from schemas.names import StageName
from tasks.counted import counted
from tasks.run import context

_SECONDS_BETWEEN_LINES = 5.0


class _Lines:
    """A line when a stage is through, and every few seconds while it is not. Counts are those since the run began."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = self._said = time.monotonic()
        self._lock = threading.Lock()
        self._done: Counter[StageName] = Counter()
        self._computed: Counter[StageName] = Counter()
        self._through: Counter[StageName] = Counter()
        self._batches = 0

    def expect(self, documents: int, batches: int) -> None:
        self._batches = batches
        self._console.print(f"{self._elapsed():7.1f} s  plan         {documents} documents", highlight=False)

    def advance(self, stage: StageName, done: int, computed: int) -> None:
        with self._lock:
            self._done[stage] += done
            self._computed[stage] += computed
            self._through[stage] += 1
            now = time.monotonic()
            through = self._through[stage] >= self._batches
            if now - self._said < _SECONDS_BETWEEN_LINES and not through:
                return
            self._said = now
            whole = "in all" if through else "so far"
            self._console.print(
                f"{self._elapsed():7.1f} s  {stage:<12} {counted(self._done[stage], 'document')} {whole}, "
                f"{self._computed[stage]} computed",
                highlight=False,
            )

    def _elapsed(self) -> float:
        return time.monotonic() - self._started


class _Bars:
    """A bar per stage. Documents that an earlier stage took out never reach a later bar's end."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[StageName, TaskID] = {}
        self._computed: Counter[StageName] = Counter()
        self._lock = threading.Lock()
        self._documents: int | None = None

    def expect(self, documents: int, batches: int) -> None:
        self._documents = documents

    def advance(self, stage: StageName, done: int, computed: int) -> None:
        with self._lock:
            if stage not in self._tasks:
                self._tasks[stage] = self._progress.add_task(str(stage), total=self._documents, computed=0)
            self._computed[stage] += computed
            self._progress.update(self._tasks[stage], advance=done, computed=self._computed[stage])


@contextmanager
def shown_progress(console: Console) -> Iterator[context.Progress]:
    """Shows how far a run is while the block runs."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[computed]} computed"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bars(progress)
