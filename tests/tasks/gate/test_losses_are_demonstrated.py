"""A guard blocks what is shown, and says what it could not have seen."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.names import VerdictStatus
from schemas.verdict import Finding, FindingOutcome
from tasks.figures.catalogue import Catalogue
from tasks.gate.decide import Measured, decide, status_of
from tasks.gate.evidence import Demonstration, adjusted
from tasks.gate.settings import Rule

World = Callable[..., Measured]


def guard(slice_of: str = "all", metric: str = "quality", max_loss: float = 0.02) -> Rule:
    return Rule(id="g", stage="parse", metric=metric, kind="guard", max_loss=max_loss, slice=slice_of)


def judged(catalogue: Catalogue, rule: Rule, run: Measured, live: Measured | None) -> list[Finding]:
    return decide([rule], catalogue, run, {"live": live})


@pytest.mark.parametrize(
    ("losing", "outcome", "p_value"),
    # Under no change each sign is as likely as the other: all of n losing has the chance 1 / 2^n.
    [(5, FindingOutcome.REGRESSED, 1 / 32), (4, FindingOutcome.UNDETERMINED, 1 / 16), (0, FindingOutcome.OK, 1.0)],
)
def test_five_documents_that_lose_show_a_loss_and_four_do_not(
    catalogue: Catalogue, measured: World, losing: int, outcome: FindingOutcome, p_value: float
) -> None:
    run = measured({"quality": {"x": [0.5] * losing + [0.9] * (10 - losing)}})
    live = measured({"quality": {"x": [0.9] * 10}})
    (finding,) = judged(catalogue, guard(), run, live)
    assert finding.outcome is outcome
    assert finding.p_value == pytest.approx(p_value)
    assert finding.loss == pytest.approx(0.04 * losing)
    assert (finding.paired, finding.unpaired) == (10, 0)


def test_what_is_seen_but_not_shown_is_a_warning(catalogue: Catalogue, measured: World) -> None:
    findings = judged(catalogue, guard(), measured({"quality": {"x": [0.1]}}), measured({"quality": {"x": [0.9]}}))
    assert findings[0].outcome is FindingOutcome.UNDETERMINED
    assert findings[0].detectable is None
    assert status_of(findings) is VerdictStatus.WARN


def test_a_loss_within_what_is_allowed_is_held(catalogue: Catalogue, measured: World) -> None:
    run, live = measured({"quality": {"x": [0.89] * 20}}), measured({"quality": {"x": [0.9] * 20}})
    (finding,) = judged(catalogue, guard(), run, live)
    assert finding.outcome is FindingOutcome.OK
    assert finding.loss == pytest.approx(0.01)


def test_where_lower_is_better_a_rise_is_a_loss(catalogue: Catalogue, measured: World) -> None:
    run, live = measured({"error": {"x": [0.3] * 6}}), measured({"error": {"x": [0.1] * 6}})
    (finding,) = judged(catalogue, guard(metric="error"), run, live)
    assert (finding.outcome, finding.loss) == (FindingOutcome.REGRESSED, pytest.approx(0.2))
    (better,) = judged(catalogue, guard(metric="error"), live, run)
    assert (better.outcome, better.loss) == (FindingOutcome.OK, pytest.approx(-0.2))


@pytest.mark.parametrize(
    ("documents", "outcome"),
    # Two classes: 2 / 2^5 = 0.0625 is not under 0.05, 2 / 2^6 = 0.031 is.
    [(5, FindingOutcome.UNDETERMINED), (6, FindingOutcome.REGRESSED)],
)
def test_looking_at_two_classes_asks_for_more(
    catalogue: Catalogue, measured: World, documents: int, outcome: FindingOutcome
) -> None:
    classes = ("x", "y")
    run = measured({"quality": {c: [0.5] * documents for c in classes}})
    live = measured({"quality": {c: [0.9] * documents for c in classes}})
    assert [f.outcome for f in judged(catalogue, guard("class"), run, live)] == [outcome] * 2


def test_classes_that_cannot_show_anything_do_not_make_the_others_wait(catalogue: Catalogue, measured: World) -> None:
    still = {f"still{i}": [0.9] * 8 for i in range(20)}
    run = measured({"quality": {"x": [0.5] * 5, **still}})
    live = measured({"quality": {"x": [0.9] * 5, **still}})
    outcomes = {f.slice_value: f.outcome for f in judged(catalogue, guard("class"), run, live)}
    assert outcomes.pop("x") is FindingOutcome.REGRESSED
    assert set(outcomes.values()) == {FindingOutcome.OK}


def test_a_census_needs_no_proof(catalogue: Catalogue, measured: World) -> None:
    run, live = measured({"complete": {"x": [0.5, 1.0]}}), measured({"complete": {"x": [1.0, 1.0]}})
    (finding,) = judged(catalogue, guard(metric="complete"), run, live)
    assert finding.outcome is FindingOutcome.REGRESSED
    assert (finding.low, finding.p_value, finding.loss) == (None, None, 0.25)


def test_another_scorer_is_no_loss(catalogue: Catalogue, measured: World) -> None:
    run, live = measured({"quality": {"x": [0.1] * 9}}, version=2), measured({"quality": {"x": [0.9] * 9}})
    (finding,) = judged(catalogue, guard(), run, live)
    assert (finding.outcome, finding.paired, finding.unpaired) == (FindingOutcome.UNDETERMINED, 0, 9)
    assert "9 documents scored otherwise" in finding.message


def test_other_labels_of_the_same_bytes_are_no_loss_and_are_counted(catalogue: Catalogue, measured: World) -> None:
    live = measured({"quality": {"x": [0.9] * 8}})
    relabelled = measured({"quality": {"x": [0.1] * 8}}, labels="new labels")
    (finding,) = judged(catalogue, guard(), relabelled, live)
    assert (finding.outcome, finding.unpaired) == (FindingOutcome.UNDETERMINED, 8)
    shas = {f"x-{i}": "other bytes" for i in range(6)}
    changed = measured({"quality": {"x": [0.1] * 8}}, labels="new labels", shas=shas)
    (finding,) = judged(catalogue, guard(), changed, live)
    assert (finding.outcome, finding.paired, finding.unpaired) == (FindingOutcome.REGRESSED, 6, 2)


def test_new_documents_have_nothing_to_lose(catalogue: Catalogue, measured: World) -> None:
    run, live = measured({"quality": {"new": [0.1] * 9}}), measured({"quality": {"x": [0.9] * 9}})
    (finding,) = judged(catalogue, guard("class"), run, live)
    assert finding.outcome is FindingOutcome.NOT_APPLICABLE


def test_a_first_run_has_no_baseline(catalogue: Catalogue, measured: World) -> None:
    floor = Rule(id="f", stage="parse", metric="complete", kind="equal", threshold=1)
    run = measured({"quality": {"x": [0.1]}, "complete": {"x": [0.0]}})
    findings = decide([guard(), floor], catalogue, run, {"live": None})
    assert [f.outcome for f in findings] == [FindingOutcome.FIRST_RUN, FindingOutcome.BROKEN]
    assert status_of(findings) is VerdictStatus.FAIL
    assert status_of(findings[:1]) is VerdictStatus.PASS


def test_slow_decay_shows_against_the_anchor(catalogue: Catalogue, measured: World) -> None:
    run = measured({"quality": {"x": [0.87] * 6}})
    baselines = {"live": measured({"quality": {"x": [0.88] * 6}}), "anchor": measured({"quality": {"x": [0.95] * 6}})}
    findings = decide([guard()], catalogue, run, baselines)
    assert {f.against: f.outcome for f in findings} == {
        "live": FindingOutcome.OK,
        "anchor": FindingOutcome.REGRESSED,
    }


def test_a_proof_must_stay_inside_the_allowed_loss(catalogue: Catalogue, measured: World) -> None:
    rule = Rule(id="p", stage="parse", metric="quality", kind="proof", max_loss=0.05)
    live = measured({"quality": {"x": [0.9] * 10}})
    spread = measured({"quality": {"x": [0.75, 0.99] * 5}})
    (finding,) = judged(catalogue, rule, spread, live)
    assert finding.outcome is FindingOutcome.UNDETERMINED
    assert status_of([finding]) is VerdictStatus.UNDETERMINED
    (finding,) = judged(catalogue, rule, measured({"quality": {"x": [0.89, 0.9] * 5}}), live)
    assert finding.outcome is FindingOutcome.OK


@given(st.lists(st.tuples(st.floats(0.0001, 1), st.floats(0.0001, 1)), max_size=8))
def test_adjustment_never_helps_and_does_not_depend_on_the_order(
    pairs: Sequence[tuple[float, float]],
) -> None:
    tests = [Demonstration(max(pair), min(pair)) for pair in pairs]
    values, _ = adjusted(tests)
    assert all(value >= test.p_value for value, test in zip(values, tests, strict=True))
    backwards, _ = adjusted(tests[::-1])
    assert sorted(backwards) == pytest.approx(sorted(values))
