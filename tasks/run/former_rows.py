"""Rows of earlier versions of documents, for a stage that need not do again what it did for them."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import LOCATIONS
from schemas.names import StageName
from tasks.document_rows import ids_of, select
from tasks.errors import RunError
from tasks.lake.files import read_batches
from tasks.lake.packed import read_places
from tasks.run.context import RunContext
from tasks.run.registry import STAGES

_PLACES = pa.schema([LOCATIONS.field(name) for name in ("document_id", "stage", "file")])
_ROWS_AT_ONCE = 65_536


def former_rows(context: RunContext, name: StageName, documents: pa.Table) -> Mapping[StageName, pa.Table]:
    """By stage that `name` remembers, those columns of its rows of these documents in the last whole scan; in one
    order, of the documents that have all of them.

    Where that scan's run came to no end, it is the run that made live, and in a sweep the one that it is made from.

    Nothing for a stage that is forced, and where no run came before.
    """
    remembered = STAGES[name].remembers
    before = _run_before(context) if remembered and documents.num_rows else None
    if before is None or name in context.options.force:
        return {}
    try:
        places = _places(context, before, list(remembered), documents)
        tables = {stage: _rows(context, stage, columns, places) for stage, columns in remembered.items()}
    except RunError:
        return {}  # torn: `doctor` names it, and whoever needs the row itself does; here it is only made anew
    shared = set.intersection(*(set(ids_of(table)) for table in tables.values()))
    ids = [document_id for document_id in ids_of(documents) if document_id in shared]
    return {stage: select(table, ids) for stage, table in tables.items()}


def _run_before(context: RunContext) -> str | None:
    manifest = context.runs.manifest(context.run_id)
    runs = (manifest.get(name) for name in ("source_run", "last_scan_run", "baseline_run"))
    return next((run for run in runs if run and (context.lake.run(run) / "locations.parquet").exists()), None)


def _places(context: RunContext, run_id: str, stages: Sequence[StageName], documents: pa.Table) -> pa.Table:
    """Where the rows of these documents lie; the run's table is read piece by piece, since it names all documents."""
    path = context.lake.run(run_id) / "locations.parquet"
    wanted = (
        pc.field("document_id").isin(documents.column("document_id"))
        & pc.field("stage").isin([stage.value for stage in stages])
        & pc.field("file").is_valid()
    )
    batches = read_batches(path, _PLACES, _ROWS_AT_ONCE)
    return pa.concat_tables([_PLACES.empty_table(), *(pa.Table.from_batches([b]).filter(wanted) for b in batches)])


def _rows(context: RunContext, stage: StageName, columns: Sequence[str], places: pa.Table) -> pa.Table:
    here = places.filter(pc.equal(places.column("stage"), stage.value))
    files = dict(zip(ids_of(here), here.column("file").to_pylist(), strict=True))
    schema = pa.schema([STAGES[stage].writes.field(name) for name in ("document_id", *columns)])
    return read_places(context.lake, files, schema)
