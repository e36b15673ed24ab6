"""Builds the rows that the chunk stage reads from a short list of elements."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS
from schemas.stages import CHUNK, FETCH, NORMALIZE, PARSE, PII
from tasks.chunk.settings import ChunkSettings
from tasks.chunk.stage import STAGE, chunk_document
from tasks.gold.labels import NO_LABELS, Labels
from tasks.stage import Batch, Evidence
from tests.raw_bytes import OneRawFile

Rows = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]


def rows_of(
    elements: Sequence[tuple[Any, ...]], secrets: Sequence[str] = (), dropped: Sequence[int] = ()
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """PARSE, NORMALIZE and PII rows; an element is (kind, text[, heading level[, part]]). Each secret becomes [PII]."""
    stack: list[tuple[int, str]] = []
    parsed, spans, clean = [], [], ""
    for i, (kind, text, *level) in enumerate(elements):
        if kind == "heading":
            stack = [entry for entry in stack if entry[0] < level[0]]
        parsed.append(
            {
                "element_id": i,
                "kind": kind,
                "level": level[0] if level else None,
                "text": text,
                "html": None,
                "page": 1 + i // 10,
                "bbox": None,
                "anchor": None,
                "section_path": [title for _, title in stack],
                "part": level[1] if len(level) > 1 else None,
            }
        )
        if kind == "heading":
            stack.append((level[0], text))
        if i not in dropped:
            clean += "\n\n" if clean else ""
            spans.append({"element_id": i, "start": len(clean), "end": len(clean) + len(text)})
            clean += text
    pii, redacted, position = [], "", 0
    for start, end in sorted((clean.index(secret), clean.index(secret) + len(secret)) for secret in secrets):
        redacted += clean[position:start]
        pii.append(
            {"start": start, "end": end, "redacted_start": len(redacted), "redacted_end": len(redacted) + len("[PII]")}
        )
        redacted += "[PII]"
        position = end
    redacted += clean[position:]
    return (
        {"elements": parsed, "pages": 1, "encoding": None},
        {"text": clean, "elements": spans},
        {"text": redacted, "spans": pii, "fields": []},
    )


def measured(
    file: Path, rows: Rows, made: Mapping[str, Any], settings: ChunkSettings, labels: Labels = NO_LABELS
) -> list[dict[str, Any]]:
    """The evaluator's rows for the chunks of one Markdown file; `rows` are its PARSE, NORMALIZE and PII rows."""
    beside: dict[pa.Schema, dict[str, Any]] = {
        FETCH: {"content_sha": "c", "media_type": "text/markdown", "size_bytes": 9, "unchanged": False},
        PARSE: {"parser": "p", "parser_version": "1", "pages_without_output": [], "meta_authors": [], **rows[0]},
        NORMALIZE: {"offsets": [], **rows[1]},
        PII: {"coverage": "model", **rows[2]},
    }
    tables = {
        stage: pa.Table.from_pylist([{"document_id": "d"} | row], schema=schema)
        for stage, (schema, row) in zip(STAGE.reads, beside.items(), strict=True)
    }
    document = {
        "document_id": "d", "source": "s", "uri": "u", "locator": "l", "doc_class": "x", "tenant": "t",
        "groups": [], "content_sha": "c", "cohort": "new",
    }  # fmt: skip
    evidence = Evidence(
        Batch(pa.Table.from_pylist([document], schema=DOCUMENTS), tables),
        pa.Table.from_pylist([{"document_id": "d", **made}], schema=CHUNK),
        labels,
        {},
        OneRawFile(file),
    )
    return STAGE.evaluate(evidence, settings).to_pylist()


def _chunked(
    elements: Sequence[tuple[Any, ...]], secrets: Sequence[str] = (), dropped: Sequence[int] = (), **settings: Any
) -> dict[str, Any]:
    return chunk_document("doc", *rows_of(elements, secrets, dropped), ChunkSettings(**settings))


@pytest.fixture(scope="session")
def chunked() -> Callable[..., dict[str, Any]]:
    """Chunks a list of elements."""
    return _chunked
