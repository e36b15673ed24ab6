"""Documents that a partial run does not take in: their rows of the run that made live stand, stage by stage.

A row stands as long as the document's row of the stage before stands. So settings that have changed since compute
nothing of them anew; only where another decision falls on one at the dedup barrier does it go its way from there.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import LOCATIONS
from schemas.names import StageName
from tasks.errors import ConfigurationError, RunError
from tasks.lake.files import write_table
from tasks.run.context import BatchRef, RunContext
from tasks.run.planning import BatchPlan
from tasks.run.registry import PREVIOUS


def write_held(context: RunContext, parts: Sequence[BatchPlan], held: Set[str], baseline: str) -> None:
    """Writes, for each batch, where the rows of its held documents lie, all stages in one file.

    Raises:
        ConfigurationError: the embedding stage is another than that which made live's vectors.
        RunError: the records of the run that made live are gone.
    """
    runs_folder = context.lake.run(baseline)
    if not (runs_folder / "locations.parquet").exists():
        raise RunError(
            f"the records of run {baseline}, which made what is live, are gone from {context.lake.runs}",
            remedy="run without --only and --limit, so that no document depends on them",
        )
    _refuse_other_vectors(context, baseline)
    locations = context.runs.locations(baseline)
    locations = locations.filter(pc.is_in(locations.column("document_id"), pa.array(sorted(held), pa.string())))
    for part in parts:
        here = locations.filter(
            pc.is_in(locations.column("document_id"), part.documents.column("document_id").combine_chunks())
        )
        if here.num_rows:
            write_table(here, context.folder / "batches" / f"{part.number:05d}-held.parquet", LOCATIONS)


def standing_rows(
    context: RunContext, name: StageName, batch: BatchRef, previous: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Location rows of held documents of the batch that stand at this stage, by id.

    `previous` is the key of the stage before that each document has in this run; of no account for the first stage.
    """
    held = batch.read_held()
    if held is None:
        return {}
    before = _of(held, PREVIOUS[name]) if name in PREVIOUS else None
    return {
        document_id: row | {"computed": False, "measures_file": None, "measures_key": None}
        for document_id, row in _of(held, name).items()
        if before is None or (document_id in previous and before[document_id]["stage_key"] == previous[document_id])
    }


def _of(held: pa.Table, stage: StageName) -> dict[str, dict[str, Any]]:
    return {row["document_id"]: row for row in held.filter(pc.field("stage") == str(stage)).to_pylist()}


def _refuse_other_vectors(context: RunContext, baseline: str) -> None:
    before = context.runs.manifest(baseline).get("stage_bases", {}).get(str(StageName.EMBED))
    if before != context.bases[StageName.EMBED]:
        raise ConfigurationError(
            "the settings or the model of stage embed are not those that made live's vectors, and vectors of two kinds "
            "cannot stand in one index",
            remedy="run without --only and --limit, so that every document gets its new vectors",
        )
