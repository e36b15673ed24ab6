"""Documents as the PII stage meets them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import LANGUAGE, NORMALIZE, PARSE
from tasks.pii.settings import PiiSettings
from tasks.pii.stage import run
from tasks.stage import Batch

Made: TypeAlias = tuple[dict[str, Any], dict[StageName, dict[str, Any]]]


def document(
    document_id: str,
    paragraphs: Sequence[str],
    *,
    language: str = "en",
    uri: str = "a.md",
    title: str | None = None,
    authors: Sequence[str] = (),
    kinds: Mapping[int, str] | None = None,
) -> Made:
    """A document of these paragraphs; `kinds` names the elements that are none."""
    elements, spans, at = [], [], 0
    for number, text in enumerate(paragraphs):
        kind = (kinds or {}).get(number, "paragraph")
        elements.append({"element_id": number, "kind": kind, "level": 1, "text": text, "section_path": []})
        spans.append({"element_id": number, "start": at, "end": at + len(text)})
        at += len(text) + 2
    row = {"document_id": document_id, "source": "s", "uri": uri, "locator": uri, "doc_class": "c", "tenant": "t"}
    return row | {"groups": [], "cohort": "new"}, {
        StageName.PARSE: {
            "document_id": document_id,
            "parser": "test",
            "parser_version": "1",
            "pages": 1,
            "pages_without_output": [],
            "meta_title": title,
            "meta_authors": list(authors),
            "elements": elements,
        },
        StageName.NORMALIZE: {
            "document_id": document_id,
            "text": "\n\n".join(paragraphs),
            "elements": spans,
            "offsets": [],
        },
        StageName.LANGUAGE: {"document_id": document_id, "language": language, "confidence": 1.0, "model": "test"},
    }


def batch(*documents: Made) -> Batch:
    """Documents as one batch."""
    schemas = {StageName.PARSE: PARSE, StageName.NORMALIZE: NORMALIZE, StageName.LANGUAGE: LANGUAGE}
    return Batch(
        pa.Table.from_pylist([row for row, _ in documents], schema=DOCUMENTS),
        {name: pa.Table.from_pylist([made[name] for _, made in documents], schema=s) for name, s in schemas.items()},
    )


@pytest.fixture
def redact() -> Callable[..., dict[str, Any]]:
    """Runs the stage on one document and gives its row."""

    def redacted(paragraphs: Sequence[str], settings: PiiSettings | None = None, **about: Any) -> dict[str, Any]:
        made = batch(document("d", paragraphs, **about))
        return run(made, settings or PiiSettings(), None).table.to_pylist()[0]  # type: ignore[arg-type]

    return redacted


@pytest.fixture
def make_document() -> Callable[..., Made]:
    return document


@pytest.fixture
def make_batch() -> Callable[..., Batch]:
    return batch
