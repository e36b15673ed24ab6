"""Mending a lake with torn or missing files: what can be computed again is forgotten, so that the next run does so.

Torn files are moved to `torn/`, under the names that they had. A stage output or measures file leaves an empty one in
its place, so that runs which name it can still be read, without these rows.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.ledger import LEDGER, QUARANTINE
from schemas.measures import MEASURES
from schemas.names import Cohort, StageName
from schemas.stages import SIGNATURE, STAGE_OUTPUTS
from tasks.errors import RunError
from tasks.index.generations import Generations
from tasks.lake.files import read_table, write_table
from tasks.lake.layout import SIGNATURES, TORN, Lake
from tasks.lake.ledger import Ledger
from tasks.lake.packed import can_be_read, packed_in, stored_in
from tasks.lake.quarantine import Quarantine
from tasks.lake.runs import Runs
from tasks.run.configuration import Configuration
from tasks.run.context import RunContext
from tasks.run.facts import all_locations
from tasks.run.index_repair import repair_index
from tasks.run.planning import as_in_live
from tasks.run.session import Session
from tasks.run.withholding import withhold

_NAMED_OR_REPLACED = """
    file = ? OR (kind, stage, document_id, stage_key) IN (
        SELECT (kind, stage, document_id, stage_key) FROM ledger
        WHERE file = ? AND outcome = 'ok' AND reason IS NOT NULL)
"""
"""Rows that name a file; and what a forced output in it replaced, which would be found again under the same key."""


def repair(configuration: Configuration, lake: Lake) -> Iterator[str]:
    """Mends what can be mended and says what it did, a sentence each; call it while holding the lake.

    Raises:
        RunError: the disk refuses, or `live.json` is torn and nothing tells what was live.
    """
    for folder, schema, what in (
        (lake.ledger, LEDGER, "what it named is computed again by the next run"),
        (lake.quarantine, QUARANTINE, "the causes and attempts that it recorded are gone"),
    ):
        for path in sorted(folder.glob("*.parquet")):
            if not is_whole(path, schema):
                yield f"{_set_aside(lake, path)} was torn: {what}"
    yield from _outputs(lake)
    generations = Generations(lake.index, 0.0)
    yield from filter(None, (generations.restore_live(), generations.restore_record()))
    yield from _plans(lake)
    yield from _locations(configuration, lake)
    yield from repair_index(configuration, lake)
    if count := withhold(configuration, lake, resting=True):
        yield f"text from before redaction lay in {count} files and folders: it was removed (run.redact_only)"


def is_whole(path: Path, schema: pa.Schema) -> bool:
    """Whether every row of a file can be read."""
    try:
        read_table(path, schema)
    except RunError:
        return False
    return True


def _outputs(lake: Lake) -> Iterator[str]:
    ledger = Ledger(lake.ledger)
    named = ledger.select("SELECT DISTINCT kind, stage, file FROM ledger WHERE file IS NOT NULL ORDER BY ALL")
    yield from _packed_files(lake, {(lake.root / file).parent for file in named.column("file").to_pylist()})
    for row in named.to_pylist():
        path = lake.root / row["file"]
        schema = MEASURES if row["kind"] == "measures" else _schema(row["stage"])
        if stored_in(lake, path.parent).is_packed(row["file"]) or is_whole(path, schema):
            continue
        state = "torn" if path.exists() else "missing"
        if path.exists():
            _set_aside(lake, path)
        forgotten = ledger.forget(_NAMED_OR_REPLACED, [row["file"], row["file"]])
        write_table(schema.empty_table(), path, schema)
        yield (
            f"{row['file']} was {state}: {forgotten} rows of the ledger named it, and the next run makes them again; "
            "earlier runs that name it are read without its rows"
        )


def _packed_files(lake: Lake, folders: Collection[Path]) -> Iterator[str]:
    """Of a packed file that was torn, every name it held is missing from then on."""
    for path in sorted(path for folder in folders for path in packed_in(folder)):
        if not can_be_read(path):
            yield f"{_set_aside(lake, path)} was torn: what it held is named one by one"


def _schema(stage: str) -> pa.Schema:
    return SIGNATURE if stage == SIGNATURES else STAGE_OUTPUTS[StageName(stage)]


def _plans(lake: Lake) -> Iterator[str]:
    """A run's plan is made anew from its batches, and the documents it deleted from the run that made live then."""
    runs = Runs(lake)
    for run_id in runs.ids():
        path = lake.run(run_id) / "plan.parquet"
        if not path.exists() or is_whole(path, DOCUMENTS):
            continue
        try:
            plan = _plan_of_batches(runs, run_id)
        except RunError:
            plan = DOCUMENTS.empty_table()
        if not plan.num_rows and run_id not in _made_live(lake):
            aside = lake.root / TORN / "runs" / run_id
            aside.parent.mkdir(parents=True, exist_ok=True)
            lake.run(run_id).replace(aside)
            yield f"runs/{run_id}/plan.parquet was torn, and the run's batches do not tell it: the run is set aside"
            continue
        aside_name = _set_aside(lake, path)
        runs.write_plan(run_id, plan)
        if plan.num_rows:
            yield f"{aside_name} was torn: made anew from the batches of run {run_id}"
        else:
            yield (
                f"{aside_name} was torn, and nothing tells which documents run {run_id}, whose index is kept, had: the "
                "next run takes every document for a new one"
            )


