"""The index barrier: a candidate from live plus what changed, or none where nothing did."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from schemas.names import StageName
from tasks.document_rows import ids_of
from tasks.index.records import Candidate
from tasks.index.settings import IndexSettings
from tasks.index.stage import rows_for
from tasks.index.store import LanceIndex
from tasks.machine import machine_is_named
from tasks.memory import give_back_large_blocks
from tasks.run.brought_back import load_rows
from tasks.run.context import BatchRef, RunContext
from tasks.run.execute import in_parts
from tasks.stage import Batch

_TARGET = pa.schema([pa.field("document_id", pa.string(), False), pa.field("index_key", pa.string(), False)])


def open_index(context: RunContext) -> LanceIndex:
    """The index of the lake."""
    settings = context.settings(StageName.INDEX)
    if not isinstance(settings, IndexSettings):
        raise TypeError(f"settings of the index stage are {type(settings).__name__}")
    return LanceIndex(context.lake.index, settings)


def build_candidate(context: RunContext, batches: Sequence[BatchRef]) -> Candidate | None:
    """Builds the candidate beside live from all documents that passed the index stage; null where live already holds
    exactly these.
    """
    index = open_index(context)
    target = pa.Table.from_pylist(
        [
            {"document_id": document_id, "index_key": row["stage_key"]}
            for batch in batches
            for document_id, row in sorted(batch.survivors(StageName.INDEX).items())
        ],
        schema=_TARGET,
    )
    shape = _embedding_shape(context, batches)
    if shape is None:
        live = index.live()
        if live is None:
            return None
        shape = live.generation.dimension, live.generation.embedding
    dimension, embedding = shape
    anew = StageName.INDEX in context.options.force
    pending = index.pending(target, dimension=dimension, embedding=embedding, anew=anew)
    if not pending.write and not pending.remove and index.live() is not None:
        return None
    give_back_large_blocks()
    rows = _rows(context, batches, set(pending.write))
    with machine_is_named("building the index"):
        return index.build(context.run_id, target, rows, dimension=dimension, embedding=embedding, anew=anew)


def _rows(context: RunContext, batches: Sequence[BatchRef], wanted: set[str]) -> Iterator[pa.Table]:
    for batch in batches:
        survivors = batch.survivors(StageName.INDEX)
        documents = batch.read_documents()
        documents = documents.filter(pa.array([i in survivors and i in wanted for i in ids_of(documents)], pa.bool_()))
        if not documents.num_rows:
            continue
        for part in in_parts(context, documents):
            names = (StageName.CHUNK, StageName.METADATA, StageName.EMBED)
            tables = {name: load_rows(context, name, batch, ids_of(part)) for name in names}
            yield rows_for(Batch(part, tables), {i: survivors[i]["stage_key"] for i in ids_of(part)})


def _embedding_shape(context: RunContext, batches: Sequence[BatchRef]) -> tuple[int, str] | None:
    for batch in batches:
        survivors = sorted(batch.survivors(StageName.EMBED))
        if survivors:
            row = load_rows(context, StageName.EMBED, batch, survivors[:1]).to_pylist()[0]
            return int(row["dimension"]), f"{row['model']}@{row['model_version']}"
    return None
