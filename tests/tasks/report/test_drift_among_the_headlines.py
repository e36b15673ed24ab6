"""Drift of vectors stands among the headline figures: for all documents, and by class from slices of its own."""

from typing import Any

from schemas.names import VerdictStatus
from tasks.figures.catalogue import load_catalogue
from tasks.report.figure_lines import Cells, Line, headline_lines
from tests.tasks.report.lake_by_hand import NEW, verdict

CATALOGUE = load_catalogue()
COUNTS = ("missing", "invalid", "not_applicable", "stale_label", "lost_upstream")


def figure(metric: str, value: float | None, items: int, doc_class: str | None = None, **counts: int) -> dict[str, Any]:
    """A figure of stage embed, of a class where one is named."""
    sliced = ("class_since_live", doc_class) if doc_class else (None, None)
    aggregation = CATALOGUE.get("embed", metric).aggregation[0]
    row = {"stage": "embed", "metric": metric, "aggregation": aggregation, "doc_class": None, "cohort": None}
    row |= {"slice_key": sliced[0], "slice_value": sliced[1], "value": value, "low": None, "high": None, "items": items}
    return row | {f"n_{name}": counts.get(name, 0) for name in COUNTS}


def lines(*figures: dict[str, Any]) -> dict[str, Line]:
    cells, passed = Cells(CATALOGUE, {}, {}), verdict(NEW, VerdictStatus.PASS)
    made = headline_lines(list(figures), ("article", "report"), cells, CATALOGUE, passed)
    return {line.metric.id: line for line in made}


def test_a_class_that_drifted_is_seen_beside_the_whole() -> None:
    found = lines(figure("drift_mmd_p", 0.4, 60), figure("drift_mmd_p", 0.001, 25, "report"))
    values = [cell and (cell.value, cell.items) for cell in found["drift_mmd_p"].cells]
    assert values == [("0.4", 60), None, ("0.001", 25)]


def test_what_was_not_compared_has_no_value_and_is_counted() -> None:
    found = lines(
        figure("drift_mmd_p", None, 0, not_applicable=1), figure("drift_classifier_auc", None, 0, not_applicable=1)
    )
    assert found.keys() == {"drift_mmd_p", "drift_classifier_auc"}
    for line in found.values():
        cell = line.cells[0]
        assert cell is not None
        assert (cell.value, cell.items, cell.counts) == ("–", 0, (("not applicable", 1),))
        assert line.cells[1:] == (None, None)


def test_a_run_in_which_drift_was_not_looked_for_has_no_line_of_it() -> None:
    assert lines(figure("coverage", 1.0, 60)).keys() == {"coverage"}