def _plan_of_batches(runs: Runs, run_id: str) -> pa.Table:
    folder = runs.lake.run(run_id) / "batches"
    planned = sorted(path for path in folder.glob("*.parquet") if path.stem.isdigit())
    fetched = [path.with_name(f"{path.stem}-fetched.parquet") for path in planned]
    parts = [read_table(f if f.exists() else p, DOCUMENTS) for p, f in zip(planned, fetched, strict=True)]
    plan = pa.concat_tables([DOCUMENTS.empty_table(), *parts])
    there = set(plan.column("document_id").to_pylist())
    before = runs.plan(runs.manifest(run_id).get("baseline_run")).to_pylist()
    gone = [
        as_in_live(row, Cohort.DELETED)
        for row in before
        if row["cohort"] != Cohort.DELETED and row["document_id"] not in there
    ]
    return pa.concat_tables([plan, pa.Table.from_pylist(gone, schema=DOCUMENTS)]) if there else plan


def _made_live(lake: Lake) -> set[str]:
    return {at.generation.run_id for at in Generations(lake.index, 0.0).standing()}


def _locations(configuration: Configuration, lake: Lake) -> Iterator[str]:
    """Where a run's rows are is made anew from what its batches recorded."""
    runs = Runs(lake)
    torn = [
        run_id
        for run_id in runs.ids()
        if runs.is_readable(run_id) and not is_whole(lake.run(run_id) / "locations.parquet", LOCATIONS)
    ]
    if not torn:
        return
    ledger, quarantine = Ledger(lake.ledger), Quarantine(lake.quarantine)
    for run_id in torn:
        path = lake.run(run_id) / "locations.parquet"
        aside = _set_aside(lake, path)
        batches = Session(RunContext(run_id, configuration, lake, ledger, quarantine)).batches()
        try:
            found = all_locations(batches)
        except RunError:
            found = LOCATIONS.empty_table()
        if not found.num_rows:
            yield f"{aside} was torn, and nothing tells where the rows of run {run_id} are: it cannot be read any more"
            continue
        write_table(found.sort_by([("document_id", "ascending"), ("stage", "ascending")]), path, LOCATIONS)
        yield f"{aside} was torn: made anew from what the batches of run {run_id} recorded"


def _set_aside(lake: Lake, path: Path) -> str:
    name = path.relative_to(lake.root).as_posix()
    target = lake.root / TORN / name
    target.parent.mkdir(parents=True, exist_ok=True)
    path.replace(target)
    return name
