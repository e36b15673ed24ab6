"""Matching predicted spans to labelled ones: recall per annotation, precision per prediction.

An annotation is found once, however many predictions touch it; a prediction is right once, however many annotations
it covers. So one prediction over two annotations gives two found annotations and one right prediction, and
precision never counts it twice.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tasks.metrics.rates import f_score, ratio


class SpanMatch(StrEnum):
    """When a prediction and an annotation are the same; the names of nervaluate's (SemEval 2013) schemes.

    `strict`: equal boundaries and equal type. `partial`: at least one character in common, whatever the type
    (counted in full, not by half): was the value seen at all? `type`: at least one character in common and the same
    type.
    """

    STRICT = "strict"
    PARTIAL = "partial"
    TYPE = "type"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Code points [start, end) of a text, and what stands there."""

    start: int
    end: int
    type: str


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """Annotations and how many were found, predictions and how many were right."""

    annotations: int
    found: int
    predictions: int
    correct: int

    @property
    def recall(self) -> float | None:
        """found / annotations; null where there is no annotation."""
        return ratio(self.found, self.annotations)

    @property
    def precision(self) -> float | None:
        """correct / predictions; null where there is no prediction."""
        return ratio(self.correct, self.predictions)

    def f_score(self, beta: float = 1.0) -> float | None:
        """The weighted harmonic mean (beta 2 counts recall twice as much); null where either is null."""
        return f_score(self.precision, self.recall, beta)


def span_matches(
    labelled: Sequence[Span], predicted: Sequence[Span], match: SpanMatch
) -> tuple[list[bool], list[bool]]:
    """For each annotation whether it was found, and for each prediction whether it was right, in the given order.

    >>> span_matches([Span(0, 5, "PERSON")], [Span(0, 4, "PERSON"), Span(9, 12, "DATE")], SpanMatch.TYPE)
    ([True], [True, False])
    """
    return _hits(labelled, predicted, match), _hits(predicted, labelled, match)


def span_counts(labelled: Sequence[Span], predicted: Sequence[Span], match: SpanMatch) -> SpanCounts:
    """Counts over all types.

    One prediction over two annotations:

    >>> span_counts([Span(0, 4, "PERSON"), Span(5, 9, "PERSON")], [Span(0, 9, "PERSON")], SpanMatch.TYPE)
    SpanCounts(annotations=2, found=2, predictions=1, correct=1)
    """
    found, correct = span_matches(labelled, predicted, match)
    return SpanCounts(len(found), sum(found), len(correct), sum(correct))


def span_counts_by_type(labelled: Sequence[Span], predicted: Sequence[Span], match: SpanMatch) -> dict[str, SpanCounts]:
    """Counts per type, sorted: annotations by their labelled type, predictions by their predicted type.

    >>> counts = span_counts_by_type([Span(0, 4, "PERSON")], [Span(0, 4, "PLACE")], SpanMatch.PARTIAL)
    >>> counts["PERSON"]
    SpanCounts(annotations=1, found=1, predictions=0, correct=0)
    >>> counts["PLACE"]
    SpanCounts(annotations=0, found=0, predictions=1, correct=1)
    """
    found, correct = span_matches(labelled, predicted, match)
    types = sorted({span.type for span in (*labelled, *predicted)})

    def of(type_: str, spans: Iterable[Span], hits: Iterable[bool]) -> list[bool]:
        return [hit for span, hit in zip(spans, hits, strict=True) if span.type == type_]

    return {
        type_: SpanCounts(
            len(own := of(type_, labelled, found)), sum(own), len(theirs := of(type_, predicted, correct)), sum(theirs)
        )
        for type_ in types
    }


@dataclass(frozen=True, slots=True)
class SpanFault:
    """A span of the labels, or of the predictions where `invented`, and what is wrong with it."""

    span: Span
    fault: str


def span_faults(labelled: Sequence[Span], predicted: Sequence[Span]) -> list[SpanFault]:
    """What strict matching counts against the predictions, by place.

    An annotation is `missing` where no prediction touches it, `mistyped` where only predictions of other types do,
    `misplaced` where one of its type has other boundaries. A prediction is `invented` where it touches none of these
    and is no strict match.

    >>> [(f.span.start, f.fault) for f in span_faults(
    ...     [Span(0, 4, "PERSON"), Span(9, 12, "DATE"), Span(20, 25, "DATE")],
    ...     [Span(0, 5, "PERSON"), Span(9, 12, "PLACE"), Span(30, 31, "PLACE")])]
    [(0, 'misplaced'), (9, 'mistyped'), (20, 'missing'), (30, 'invented')]
    """
    found, right = span_matches(labelled, predicted, SpanMatch.STRICT)
    if all(found) and all(right):
        return []
    lost = [span for span, hit in zip(labelled, found, strict=True) if not hit]
    wrong = [span for span, hit in zip(predicted, right, strict=True) if not hit]
    touched = _hits(lost, predicted, SpanMatch.PARTIAL)
    of_type = _hits(lost, predicted, SpanMatch.TYPE)
    told = _hits(wrong, lost, SpanMatch.PARTIAL)
    faults = [
        SpanFault(span, "misplaced" if same else "mistyped" if near else "missing")
        for span, near, same in zip(lost, touched, of_type, strict=True)
    ]
    faults += [SpanFault(span, "invented") for span, near in zip(wrong, told, strict=True) if not near]
    return sorted(faults, key=lambda fault: (fault.span, fault.fault))


def _hits(spans: Sequence[Span], others: Sequence[Span], match: SpanMatch) -> list[bool]:
    if match is SpanMatch.STRICT:
        known = set(others)
        return [span in known for span in spans]
    if match is SpanMatch.PARTIAL:
        touches = _overlap(others)
        return [touches(span) for span in spans]
    by_type = {type_: _overlap([other for other in others if other.type == type_]) for type_ in {s.type for s in spans}}
    return [by_type[span.type](span) for span in spans]


def _overlap(others: Iterable[Span]) -> Callable[[Span], bool]:
    """A test whether a span shares a character with any of the others."""
    ordered = sorted(other for other in others if other.end > other.start)
    starts = [other.start for other in ordered]
    reach: list[int] = []
    for other in ordered:
        reach.append(max(other.end, reach[-1]) if reach else other.end)

    def touches(span: Span) -> bool:
        before = bisect_left(starts, span.end)
        return span.end > span.start and before > 0 and reach[before - 1] > span.start

    return touches
