"""Index: what a document contributes to the index. The rows themselves are written at the barrier, by the store."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas.names import StageName
from schemas.stages import INDEX, INDEX_ROWS
from tasks.errors import DocumentError, RunError
from tasks.index.evaluator import evaluate, facts
from tasks.index.reconciliation import RowsDigest
from tasks.index.settings import IndexSettings
from tasks.stage import Batch, Drop, Resources, Stage, StageOutput, documents_loop


def run(batch: Batch, settings: IndexSettings, resources: Resources) -> StageOutput:
    """Names the chunks of each document that go into the index: those with a valid vector, in their order.

    A document without chunks is dropped (`no_chunks`); one whose chunks all lack a valid vector fails.
    """
    positions, _, _ = _valid_vectors(batch.tables[StageName.EMBED])

    def contribution(document: dict[str, Any], rows: dict[StageName, dict[str, Any]]) -> dict[str, Any] | Drop:
        document_id = document["document_id"]
        chunks, metadata = rows[StageName.CHUNK]["chunks"], rows[StageName.METADATA]
        if not chunks:
            return Drop(document_id, "no_chunks")
        kept = [chunk for chunk in chunks if chunk["chunk_id"] in positions[document_id]]
        if not kept:
            raise DocumentError(
                "no_valid_vectors",
                f"none of the document's {len(chunks)} chunks has a valid vector",
                remedy="check what the embedding model answers (not all zero, no NaN, its stated dimension), run again",
            )
        digest = RowsDigest()
        for chunk in kept:
            digest.add(chunk["chunk_id"], chunk["text_sha"], metadata["tenant"], metadata["groups"])
        return {"chunk_ids": [chunk["chunk_id"] for chunk in kept], "rows_sha": digest.hex()}

    # Without the vectors, which would only be turned into Python numbers.
    tables = {name: batch.tables[name] for name in (StageName.CHUNK, StageName.METADATA)}
    return documents_loop(Batch(batch.documents, tables), INDEX, contribution)


def rows_for(batch: Batch, index_keys: Mapping[str, str]) -> pa.Table:
    """The rows of a batch's documents: `INDEX_ROWS` with `vector`, a row per chunk with a valid vector, in order.

    Raises:
        RunError: the documents' vectors differ in dimension.
    """
    dimensions = pc.unique(batch.tables[StageName.EMBED].column("dimension")).to_pylist()
    if len(dimensions) != 1:
        raise RunError(
            f"the documents of a batch have vectors of {len(dimensions)} dimensions: {sorted(dimensions)}",
            remedy="embed the whole corpus with one model: run again from the stage embed",
        )
    embedded = batch.tables[StageName.EMBED]
    positions, vectors, places = _valid_vectors(embedded)
    classes = dict(
        zip(
            batch.documents.column("document_id").to_pylist(),
            batch.documents.column("doc_class").to_pylist(),
            strict=True,
        )
    )
    rows: list[dict[str, Any]] = []
    taken: list[int] = []
    chunk_tables = batch.tables[StageName.CHUNK].column("chunks").to_pylist()
    for chunks, metadata in zip(chunk_tables, batch.tables[StageName.METADATA].to_pylist(), strict=True):
        document_id = metadata["document_id"]
        shared = {
            "document_id": document_id,
            "index_key": index_keys[document_id],
            "doc_class": classes[document_id],
        }
        for chunk in chunks:
            position = positions[document_id].get(chunk["chunk_id"])
            if position is not None:
                taken.append(position)
                # Names that both have mean the same, but `document_id`, which is the metadata's.
                rows.append(chunk | metadata | shared)
    table = pa.Table.from_pylist(rows, schema=INDEX_ROWS)
    column = INDEX_ROWS.get_field_index("token_vectors")
    table = table.set_column(column, INDEX_ROWS.field(column), _token_vectors(embedded, places[taken]))
    field = pa.field("vector", pa.list_(pa.float32(), dimensions[0]), nullable=False)
    values = pa.array(vectors[taken].ravel(), pa.float32())
    return table.append_column(field, pa.FixedSizeListArray.from_arrays(values, type=field.type))


def _token_vectors(embed: pa.Table, places: NDArray[np.int64]) -> pa.Array:
    """The token vectors of these embeddings (by place among all of the table); null where none were kept."""
    lists = embed.column("token_vectors").combine_chunks()
    if lists.null_count == len(lists):
        return pa.nulls(len(places), INDEX_ROWS.field("token_vectors").type)
    if lists.null_count:
        raise RunError(
            "some documents of a batch have token vectors and others have none",
            remedy="a defect: they were embedded under different settings; please report it with this message",
        )
    return pc.list_flatten(lists).take(pa.array(places))


def _valid_vectors(embed: pa.Table) -> tuple[dict[str, dict[str, int]], NDArray[np.float32], NDArray[np.int64]]:
    """{document: {chunk: row in the matrix}}, the matrix of valid vectors (stated length, finite, not all zero), and
    for each row of it the place of its embedding among all of the table."""
    lists = embed.column("embeddings").combine_chunks()
    counts = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    flat = pc.list_flatten(lists)
    owners = np.repeat(np.arange(embed.num_rows), counts)
    stated = embed.column("dimension").to_numpy()[owners]
    vectors = pc.struct_field(flat, "vector")
    full = pc.list_value_length(vectors).to_numpy(zero_copy_only=False) == stated
    width = int(stated[0]) if len(stated) else 0
    full &= stated == width
    matrix = pc.list_flatten(vectors.filter(pa.array(full))).to_numpy().reshape(-1, width or 1)
    sound = np.isfinite(matrix).all(axis=1) & matrix.any(axis=1)
    document_ids = embed.column("document_id").to_pylist()
    positions: dict[str, dict[str, int]] = {document_id: {} for document_id in document_ids}
    chunk_ids = pc.struct_field(flat, "chunk_id").filter(pa.array(full)).to_pylist()
    for position, (owner, chunk_id) in enumerate(zip(owners[full], chunk_ids, strict=True)):
        if sound[position]:
            positions[document_ids[owner]][chunk_id] = position
    return positions, matrix, np.flatnonzero(full)


def _fingerprint(settings: IndexSettings) -> Mapping[str, str]:
    """Nothing outside this code shapes what a document contributes; the tables have a format version of their own."""
    return {}


STAGE = Stage(
    name=StageName.INDEX,
    version=1,
    reads=(StageName.CHUNK, StageName.METADATA, StageName.EMBED),
    writes=INDEX,
    settings=IndexSettings,
    run=run,
    fingerprint=_fingerprint,
    scorer_version=4,
    evaluate=evaluate,
    context=("tenant", "groups", "doc_class"),
    facts=facts,
    reads_index=True,
)
