"""New and changed documents against the live ones of their class."""

from schemas.names import StageName
from schemas.verdict import FindingOutcome
from tasks.gate.drift import decide_drift, shift
from tasks.gate.features import FEATURES
from tasks.gate.settings import Rule

CHARACTERS = FEATURES[StageName.NORMALIZE, "characters"]
LANGUAGE = FEATURES[StageName.LANGUAGE, "language"]


def rule(**changes: object) -> Rule:
    fields = {
        "id": "drift",
        "stage": "normalize",
        "metric": "characters",
        "kind": "drift",
        "threshold": 0.5,
        "slice": "class",
        "min_items": 5,
    }
    return Rule.model_validate(fields | changes)


def test_groups_with_nothing_in_common_are_as_far_apart_as_can_be() -> None:
    """Of the 252 ways to choose 5 of 10 ranks, 2 part the groups as fully."""
    moved = shift(CHARACTERS, [6, 7, 8, 9, 10], [1, 2, 3, 4, 5])
    assert moved.effect == 1
    assert round(moved.evidence.p_value, 6) == round(2 / 252, 6)
    assert (moved.new, moved.live) == (8, 3)


def test_groups_that_interleave_are_alike() -> None:
    """1, 3 against 2, 4: one pair of four the wrong way round, so delta = (3 - 1) / 4."""
    assert shift(CHARACTERS, [2, 4], [1, 3]).effect == 0.5
    assert shift(CHARACTERS, [5, 5, 5], [5, 5, 5]).evidence.p_value == 1


def test_a_new_language_is_named() -> None:
    moved = shift(LANGUAGE, ["de"] * 8 + ["en"] * 2, ["en"] * 40)
    assert (moved.effect, moved.new, moved.live) == (0.8, 0.8, 0)
    assert "de 80% against 0%" in moved.words
    assert moved.evidence.p_value <= 2 / 10000


def test_the_class_that_drifts_is_named() -> None:
    values = {
        "drift": {"scan": ([0.0] * 8, [500.0 + i for i in range(12)]), "web": ([500.0 + i for i in range(6)],) * 2}
    }
    outcomes = {f.slice_value: f.outcome for f in decide_drift([rule()], values)}
    assert outcomes == {"scan": FindingOutcome.DRIFTED, "web": FindingOutcome.OK}


def test_a_certain_but_small_shift_is_no_drift() -> None:
    live = [float(i) for i in range(1000)]
    findings = decide_drift([rule()], {"drift": {"scan": ([value + 100 for value in live], live)}})
    # A shift by a tenth of an even spread: delta = 1 - 0.9 ** 2 = 0.19.
    assert findings[0].p_value is not None
    assert findings[0].p_value < 0.001
    assert findings[0].outcome is FindingOutcome.OK


def test_too_few_documents_and_no_new_ones_are_not_compared() -> None:
    few = decide_drift([rule(required=True)], {"drift": {"scan": ([1.0] * 4, [9.0] * 50)}})
    none = decide_drift([rule(required=True)], {"drift": {"scan": ([], [9.0] * 50)}})
    for (finding,) in (few, none):
        assert finding.outcome is FindingOutcome.NOT_APPLICABLE
        assert not finding.blocks


def test_a_first_run_has_nothing_to_drift_from() -> None:
    (finding,) = decide_drift([rule()], None)
    assert finding.outcome is FindingOutcome.FIRST_RUN
