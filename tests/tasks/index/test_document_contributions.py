"""What a document contributes to the index follows from its chunks, their vectors and its access scope alone."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS
from schemas.names import MetricStatus, StageName
from schemas.stages import CHUNK, EMBED, INDEX, INDEX_ROWS, METADATA
from tasks.errors import RunError
from tasks.gold.labels import NO_LABELS
from tasks.index.settings import IndexSettings
from tasks.index.stage import STAGE, rows_for
from tasks.stage import Batch, Evidence, Resources, StageOutput

NAN = float("nan")


def batch_of(documents: dict[str, dict[str, list[float] | None]], tenant: str = "acme", dimension: int = 2) -> Batch:
    """A batch; each document is given as {chunk name: vector, or null for no embedding at all}."""
    plan, chunks, metadata, embeddings = [], [], [], []
    for document_id, parts in documents.items():
        plan.append(
            {"document_id": document_id, "source": "s", "uri": document_id, "locator": document_id, "doc_class": "x"}
            | {"tenant": tenant, "groups": ["staff"], "cohort": "new"}
        )
        items: list[dict[str, Any]] = [
            {"chunk_id": f"{document_id}/{name}/0", "ordinal": n, "start": n, "end": n + 1, "text": f"text of {name}"}
            | {"prefix_length": 0, "section_path": [name], "page_first": n + 1, "page_last": n + 2, "element_ids": [n]}
            | {"tokens": 3, "text_sha": f"sha-{name}"}
            for n, name in enumerate(parts)
        ]
        chunks.append({"document_id": document_id, "chunks": items, "dropped": []})
        metadata.append(
            {"document_id": document_id, "title": "A title", "authors": ["[PERSON]"], "sections": []}
            | {"language": "en", "uri": f"{document_id}.pdf", "tenant": tenant, "groups": ["staff"]}
        )
        vectors = [
            {"chunk_id": f"{document_id}/{name}/0", "vector": vector, "tokens": 3, "truncated": False}
            for name, vector in parts.items()
            if vector is not None
        ]
        embeddings.append(
            {"document_id": document_id, "model": "m", "model_version": "1", "dimension": dimension}
            | {"embeddings": vectors}
        )
    return Batch(
        pa.Table.from_pylist(plan, schema=DOCUMENTS),
        {
            StageName.CHUNK: pa.Table.from_pylist(chunks, schema=CHUNK),
            StageName.METADATA: pa.Table.from_pylist(metadata, schema=METADATA),
            StageName.EMBED: pa.Table.from_pylist(embeddings, schema=EMBED),
        },
    )


def run(batch: Batch) -> StageOutput:
    return STAGE.run(batch, IndexSettings(), Resources(None, Path()))  # type: ignore[arg-type]


BAD = {
    "nan": [NAN, 1.0],
    "zero": [0.0, 0.0],
    "short": [1.0],
    "long": [1.0, 2.0, 3.0],
    "infinite": [1.0, NAN],
    "no": None,
}


def test_chunks_without_a_valid_vector_are_left_out_and_counted() -> None:
    batch = batch_of({"d": {"good": [1.0, 0.0], **BAD, "last": [0.0, -1.0]}})
    output = run(batch)
    assert output.table.schema == INDEX
    assert output.table.column("chunk_ids").to_pylist() == [["d/good/0", "d/last/0"]]
    rows = rows_for(batch, {"d": "key"})
    assert rows.schema.names == [*INDEX_ROWS.names, "vector"]
    assert rows.column("vector").to_pylist() == [[1.0, 0.0], [0.0, -1.0]]
    measured = STAGE.evaluate(Evidence(batch, output.table, NO_LABELS, {}, None), IndexSettings())  # type: ignore[arg-type]
    (row,) = measured.to_pylist()
    assert (row["metric"], row["numerator"], row["denominator"]) == ("indexed_share", 2.0, 8.0)
    assert row["status"] == MetricStatus.OK


def test_rows_carry_the_chunk_and_its_documents_metadata() -> None:
    row = rows_for(batch_of({"d": {"intro": [3.0, 4.0]}}), {"d": "key"}).to_pylist()[0]
    assert row == {
        "chunk_id": "d/intro/0",
        "document_id": "d",
        "index_key": "key",
        "text": "text of intro",
        "text_sha": "sha-intro",
        "title": "A title",
        "authors": ["[PERSON]"],
        "section_path": ["intro"],
        "page_first": 1,
        "page_last": 2,
        "published": None,
        "language": "en",
        "uri": "d.pdf",
        "tenant": "acme",
        "groups": ["staff"],
        "doc_class": "x",
        "context": None,
        "token_vectors": None,
        "vector": [3.0, 4.0],
    }


def test_every_document_comes_out_once() -> None:
    output = run(batch_of({"ok": {"a": [1.0, 0.0]}, "empty": {}, "broken": {"a": [0.0, 0.0], "b": None}}))
    assert output.table.column("document_id").to_pylist() == ["ok"]
    assert [(drop.document_id, drop.reason) for drop in output.drops] == [("empty", "no_chunks")]
    assert [(f.document_id, f.error_class) for f in output.failures] == [("broken", "no_valid_vectors")]
    assert set(output.costs) == {"ok", "empty", "broken"}


def test_the_batch_around_a_document_is_irrelevant() -> None:
    documents: dict[str, dict[str, list[float] | None]] = {
        "a": {"x": [1.0, 0.0], "y": [0.0, 0.0]},
        "b": {},
        "c": {"x": [0.5, 0.5]},
    }
    together = run(batch_of(documents)).table.to_pylist()
    reverse = run(batch_of(dict(reversed(documents.items())))).table.to_pylist()
    alone = [row for i in documents for row in run(batch_of({i: documents[i]})).table.to_pylist()]
    assert together == alone == reverse[::-1]
    keys = dict.fromkeys(documents, "k")
    assert rows_for(batch_of(documents), keys).to_pylist() == [
        row for i in ("a", "c") for row in rows_for(batch_of({i: documents[i]}), keys).to_pylist()
    ]


def test_the_digest_follows_text_and_access_scope() -> None:
    plain = run(batch_of({"d": {"a": [1.0, 0.0]}})).table
    assert plain == run(batch_of({"d": {"a": [0.0, 1.0]}})).table
    assert plain != run(batch_of({"d": {"a": [1.0, 0.0]}}, tenant="rival")).table
    assert plain != run(batch_of({"d": {"b": [1.0, 0.0]}})).table


def test_two_dimensions_in_a_batch_are_refused() -> None:
    one, other = batch_of({"a": {"x": [1.0, 0.0]}}), batch_of({"b": {"x": [1.0]}}, dimension=1)
    tables = {name: pa.concat_tables([one.tables[name], other.tables[name]]) for name in one.tables}
    with pytest.raises(RunError, match=r"2 dimensions: \[1, 2\]"):
        rows_for(Batch(pa.concat_tables([one.documents, other.documents]), tables), {"a": "k", "b": "k"})
