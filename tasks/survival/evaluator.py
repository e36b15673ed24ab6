"""Evidence survival: is the evidence of a question still there in what a stage hands on?

One measure at every stage but fetch, whose bytes are no text yet. It is computed beside the stages' own evaluators,
since it asks the same of each of them, and reads their outputs alone: `tasks.run.survival` brings them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from schemas.names import MetricStatus, StageName
from tasks.gold.kinds import PiiLabel, QuestionsLabel, Quote
from tasks.gold.labels import Labels
from tasks.metrics.intervals import Interval
from tasks.metrics.rows import MetricRows
from tasks.pii.labels import labelled_values
from tasks.survival.handed_on import Redacted, Row, text_before_redaction, texts_of
from tasks.survival.presence import find, find_in_copy, holds

METRIC = "evidence_survival"

VERSION = 2
"""Raised whenever a value of the measure may change; a part of every stage's scorer version."""

QUESTIONS = "questions"

UNBOUND = "#quote-"
"""What stands between question and number in the unit of a passage that is a fault of its label."""

_BEFORE_REDACTION = frozenset(list(StageName)[: list(StageName).index(StageName.PII)])

LABELS: Mapping[StageName, tuple[str, ...]] = MappingProxyType(
    {stage: (QUESTIONS,) if stage in _BEFORE_REDACTION else (QUESTIONS, "pii") for stage in StageName}
)
"""The kinds of label that the measure reads at each stage."""


Lacking: TypeAlias = Callable[[str, Sequence[Quote]], Sequence[bool]]
"""(document id, quotes of its label) → of each, whether it stands nowhere in the bytes that the label was made for
(`tasks.survival.source`); false also where nobody can tell."""


def nothing_lacks(document_id: str, quotes: Sequence[Quote]) -> Sequence[bool]:
    """`Lacking` of nobody who looks."""
    return [False] * len(quotes)


def unbound_quote(question_id: str, number: int) -> str:
    """The unit of a passage that is a fault of its label."""
    return f"{question_id}{UNBOUND}{number}"


@dataclass(frozen=True, slots=True)
class Carried:
    """A document with questions and what carries its evidence: `rows` are those of the document itself, or of the one
    that was kept in its place (`copy`), by stage.

    `own_text` is the clean text of a document that a copy stands for. `fetched` is what the index holds of the carrier:
    chunk id to text.
    """

    document_id: str
    rows: Mapping[StageName, Row]
    copy: str | None = None
    own_text: str | None = None
    fetched: Mapping[str, str] = field(default_factory=dict)


def asked(labels: Labels, document_ids: Iterable[str]) -> list[str]:
    """Those of the documents that have questions, in the same order."""
    return [document_id for document_id in document_ids if (document_id, QUESTIONS) in labels.bound]


def add_survival(
    rows: MetricRows, stage: StageName, carried: Carried, labels: Labels, lacking: Lacking = nothing_lacks
) -> None:
    """The rows of one document that came out of the stage, or whose copy did: one per question.

    The numerator counts the passages of the question that are there, the denominator all of them. One that is not, and
    that stands nowhere in the bytes that the label was made for, is a fault of the label: it has a row of its own
    (`<question>#quote-<n>`), without a value, and no stage is charged with it.
    """
    label = _questions(rows, carried.document_id, labels)
    if label is None:
        return
    finder = _Finder(stage, carried, labels)
    for question in label.questions:
        if question.evidence:
            held = [finder.holds(quote) for quote in question.evidence]
            gone = [n for n, there in enumerate(held) if not there]
            told = lacking(carried.document_id, [question.evidence[n] for n in gone]) if gone else ()
            unbound = [n for n, lacks in zip(gone, told, strict=True) if lacks]
            for n in unbound:
                unit = unbound_quote(question.question_id, n)
                rows.without_value(METRIC, carried.document_id, MetricStatus.INVALID, unit_id=unit)
            if bound := len(held) - len(unbound):
                rows.ratio(METRIC, carried.document_id, sum(held), bound, unit_id=question.question_id)
        else:
            rows.without_value(METRIC, carried.document_id, MetricStatus.NOT_APPLICABLE, unit_id=question.question_id)


def add_without_text(rows: MetricRows, document_id: str, labels: Labels, status: MetricStatus) -> None:
    """The rows of a document of which a stage hands on no text: lost (`missing`, which counts as 0), `not_applicable`
    where the stage deals in bytes, `invalid` where its text cannot be had to be looked at."""
    label = _questions(rows, document_id, labels)
    for question in label.questions if label else ():
        unit = question.question_id
        if question.evidence and status is MetricStatus.MISSING:
            rows.ratio(METRIC, document_id, 0, len(question.evidence), unit_id=unit, status=status)
        else:
            said = status if question.evidence else MetricStatus.NOT_APPLICABLE
            rows.without_value(METRIC, document_id, said, unit_id=unit)


def _questions(rows: MetricRows, document_id: str, labels: Labels) -> QuestionsLabel | None:
    if labels.is_stale(document_id, QUESTIONS):
        rows.without_value(METRIC, document_id, MetricStatus.STALE_LABEL)
    return labels.of(document_id, QuestionsLabel, QUESTIONS)


class _Finder:
    """Looks for the passages of one document in what one stage hands on of its carrier."""

    def __init__(self, stage: StageName, carried: Carried, labels: Labels) -> None:
        self._stage = stage
        self._carried = carried
        self._text = text_before_redaction(stage, carried.rows)
        self._redacted: Redacted | None = None
        self._chunked: str | None = None
        if stage in _BEFORE_REDACTION:
            return
        carrier = carried.copy or carried.document_id
        on_purpose = _personal_data(labels, {carried.document_id, carrier}, self._text)
        self._redacted = Redacted(self._text, carried.rows[StageName.PII], on_purpose)
        if stage is not StageName.PII:
            chunks: Sequence[Row] = carried.rows[StageName.CHUNK]["chunks"]
            texts = texts_of(stage, carried.rows, carried.fetched)
            self._chunked = self._redacted.chunked(chunks, texts)

    def holds(self, quote: Quote) -> bool:
        """Whether the passage is there.

        From redaction on it is followed as it stands in the clean text, so that the tolerance of a search does not make
        up for what is lost there.
        """
        place = self._place(quote)
        if place is None or self._redacted is None:
            return place is not None
        passage = self._redacted.passage(*place)
        if passage is None or self._chunked is None:
            return passage is not None
        return holds(self._chunked, passage)

    def _place(self, quote: Quote) -> Interval | None:
        own_text = self._carried.own_text
        if self._carried.copy is None or own_text is None:
            return find(self._text, quote)
        own = find(own_text, quote)
        return find_in_copy(self._text, quote, own_text[own[0] : own[1]] if own else None)


def _personal_data(labels: Labels, document_ids: Iterable[str], text: str) -> list[Interval]:
    """Where the text holds what the labels of these documents call personal data."""
    places: list[Interval] = []
    for document_id in sorted(document_ids):
        label = labels.of(document_id, PiiLabel, "pii")
        for value in labelled_values(label, text) if label else ():
            if value.span is not None:
                places.append((value.span.start, value.span.end))
    return places
