"""Residual PII: are labelled values still to be found in what the index stores?

The stored rows are scanned, not searched by index: full-text search would miss values inside words, and an
approximate index anything. Texts and values are compared after NFKC, without invisible characters, with white space
and case folded.
"""

import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import unquote

from schemas.names import MetricStatus
from tasks.gold.kinds import PiiLabel
from tasks.metrics.rows import MetricRows
from tasks.pii.labels import LabelledValue, labelled_values
from tasks.pii.settings import PLACES, Action, PiiSettings, PlaceOfText
from tasks.pii.visible import visible
from tasks.stage import IndexView

_COLUMNS = ("document_id", "text", "title", "context", "authors", "uri", "section_path")


def residual_rows(
    rows: MetricRows, labelled: Sequence[tuple[str, PiiLabel]], index: IndexView | None, settings: PiiSettings
) -> None:
    """A row per labelled value whose type is redacted: 1 if its document's stored rows still hold it, else 0.

    A row never holds the value: its unit is the type and a number. A document without rows in the index has nothing
    that could be found: `not_applicable`. A field counts only where the policy redacts the type there.
    """
    stored = _stored(index, [document_id for document_id, _ in labelled]) if index is not None else {}
    for document_id, label in labelled:
        if document_id not in stored:
            rows.without_value("residual_pii", document_id, MetricStatus.NOT_APPLICABLE)
            continue
        for value in labelled_values(label, None):
            if settings.analyses(value.type) and settings.redacts(value.type):
                places = [place for place in PLACES if _action(settings, value.type, place) != "keep"]
                found = _holds([text for place in places for text in stored[document_id][place]], value)
                rows.ratio("residual_pii", document_id, found, 1, unit_id=value.unit_id)


def _action(settings: PiiSettings, entity_type: str, place: PlaceOfText) -> Action:
    if entity_type == "PERSON" and place == "authors":
        return settings.authors
    return settings.action(entity_type, place)


def _stored(index: IndexView, document_ids: Sequence[str]) -> dict[str, dict[PlaceOfText, list[str]]]:
    """The folded texts of each document that has rows, by where they stand."""
    stored: dict[str, dict[PlaceOfText, list[str]]] = {}
    for table in index.rows(_COLUMNS, document_ids):
        for row in table.to_pylist():
            places = stored.setdefault(row["document_id"], {place: [] for place in PLACES})
            places["text"] += map(_folded, (row["text"], " ".join(row["section_path"])))
            places["title"] += map(_folded, (row["title"] or "", row["context"] or ""))
            places["uri"] += map(_folded, (row["uri"], unquote(row["uri"])))
            places["authors"] += map(_folded, row["authors"])
    return stored


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", visible(text).text).casefold().split())


def _holds(texts: Sequence[str], value: LabelledValue) -> bool:
    folded = _folded(value.value)
    holding = [text for text in dict.fromkeys(texts) if folded in text] if folded else []
    if not holding:
        return False
    pattern = re.compile(rf"(?<!\w){re.escape(folded)}(?!\w)")
    return any(pattern.search(text) for text in holding)
