"""Judging the figures of vector drift: shown by the permutation test, and shown to be large."""

from typing import Any

import pyarrow as pa
import pytest

from schemas.figures import FIGURES
from schemas.names import StageName
from schemas.verdict import FindingOutcome
from tasks.errors import ConfigurationError
from tasks.figures.catalogue import load_catalogue
from tasks.gate.rules import default_rules, rules_in_force
from tasks.gate.settings import GateSettings, Rule
from tasks.gate.vector_drift import decide_vector_drift

(RULE,) = (rule for rule in default_rules() if rule.id == "drift-vectors")
LIVE = {"live": object()}


def figure(metric: str, slice_of: tuple[str, str], value: float | None, **more: Any) -> dict[str, Any]:
    counts = {name: 0 for name in FIGURES.names if name.startswith("n_") or name in ("items", "documents")}
    place = {"stage": "embed", "metric": metric, "aggregation": "micro", "value": value}
    return counts | place | {"slice_key": slice_of[0], "slice_value": slice_of[1]} | more


def compared(
    name: str, auc: float, low: float, p_value: float, items: int = 60, since: str = "live"
) -> list[dict[str, Any]]:
    place = f"class_since_{since}", name
    return [
        figure("drift_classifier_auc", place, auc, low=low, high=1.0, items=items),
        figure("drift_mmd_p", place, p_value, items=1),
    ]


def outcomes(*figures: list[dict[str, Any]], baselines: dict[str, Any] = LIVE) -> dict[str | None, FindingOutcome]:
    table = pa.Table.from_pylist([row for rows in figures for row in rows], schema=FIGURES)
    return {finding.slice_value: finding.outcome for finding in decide_vector_drift([RULE], table, baselines)}


def test_a_large_shift_beyond_chance_is_named_and_others_are_not() -> None:
    found = outcomes(
        compared("large", 0.99, 0.93, 0.001),
        compared("seen but not shown to be large", 0.95, 0.85, 0.001),
        compared("large by chance", 0.99, 0.93, 0.3),
        compared("few", 1.0, 0.95, 0.001, items=19),
    )
    assert found == {
        "large": FindingOutcome.DRIFTED,
        "seen but not shown to be large": FindingOutcome.OK,
        "large by chance": FindingOutcome.OK,
        "few": FindingOutcome.NOT_APPLICABLE,
    }


def test_many_classes_ask_for_more_evidence() -> None:
    classes = [compared(f"class {i}", 0.99, 0.93, 0.02) for i in range(3)]
    assert set(outcomes(*classes).values()) == {FindingOutcome.OK}
    assert outcomes(classes[0]) == {"class 0": FindingOutcome.DRIFTED}


def test_why_nothing_is_compared_is_told() -> None:
    rows = [
        figure("drift_classifier_auc", ("not_compared_with_live", "another model"), None, n_not_applicable=1),
        figure("drift_classifier_auc", ("class_since_live", "web"), None, n_not_applicable=1),
    ]
    (finding,) = decide_vector_drift([RULE], pa.Table.from_pylist(rows, schema=FIGURES), LIVE)
    assert (finding.outcome, finding.message) == (FindingOutcome.NOT_APPLICABLE, "another model")
    assert not finding.blocks


def test_the_first_run_has_no_live_and_the_anchor_is_judged_apart() -> None:
    table = pa.Table.from_pylist(compared("web", 0.99, 0.93, 0.001, since="anchor"), schema=FIGURES)
    found = decide_vector_drift([RULE], table, {"live": None, "anchor": object()})
    assert [(finding.against, finding.outcome) for finding in found] == [
        ("live", FindingOutcome.FIRST_RUN),
        ("anchor", FindingOutcome.DRIFTED),
    ]


def test_a_rule_for_a_measure_that_is_no_drift_names_those_that_are() -> None:
    wrong = Rule(id="x", stage=StageName.EMBED, metric="coverage", kind="drift", threshold=0.5, slice="class")
    with pytest.raises(ConfigurationError) as raised:
        rules_in_force(GateSettings(rules=(wrong,)), load_catalogue())
    assert "embed drift_classifier_auc" in str(raised.value.remedy)
