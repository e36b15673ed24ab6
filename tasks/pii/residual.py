"""Residual PII: are labelled values still to be found in what the index stores?

The stored rows are scanned, not searched by index: full-text search would miss values inside words, and an
approximate index anything. Texts and values are compared after NFKC, without invisible characters, with white space
and case folded.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote

from schemas.names import MetricStatus
from tasks.gold.kinds import PiiLabel
from tasks.metrics.rows import MetricRows
from tasks.pii.labels import LabelledValue, labelled_values
from tasks.pii.settings import PiiSettings
from tasks.pii.visible import visible
from tasks.stage import IndexView

_COLUMNS = ("document_id", "text", "title", "authors", "uri", "section_path")


def residual_rows(
    rows: MetricRows, labelled: Sequence[tuple[str, PiiLabel]], index: IndexView | None, settings: PiiSettings
) -> None:
    """A row per labelled value whose type is not kept: 1 if its document's stored rows still hold it, else 0.

    A row never holds the value: its unit is the type and a number. A document without rows in the index has nothing
    that could be found: `not_applicable`. Authors count for persons only where the policy redacts them.
    """
    stored = _stored(index, [document_id for document_id, _ in labelled]) if index is not None else {}
    for document_id, label in labelled:
        if document_id not in stored:
            rows.without_value("residual_pii", document_id, MetricStatus.NOT_APPLICABLE)
            continue
        texts, authors = stored[document_id]
        for value in _redacted_values(label, settings):
            found = _holds(texts if value.type == "PERSON" and settings.authors == "keep" else texts + authors, value)
            rows.ratio("residual_pii", document_id, found, 1, unit_id=value.unit_id)


def _redacted_values(label: PiiLabel, settings: PiiSettings) -> list[LabelledValue]:
    return [
        value
        for value in labelled_values(label, None)
        if settings.analyses(value.type) and settings.action(value.type) != "keep"
    ]


def _stored(index: IndexView, document_ids: Sequence[str]) -> dict[str, tuple[list[str], list[str]]]:
    """(folded texts, folded authors) of each document that has rows."""
    stored: dict[str, tuple[list[str], list[str]]] = {}
    for table in index.rows(_COLUMNS, document_ids):
        for row in table.to_pylist():
            texts, authors = stored.setdefault(row["document_id"], ([], []))
            texts += map(_folded, _texts(row))
            authors += map(_folded, row["authors"])
    return stored


def _texts(row: dict[str, Any]) -> Iterable[str]:
    yield row["text"]
    yield row["title"] or ""
    yield row["uri"]
    yield unquote(row["uri"])
    yield " ".join(row["section_path"])


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", visible(text).text).casefold().split())


def _holds(texts: Sequence[str], value: LabelledValue) -> bool:
    folded = _folded(value.value)
    pattern = re.compile(rf"(?<!\w){re.escape(folded)}(?!\w)")
    return bool(folded) and any(folded in text and pattern.search(text) for text in dict.fromkeys(texts))
