"""Measures of the metadata stage."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from rapidfuzz.distance import Levenshtein

from schemas.names import MetricStatus, StageName
from tasks.gold.kinds import EntitiesLabel, MetadataLabel
from tasks.metadata.entity_scores import ENTITY_METRICS, RELATION_METRICS, add_rows
from tasks.metadata.settings import MetadataSettings
from tasks.metrics.rows import MetricRows
from tasks.stage import Evidence

_READ = {StageName.NORMALIZE: ("text",), StageName.PII: ("spans",)}
_GOLD = ("title_exact", "title_similarity", "author_precision", "author_recall", "author_f1", "date_accuracy")


def evaluate(evidence: Evidence, settings: MetadataSettings) -> pa.Table:
    """Metric rows of every document of the batch."""
    rows = MetricRows(StageName.METADATA)
    for (document, tables), made in zip(evidence.batch.rows(_READ), evidence.output.to_pylist(), strict=True):
        document_id = made["document_id"]
        rows.ratio("title_present", document_id, int(bool(made["title"])), 1)
        rows.ratio("date_present", document_id, int(made["published"] is not None), 1)
        if made["date_search"] is None:
            rows.without_value("date_search_failed", document_id, MetricStatus.NOT_APPLICABLE)
        else:
            rows.ratio("date_search_failed", document_id, int(made["date_search"] != "done"), 1)
        if made["entity_coverage"] is None:
            rows.without_value("entities_unread", document_id, MetricStatus.NOT_APPLICABLE)
        else:
            rows.ratio("entities_unread", document_id, int(made["entity_coverage"] != "model"), 1)
        if evidence.labels.is_stale(document_id, "metadata"):
            for metric in _GOLD:
                rows.without_value(metric, document_id, MetricStatus.STALE_LABEL)
        if label := evidence.labels.of(document_id, MetadataLabel, "metadata"):
            _score(rows, document_id, made, label)
        if entities := evidence.labels.of(document_id, EntitiesLabel, "entities"):
            spans = tables[StageName.PII]["spans"]
            masked = [(span["start"], span["end"]) for span in spans if span["action"] != "keep"]
            own = settings.for_class(document["doc_class"])
            add_rows(rows, document_id, made, entities, tables[StageName.NORMALIZE]["text"], masked, own)
        elif evidence.labels.is_stale(document_id, "entities"):
            for metric in (*ENTITY_METRICS, *RELATION_METRICS):
                rows.without_value(metric, document_id, MetricStatus.STALE_LABEL)
    return rows.table()


def _score(rows: MetricRows, document_id: str, made: dict[str, Any], label: MetadataLabel) -> None:
    if label.title is not None:
        status = MetricStatus.OK if made["title"] else MetricStatus.MISSING
        right, got = _plain(label.title), _plain(made["title"] or "")
        rows.ratio("title_exact", document_id, int(right == got), 1, status=status)
        rows.value("title_similarity", document_id, title_similarity(right, got), status=status)
    if label.authors is not None:
        hits, found, wanted = author_counts(made["authors"], label.authors)
        status = MetricStatus.MISSING if wanted and not found else MetricStatus.OK
        rows.ratio("author_precision", document_id, hits, found)
        rows.ratio("author_recall", document_id, hits, wanted, status=status)
        rows.ratio("author_f1", document_id, 2 * hits, found + wanted, status=status)
    if label.published is not None:
        status = MetricStatus.OK if made["published"] else MetricStatus.MISSING
        right_day = made["published"] is not None and made["published"].isoformat() == label.published[:10]
        rows.ratio("date_accuracy", document_id, int(right_day), 1, status=status)


def title_similarity(left: str, right: str) -> float:
    """1 - edit distance / length of the longer, in code points: 0 to 1, higher is closer, two empty texts give 1.

    >>> title_similarity("kitten", "sitting") == 1 - 3 / 7
    True
    """
    return float(Levenshtein.normalized_similarity(left, right))


def author_counts(found: Sequence[str], wanted: Sequence[str]) -> tuple[int, int, int]:
    """(names that agree, names found, names wanted); compared without case, punctuation, and order of a name's parts.

    >>> author_counts(["Doe, Jane", "N. N."], ["Jane Doe"])
    (1, 2, 1)
    """
    left, right = Counter(map(_name, found)), Counter(map(_name, wanted))
    return (left & right).total(), len(found), len(wanted)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _name(text: str) -> tuple[str, ...]:
    letters = "".join(char if char.isalnum() else " " for char in unicodedata.normalize("NFKC", text).casefold())
    return tuple(sorted(letters.split()))
