"""Rows of earlier versions of documents, for a stage that need not do again what it did for them."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import StageName
from tasks.document_rows import ids_of, select
from tasks.errors import RunError
from tasks.lake.packed import read_places
from tasks.run.context import RunContext
from tasks.run.registry import STAGES


def former_rows(context: RunContext, name: StageName, documents: pa.Table) -> Mapping[StageName, pa.Table]:
    """By stage that `name` remembers, its rows of these documents in the last whole scan (or in the run that made live,
    if that scan's run came to no end); in one order, of the documents that have all of them.

    Nothing for a stage that is forced, and where no run came before.
    """
    remembered = STAGES[name].remembers
    before = _run_before(context) if remembered and documents.num_rows else None
    if before is None or name in context.options.force:
        return {}
    try:
        there = context.runs.locations(before).select(["document_id", "stage", "file"])
        wanted = pc.is_in(there.column("document_id"), documents.column("document_id"))
        there = there.filter(pc.and_(wanted, pc.is_valid(there.column("file"))))
        tables = {stage: _rows(context, stage, there) for stage in remembered}
    except RunError:
        return {}  # torn: `doctor` names it, and whoever needs the row itself does; here it is only made anew
    shared = set.intersection(*(set(ids_of(table)) for table in tables.values()))
    ids = [document_id for document_id in ids_of(documents) if document_id in shared]
    return {stage: select(table, ids) for stage, table in tables.items()}


def _run_before(context: RunContext) -> str | None:
    manifest = context.runs.manifest(context.run_id)
    runs = (manifest.get("last_scan_run"), manifest.get("baseline_run"))
    return next((run for run in runs if run and (context.lake.run(run) / "locations.parquet").exists()), None)


def _rows(context: RunContext, stage: StageName, there: pa.Table) -> pa.Table:
    here = there.filter(pc.equal(there.column("stage"), stage.value))
    places = dict(zip(ids_of(here), here.column("file").to_pylist(), strict=True))
    return read_places(context.lake, places, STAGES[stage].writes)
