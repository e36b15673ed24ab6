"""What the PII stage is measured by: what it found, what it flagged wrongly, what is lost, what can still be found."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from schemas.names import MetricStatus, StageName
from tasks.document_rows import narrowed
from tasks.documents.quotes import locate
from tasks.gold.kinds import PiiLabel, QuestionsLabel, Quote
from tasks.metrics.rows import MetricRows
from tasks.metrics.spans import Span, SpanCounts, SpanMatch, span_counts, span_counts_by_type, span_faults
from tasks.pii.labels import labelled_values
from tasks.pii.settings import PiiSettings
from tasks.stage import CorpusEvidence, Evidence

_READ = {StageName.NORMALIZE: ("text",), StageName.LANGUAGE: ("language",)}
_MOST_FAULTS = 50
"""Spans at fault that are told by their place, of one document."""

_SUFFIX = {SpanMatch.STRICT: "", SpanMatch.PARTIAL: "_partial", SpanMatch.TYPE: "_type"}

SPAN_METRICS = (
    "pii_precision",
    "pii_recall",
    "pii_f1",
    "pii_f2",
    "pii_precision_partial",
    "pii_recall_partial",
    "pii_precision_type",
    "pii_recall_type",
)


def evaluate(evidence: Evidence, settings: PiiSettings) -> pa.Table:
    """Rows of a batch: spans against labels, look-alikes, text lost to redaction, language coverage."""
    rows = MetricRows(StageName.PII)
    labels = evidence.labels
    outputs = narrowed(evidence.output, ("spans", "coverage")).to_pylist()
    for (document, stages), output in zip(evidence.batch.rows(_READ), outputs, strict=True):
        document_id = document["document_id"]
        text = stages[StageName.NORMALIZE]["text"]
        rows.ratio("unsupported_language", document_id, output["coverage"] == "unsupported_language", 1)
        if labels.is_stale(document_id, "pii"):
            for metric in (*SPAN_METRICS, "hard_negatives", "over_redaction"):
                rows.without_value(metric, document_id, MetricStatus.STALE_LABEL)
            continue
        label = labels.of(document_id, PiiLabel, "pii")
        questions = labels.of(document_id, QuestionsLabel, "questions")
        if label is not None:
            language = stages[StageName.LANGUAGE]["language"]
            _spans(rows, document_id, label, text, output["spans"], language, settings)
            _hard_negatives(rows, document_id, label, text, output["spans"])
        if label is not None:
            _over_redaction(rows, document_id, label, questions, text, output["spans"])
    return rows.table()


def _spans(
    rows: MetricRows,
    document_id: str,
    label: PiiLabel,
    text: str,
    spans: Sequence[dict[str, Any]],
    language: str,
    settings: PiiSettings,
) -> None:
    predicted = [Span(span["start"], span["end"], span["type"]) for span in spans]
    placed: list[Span] = []
    not_analysed: set[str] = set()
    for value in labelled_values(label, text):
        if not settings.analyses(value.type):
            not_analysed.add(value.type)
        elif value.span is None:
            rows.without_value("pii_recall", document_id, MetricStatus.LOST_UPSTREAM, unit_id=value.unit_id)
        else:
            placed.append(value.span)
    for kind in sorted(not_analysed):
        for metric in SPAN_METRICS:
            rows.without_value(metric, document_id, MetricStatus.NOT_APPLICABLE, slice_of=("entity_type", kind))
    for match, suffix in _SUFFIX.items():
        overall = span_counts(placed, predicted, match)
        _counts(rows, document_id, overall, suffix, None)
        _counts(rows, document_id, overall, suffix, ("language", language))
        for kind, counts in span_counts_by_type(placed, predicted, match).items():
            _counts(rows, document_id, counts, suffix, ("entity_type", kind))
            _counts(rows, document_id, counts, suffix, ("entity_type_language", f"{kind}/{language}"))
    _faults(rows, document_id, placed, predicted)


def _faults(rows: MetricRows, document_id: str, placed: Sequence[Span], predicted: Sequence[Span]) -> None:
    """Where the spans at fault are, in the order of the text: what was lost of recall, what was invented."""
    for span, fault in list(dict.fromkeys((f.span, f.fault) for f in span_faults(placed, predicted)))[:_MOST_FAULTS]:
        metric = "pii_precision" if fault == "invented" else "pii_recall"
        unit_id = f"{document_id}#span-{span.start}-{span.end}-{span.type}"
        rows.ratio(metric, document_id, 0, 1, unit_id=unit_id, slice_of=("fault", fault))


def _counts(
    rows: MetricRows, document_id: str, counts: SpanCounts, suffix: str, slice_of: tuple[str, str] | None
) -> None:
    rows.ratio(f"pii_precision{suffix}", document_id, counts.correct, counts.predictions, slice_of=slice_of)
    rows.ratio(f"pii_recall{suffix}", document_id, counts.found, counts.annotations, slice_of=slice_of)
    if not suffix:
        # Strict matches are one to one, so F is a ratio of sums over documents; for the other matchings it is not.
        for metric, weight in (("pii_f1", 1), ("pii_f2", 4)):
            denominator = weight * counts.annotations + counts.predictions
            rows.ratio(metric, document_id, (1 + weight) * counts.found, denominator, slice_of=slice_of)


def _redacting(spans: Iterable[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(span["start"], span["end"]) for span in spans if span["action"] != "keep"]


def _hard_negatives(
    rows: MetricRows, document_id: str, label: PiiLabel, text: str, spans: Sequence[dict[str, Any]]
) -> None:
    """Look-alikes that a span touches / look-alikes."""
    flagged = [(span["start"], span["end"]) for span in spans]
    places: list[tuple[int, int]] = []
    for number, quote in enumerate(label.hard_negatives, start=1):
        place = locate(text, quote)
        if place is None:
            rows.without_value(
                "hard_negatives", document_id, MetricStatus.LOST_UPSTREAM, unit_id=f"hard-negative-{number}"
            )
        else:
            places.append(place)
    wrong = sum(any(start < b and a < end for start, end in flagged) for a, b in places)
    rows.ratio("hard_negatives", document_id, wrong, len(places))


def _over_redaction(
    rows: MetricRows,
    document_id: str,
    label: PiiLabel,
    questions: QuestionsLabel | None,
    text: str,
    spans: Sequence[dict[str, Any]],
) -> None:
    """Code points of look-alikes and of evidence that are no labelled PII: those redacted / all of them."""
    quotes: list[Quote] = [*label.hard_negatives]
    if questions is not None:
        quotes += [quote for question in questions.questions for quote in question.evidence]
    harmless = {i for place in (locate(text, quote) for quote in quotes) if place is not None for i in range(*place)}
    for value in labelled_values(label, text):
        if value.span is not None:
            harmless -= set(range(value.span.start, value.span.end))
    lost = sum(i in harmless for start, end in _redacting(spans) for i in range(start, end))
    rows.ratio("over_redaction", document_id, lost, len(harmless))


def facts(evidence: CorpusEvidence, settings: PiiSettings) -> pa.Table:
    """Residual PII: labelled values that the stored rows of the index still hold."""
    from tasks.pii.residual import residual_rows

    rows = MetricRows(StageName.PII)
    document_ids = sorted(set(evidence.documents.column("document_id").to_pylist()))
    labelled: list[tuple[str, PiiLabel]] = []
    for document_id in document_ids:
        if evidence.labels.is_stale(document_id, "pii"):
            rows.without_value("residual_pii", document_id, MetricStatus.STALE_LABEL)
        elif (label := evidence.labels.of(document_id, PiiLabel, "pii")) is not None:
            labelled.append((document_id, label))
    for group in _groups(labelled, 200):
        residual_rows(rows, group, evidence.index, settings)
    return rows.table()


def _groups(items: Sequence[tuple[str, PiiLabel]], size: int) -> Iterator[Sequence[tuple[str, PiiLabel]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
