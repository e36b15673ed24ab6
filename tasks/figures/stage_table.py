"""The table of one stage for a run's page: a row per measure, headline and by document class, beside live's value."""

from typing import Any

from schemas.names import StageName
from tasks.figures.catalogue import Catalogue
from tasks.figures.stored import read_stage_figures
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.proposed import proposed

MOST_ROWS = 200

_COUNTS = ("missing", "invalid", "not_applicable", "stale_label", "lost_upstream")


def stage_table(lake: Lake, run_id: str, stage: StageName, catalogue: Catalogue) -> list[dict[str, Any]]:
    """One stage's figures as rows of plain JSON values, measure by measure, the headline before its classes.

    `baseline` is the same figure in the run that made what is live (`baseline_run` in the manifest), null where
    there is no such run or it has no such figure. Classes without anything to count are left out. Where there are
    more than `MOST_ROWS` rows, the headlines stay, then as many classes as fit, and a last row says what is left out.
    """
    baseline = _baseline(lake, run_id, stage, catalogue)
    rows = [
        _row(figure, baseline.get(_place(figure)))
        for figure in read_stage_figures(lake, run_id, stage, catalogue).to_pylist()
        if _shown(figure)
    ]
    headlines = [row for row in rows if row["class"] == "all"]
    left_out = max(0, len(rows) - MOST_ROWS)
    if left_out:
        by_class = [row for row in rows if row["class"] != "all"]
        rows = headlines + by_class[: max(0, MOST_ROWS - len(headlines))]
    rows.sort(key=lambda row: (row["measure"], row["class"] != "all", row["class"]))
    if left_out:
        rest = proposed(f"report {run_id}", Runs(lake).configuration_file(run_id))
        rows.append(dict.fromkeys(rows[0], None) | {"measure": f"{left_out} more rows: {rest}"})
    return rows


def _baseline(lake: Lake, run_id: str, stage: StageName, catalogue: Catalogue) -> dict[tuple[Any, ...], float | None]:
    runs = Runs(lake)
    live = runs.manifest(run_id).get("baseline_run")
    if live is None:
        return {}
    figures = read_stage_figures(lake, runs.measured_as(run_id, live), stage, catalogue)
    return {_place(figure): figure["value"] for figure in figures.to_pylist() if _shown(figure)}


def _shown(figure: dict[str, Any]) -> bool:
    counted = figure["items"] or any(figure[f"n_{name}"] for name in _COUNTS)
    return bool(counted) and figure["cohort"] is None and figure["slice_key"] is None


def _place(figure: dict[str, Any]) -> tuple[Any, ...]:
    return figure["metric"], figure["aggregation"], figure["doc_class"]


def _row(figure: dict[str, Any], baseline: float | None) -> dict[str, Any]:
    return {
        "measure": f"{figure['metric']} ({figure['aggregation']})",
        "class": figure["doc_class"] or "all",
        "value": _rounded(figure["value"]),
        "low": _rounded(figure["low"]),
        "high": _rounded(figure["high"]),
        "baseline": _rounded(baseline),
        "items": figure["items"],
        "documents": figure["documents"],
    } | {name: figure[f"n_{name}"] for name in _COUNTS}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
