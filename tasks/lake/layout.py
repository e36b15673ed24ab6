"""Where things lie in a lake. One lake belongs to one corpus; two runs never write it at the same time."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from schemas.documents import SCHEMA_VERSION
from schemas.names import StageName
from tasks.errors import RunError

SIGNATURES = "signature"
"""Folder and ledger name of the signatures that dedup keeps per document, beside its decisions."""

SWEEP = "sweep-"
"""What the ids of sweeps begin with; a point of one has its number behind a dot. They sort after the ids of runs."""

TORN = "torn"
"""The folder of torn files that a repair has set aside."""


def is_point_of_sweep(run_id: str) -> bool:
    """Whether an id is that of a point of a sweep, and of no run."""
    return run_id.startswith(SWEEP)


@dataclass(frozen=True, slots=True)
class Lake:
    """The folders of a lake."""

    root: Path

    def create(self) -> None:
        """Makes the folders, and refuses a lake written by a newer version.

        Raises:
            RunError: the folder cannot be written, or its schema version is newer than this code.
        """
        marker = self.root / "lake.json"
        try:
            for folder in (self.raw, self.ledger, self.gold, self.runs, self.quarantine, self.cache, self.index):
                folder.mkdir(parents=True, exist_ok=True)
            if not marker.exists():
                marker.write_text(json.dumps({"schema_version": SCHEMA_VERSION}) + "\n", encoding="utf-8")
        except OSError as error:
            raise RunError(
                f"the lake {self.root} cannot be written: {error.strerror}",
                remedy="check the path under `lake:` in the configuration, its permissions and the free space",
            ) from error
        written = json.loads(marker.read_text(encoding="utf-8"))["schema_version"]
        if written > SCHEMA_VERSION:
            raise RunError(
                f"the lake {self.root} was written by a newer version (schema {written}, this one reads "
                f"{SCHEMA_VERSION})",
                remedy="use the newer corpusgate, or another lake folder",
            )

    @contextmanager
    def exclusive(self, timeout: float = 0.0) -> Iterator[None]:
        """Holds the lake for one writer; the lock goes with the process, however it ends.

        Raises:
            RunError: another run holds it.
        """
        lock = FileLock(self.root / "lake.lock")
        try:
            lock.acquire(timeout=timeout)
        except Timeout:
            raise RunError(
                f"another run is writing the lake {self.root}",
                remedy="wait until it ends (`corpusgate status`), or pass --wait SECONDS",
            ) from None
        except OSError as error:
            raise RunError(
                f"the lake {self.root} cannot be written: {error.strerror or error}",
                remedy="it is on a disk that is read-only, or belongs to another user: mend that, then give the same "
                "command again",
            ) from error
        try:
            yield
        finally:
            lock.release()

    def half_written(self) -> list[Path]:
        """Files of writers that were killed; whoever holds the lake may remove them, since nobody else writes it."""
        return list(self.root.rglob(".*.tmp"))

    @property
    def raw(self) -> Path:
        """Bytes as fetched, by SHA-256."""
        return self.root / "raw"

    @property
    def ledger(self) -> Path:
        """What is done."""
        return self.root / "ledger"

    @property
    def quarantine(self) -> Path:
        """What could not be done, and why."""
        return self.root / "quarantine"

    @property
    def gold(self) -> Path:
        """Label sets in use, by digest."""
        return self.root / "gold"

    @property
    def runs(self) -> Path:
        """One folder per run."""
        return self.root / "runs"

    @property
    def index(self) -> Path:
        """The tables of the index and `live.json`."""
        return self.root / "index"

    @property
    def cache(self) -> Path:
        """Model files and other rebuildable things."""
        return self.root / "cache"

    def stage(self, name: StageName | str) -> Path:
        """Outputs of a stage."""
        return self.root / "stages" / str(name)

    def measures(self, name: StageName | str) -> Path:
        """Metric rows of a stage's documents."""
        return self.root / "measures" / str(name)

    def run(self, run_id: str) -> Path:
        """The folder of a run; that of a point of a sweep lies in the sweep's, so that nobody takes it for a run."""
        if is_point_of_sweep(run_id):
            sweep, _, point = run_id.partition(".")
            return self.sweep(sweep) / "points" / point
        return self.runs / run_id

    def sweep(self, sweep_id: str) -> Path:
        """The folder of a sweep."""
        return self.root / "sweeps" / sweep_id

    def alone(self, run_id: str, what: StageName | str) -> Path:
        """A run's metric rows of a stage scored alone, or (`inputs`) what these were made from."""
        return self.runs / run_id / "alone" / str(what)
