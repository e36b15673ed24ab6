"""In the healthy demo no labelled measure is at its best or worst everywhere: each can get better and worse."""

from collections.abc import Mapping
from typing import Any

import pytest

from tasks.figures.catalogue import Metric, load_catalogue

pytestmark = pytest.mark.xdist_group("demo")

GUARANTEES = frozenset({"residual_pii"})
"""Measures that the gate holds at their best: the healthy demo must not plant anything against them."""

NEED_LIVE = frozenset({"stale_query_share"})
"""Measures that ask what is live: in a first run nothing is."""

LABELLED = [
    metric for metric in load_catalogue().metrics if metric.needs == "gold" and metric.id not in GUARANTEES | NEED_LIVE
]


def has_room(metric: Metric, figure: Mapping[str, Any]) -> bool:
    """Whether the figure lies strictly between the ends of the measure's range."""
    low, high = metric.range
    value = figure["value"]
    return value is not None and (low is None or value > low) and (high is None or value < high)


@pytest.mark.parametrize("metric", LABELLED, ids=lambda metric: f"{metric.stage}-{metric.id}")
def test_a_labelled_measure_lies_strictly_between_best_and_worst_somewhere(
    healthy_figures: list[dict[str, Any]], metric: Metric
) -> None:
    figures = [f for f in healthy_figures if f["metric"] == metric.id and metric.stage in ("all", f["stage"])]
    assert figures, "nothing was measured"
    assert any(has_room(metric, figure) for figure in figures), {
        (f["doc_class"], f["slice_key"], f["slice_value"]): f["value"] for f in figures
    }


def test_the_planted_look_alike_is_the_only_false_merge(healthy_figures: list[dict[str, Any]]) -> None:
    (figure,) = (
        f
        for f in healthy_figures
        if f["metric"] == "pair_precision" and f["doc_class"] == f["cohort"] == f["slice_key"] is None
    )
    # Merged rightly: seven bunkering bulletins (21 pairs), two muster lists, the bicycle page and its old address.
    assert figure["value"] == pytest.approx(23 / 24)


def test_scans_are_read_almost_as_they_were_drawn(healthy_figures: list[dict[str, Any]]) -> None:
    figures = {
        f["metric"]: f
        for f in healthy_figures
        if f["stage"] == "parse" and f["doc_class"] == "scan" and f["cohort"] == f["slice_key"] is None
    }
    assert figures["cer"]["items"] == 4
    assert figures["cer"]["value"] < 0.05


def test_look_alike_contracts_are_not_merged(healthy_figures: list[dict[str, Any]]) -> None:
    (figure,) = (
        f
        for f in healthy_figures
        if (f["metric"], f["doc_class"]) == ("duplicate_rate", "contract") and f["cohort"] == f["slice_key"] is None
    )
    assert (figure["items"], figure["value"]) == (6, 0)
