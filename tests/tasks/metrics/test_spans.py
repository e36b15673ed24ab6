import pytest
from hypothesis import given
from hypothesis import strategies as st
from nervaluate import Evaluator

from tasks.metrics.spans import Span, SpanMatch, span_counts, span_counts_by_type, span_faults

SLOTS = st.lists(
    st.tuples(
        st.sampled_from(["PERSON", "PLACE", None]),
        st.sampled_from(["PERSON", "PLACE", None]),
        st.integers(0, 1),
        st.integers(0, 1),
    ),
    max_size=8,
)


@given(SLOTS)
def test_counts_equal_nervaluate_where_each_span_meets_at_most_one(
    slots: list[tuple[str | None, str | None, int, int]],
) -> None:
    labelled = [Span(10 * i, 10 * i + 4, true) for i, (true, _, _, _) in enumerate(slots) if true]
    predicted = [Span(10 * i + a, 10 * i + 4 + b, found) for i, (_, found, a, b) in enumerate(slots) if found]
    if not labelled or not predicted:
        return
    # nervaluate's ends are the last token, ours the one after it.
    both = ([{"label": s.type, "start": s.start, "end": s.end - 1} for s in spans] for spans in (labelled, predicted))
    true, found = both
    overall = Evaluator([true], [found], tags=["PERSON", "PLACE"]).evaluate()["overall"]
    for ours, theirs in ((SpanMatch.STRICT, "strict"), (SpanMatch.TYPE, "ent_type")):
        counts = span_counts(labelled, predicted, ours)
        assert counts.found == counts.correct == overall[theirs].correct
        assert counts.recall == pytest.approx(overall[theirs].recall)
        assert counts.precision == pytest.approx(overall[theirs].precision)
    counts = span_counts(labelled, predicted, SpanMatch.PARTIAL)
    assert counts.found == counts.correct == overall["partial"].correct + overall["partial"].partial


def test_one_prediction_over_two_annotations_counts_once_for_precision() -> None:
    counts = span_counts(
        [Span(0, 4, "PERSON"), Span(5, 9, "PERSON")], [Span(0, 9, "PERSON"), Span(20, 22, "DATE")], SpanMatch.TYPE
    )
    assert (counts.recall, counts.precision) == (1.0, 0.5)


def test_two_predictions_in_one_annotation_find_it_once() -> None:
    counts = span_counts([Span(0, 9, "PERSON")], [Span(0, 4, "PERSON"), Span(5, 9, "PERSON")], SpanMatch.TYPE)
    assert (counts.found, counts.annotations, counts.correct, counts.predictions) == (1, 1, 2, 2)


def test_touching_spans_do_not_overlap_and_a_long_one_is_seen_past_short_ones() -> None:
    assert span_counts([Span(0, 4, "X")], [Span(4, 8, "X")], SpanMatch.PARTIAL).found == 0
    assert span_counts([Span(50, 60, "X")], [Span(0, 100, "X"), Span(10, 12, "X")], SpanMatch.PARTIAL).found == 1


@given(SLOTS)
def test_types_add_up_to_the_whole(slots: list[tuple[str | None, str | None, int, int]]) -> None:
    labelled = [Span(10 * i, 10 * i + 4, true) for i, (true, _, _, _) in enumerate(slots) if true]
    predicted = [Span(10 * i + a, 10 * i + 4 + b, found) for i, (_, found, a, b) in enumerate(slots) if found]
    for match in SpanMatch:
        by_type = span_counts_by_type(labelled, predicted, match).values()
        whole = span_counts(labelled, predicted, match)
        assert sum(c.found for c in by_type) == whole.found
        assert sum(c.correct for c in by_type) == whole.correct


@given(SLOTS)
def test_every_span_that_is_no_strict_match_is_at_fault(slots: list[tuple[str | None, str | None, int, int]]) -> None:
    labelled = [Span(10 * i, 10 * i + 4, true) for i, (true, _, _, _) in enumerate(slots) if true]
    predicted = [Span(10 * i + a, 10 * i + 4 + b, found) for i, (_, found, a, b) in enumerate(slots) if found]
    counts, faults = span_counts(labelled, predicted, SpanMatch.STRICT), span_faults(labelled, predicted)
    lost = [fault for fault in faults if fault.fault != "invented"]
    assert len(lost) == counts.annotations - counts.found
    # A prediction beside a labelled span is told with that span.
    beside = sum(fault.fault != "missing" for fault in lost)
    assert len(faults) - len(lost) + beside == counts.predictions - counts.correct


def test_a_prediction_inside_a_span_that_was_found_is_invented() -> None:
    (fault,) = span_faults([Span(0, 9, "PERSON")], [Span(0, 9, "PERSON"), Span(2, 4, "DATE")])
    assert (fault.span, fault.fault) == (Span(2, 4, "DATE"), "invented")
