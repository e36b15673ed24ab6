"""The files of a sweep: figures as Parquet, CSV and JSON, a plot per measure, and a page with all of it."""

from pathlib import Path
from typing import Any

import polars as pl

from schemas.figures import SWEEP_FIGURES
from tasks.installed import version
from tasks.lake.files import write_json, write_table, write_text
from tasks.report.values import NOTHING, plain_text, shown_interval, shown_value
from tasks.sweep.chosen import Chosen
from tasks.sweep.plot import plot
from tasks.sweep.result import Result
from tasks.sweep.wording import LEGEND, MARKS, conclusions, title


def write_result(result: Result, folder: Path) -> None:
    """Writes `figures.parquet`, `figures.csv`, `sweep.json`, `sweep.html` and `<stage>.<measure>.svg` per measure.

    None of them holds text of a document.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_table(result.figures, folder / "figures.parquet", SWEEP_FIGURES)
    write_text(folder / "figures.csv", pl.DataFrame(result.figures).write_csv())
    write_json(folder / "sweep.json", to_json(result))
    plots = {chosen: plot(result, chosen) for chosen in result.measures}
    for chosen, picture in plots.items():
        write_text(folder / f"{chosen.name}.svg", picture)
    write_text(folder / "sweep.html", _page(result, plots))


def to_json(result: Result) -> dict[str, Any]:
    """What was swept, what it cost, the headline figures and how the points stand, as plain values."""
    order, driven = result.order, result.driven
    return {
        "sweep": driven.sweep_id,
        "source_run": driven.source_run,
        "started_at": driven.started.isoformat(),
        "code_version": version("corpusgate"),
        "documents": driven.documents,
        "first_stage": str(order.first),
        "last_stage": str(order.last),
        "by": order.by,
        "gold": driven.gold,
        "axes": [{"setting": axis.path, "values": list(axis.values)} for axis in order.axes],
        "shared_computed": driven.shared_computed,
        "points": [
            {
                "point": point.number,
                "label": point.label,
                "settings": dict(point.given),
                "computed": done.computed,
                "reused": done.reused,
                "seconds": round(done.seconds, 3),
            }
            for point, done in zip(order.points, driven.done, strict=True)
        ],
        "measures": [
            {"measure": chosen.name, "direction": chosen.metric.direction, "aggregation": chosen.aggregation}
            for chosen in result.measures
        ],
        "nothing_to_measure": [chosen.name for chosen in result.without],
        "figures": [
            {
                "point": point,
                "measure": f"{stage}.{metric}",
                "group": group,
                **{name: cell[name] for name in ("value", "low", "high", "items", "documents", "standing", "p_value")},
            }
            for (point, stage, metric, group), cell in result.cells.items()
            if any(chosen.name == f"{stage}.{metric}" for chosen in result.measures)
        ],
        "conclusions": list(conclusions(result)),
    }


def _page(result: Result, plots: dict[Chosen, str]) -> str:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup

    environment = Environment(
        loader=ChoiceLoader([PackageLoader("tasks.sweep"), PackageLoader("tasks.report")]),
        autoescape=select_autoescape(enabled_extensions=("html.j2",), default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"plain": plain_text}
    environment.globals |= {"nothing": NOTHING, "legend": LEGEND}
    sections = [
        (title(chosen), chosen.metric.definition, *_table(result, chosen), Markup(picture))  # noqa: S704 - made here
        for chosen, picture in plots.items()
    ]
    return environment.get_template("sweep.html.j2").render(
        order=result.order, driven=result.driven, sections=sections, sentences=list(conclusions(result))
    )


def _table(result: Result, chosen: Chosen) -> tuple[list[str], list[tuple[str, list[dict[str, Any] | None], str]]]:
    found = result.cells
    groups = result.groups_of(chosen)
    rows = []
    for point, done in zip(result.order.points, result.driven.done, strict=True):
        cells = [found.get((point.number, str(chosen.stage), chosen.metric.id, group)) for group in groups]
        rows.append((point.label, [_cell(cell, chosen) for cell in cells], f"{done.computed:,}"))
    return [group or "all" for group in groups], rows


def _cell(cell: dict[str, Any] | None, chosen: Chosen) -> dict[str, Any] | None:
    if cell is None:
        return None
    unit = chosen.metric.unit
    return {
        "value": shown_value(cell["value"], unit),
        "mark": MARKS[cell["standing"]],
        "interval": shown_interval(cell["low"], cell["high"], unit),
        "items": cell["items"],
    }
