"""What the steps of a run share: the lake, the stages with their settings, the labels' whereabouts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import Outcome, StageName
from schemas.verdict import FailOn
from tasks.lake.files import read_table
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.quarantine import Quarantine
from tasks.lake.raw import RawStore
from tasks.lake.runs import Runs
from tasks.run.configuration import Configuration
from tasks.run.forced import Reworked
from tasks.run.keys import stage_base
from tasks.run.options import WHOLE, RunOptions
from tasks.run.registry import STAGES
from tasks.stage import Resources, Stage, StageSettings


class Progress(Protocol):
    """Who is told how far a run is."""

    def expect(self, documents: int, batches: int) -> None:
        """The plan holds this many documents, which travel in this many batches."""

    def advance(self, stage: StageName, done: int, computed: int) -> None:
        """A stage is through with one batch more: `done` documents, of which this run computed `computed`."""


class Silent:
    """Tells nobody."""

    def expect(self, documents: int, batches: int) -> None:
        """Nothing."""

    def advance(self, stage: StageName, done: int, computed: int) -> None:
        """Nothing."""


@dataclass(frozen=True)
class RunContext:
    """One run's surroundings. Lives in one process; tasks hand each other paths, not this."""

    run_id: str
    configuration: Configuration
    lake: Lake
    ledger: Ledger
    quarantine: Quarantine
    progress: Progress = field(default_factory=Silent)
    fail_on: FailOn = "fail"
    """From which verdict on the candidate is not promoted."""
    options: RunOptions = WHOLE
    reworked: Reworked = field(default_factory=Reworked)
    """What stages that were forced made anew."""

    @cached_property
    def resources(self) -> Resources:
        """What stages may ask of the shell."""
        return Resources(raw=RawStore(self.lake.raw), cache_dir=self.lake.cache)

    @cached_property
    def bases(self) -> Mapping[StageName, str]:
        """What each stage is in this run: its version, its settings for all classes, the libraries behind it."""
        return {name: stage_base(stage, self.settings(name)) for name, stage in STAGES.items()}

    def base(self, name: StageName, doc_class: str) -> str:
        """The part of a stage's keys that all documents of a class share."""
        known = self._class_bases.get((name, doc_class))
        if known is None:
            known = stage_base(STAGES[name], self.settings(name).for_class(doc_class))
            self._class_bases[name, doc_class] = known
        return known

    @cached_property
    def _class_bases(self) -> dict[tuple[StageName, str], str]:
        return {}

    @property
    def runs(self) -> Runs:
        """The runs of the lake."""
        return Runs(self.lake)

    @property
    def folder(self) -> Path:
        """The run's own folder in the lake."""
        return self.lake.run(self.run_id)

    def stage(self, name: StageName) -> Stage[Any]:
        """The stage's record."""
        return STAGES[name]

    def settings(self, name: StageName) -> StageSettings:
        """The stage's settings in this run."""
        return self.configuration.stages.of(name)

    def relative(self, path: Path) -> str:
        """A path as the lake's tables name it."""
        return path.relative_to(self.lake.root).as_posix()


@dataclass(frozen=True, slots=True)
class BatchRef:
    """A batch as tasks hand it on: paths of its document table and of what each stage made of it."""

    number: int
    documents: Path
    locations: Mapping[StageName, Path] = field(default_factory=dict)

    def with_stage(self, stage: StageName, path: Path) -> "BatchRef":
        """The same batch, one stage further."""
        return BatchRef(self.number, self.documents, {**self.locations, stage: path})

    def read_documents(self) -> pa.Table:
        """The batch's rows of the plan."""
        return read_table(self.documents, DOCUMENTS)

    def scored(self, stage: StageName) -> Path:
        """Where the stage's evaluator says which measures belong to these documents.

        A file of its own: later stages read the locations while evaluators are at work.
        """
        path = self.locations[stage]
        return path.parents[2] / "scored" / path.parent.name / path.name

    def read_held(self) -> pa.Table | None:
        """Where the rows of documents lie that a partial run does not take in; null where the batch has none."""
        path = self.documents.with_name(f"{self.number:05d}-held.parquet")
        return _read_locations(path, path.stat().st_mtime_ns) if path.exists() else None

    def read_locations(self, stage: StageName) -> pa.Table:
        """Where the stage's rows of these documents are."""
        path = self.locations[stage]
        return _read_locations(path, path.stat().st_mtime_ns)

    def keys_after(self, stage: StageName) -> dict[str, str]:
        """Stage keys of the documents that came out of a stage, by document id."""
        rows = self.read_locations(stage).filter(pc.field("outcome") == Outcome.OK.value)
        return dict(zip(rows.column("document_id").to_pylist(), rows.column("stage_key").to_pylist(), strict=True))

    def survivors(self, stage: StageName) -> dict[str, dict[str, Any]]:
        """Location rows of the documents that came out of a stage, by document id."""
        return {
            row["document_id"]: row for row in self.read_locations(stage).to_pylist() if row["outcome"] == Outcome.OK
        }


@lru_cache(maxsize=128)
def _read_locations(path: Path, written: int) -> pa.Table:
    """Evaluators ask for the same few small tables again and again; `written` tells a table made anew.

    Ten thousand unchanged documents travel in five batches, with a table for each of eleven stages.
    """
    return read_table(path, LOCATIONS)
