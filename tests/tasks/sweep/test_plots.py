"""Plots: what is drawn is what was measured, and names of foreign origin are text."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from schemas.figures import SWEEP_FIGURES
from schemas.names import StageName
from tasks.figures.catalogue import load_catalogue
from tasks.sweep.axes import Axis, points_of
from tasks.sweep.chosen import Chosen
from tasks.sweep.drive import Done, Driven
from tasks.sweep.order import Order
from tasks.sweep.plot import plot
from tasks.sweep.result import Result
from tasks.sweep.write import write_result

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert("1")</script>&\u202e'
CHOSEN = Chosen(StageName.PII, load_catalogue().get("pii", "pii_recall"))


def result(axes: list[Axis], values: dict[int, float], by_type: dict[int, float] | None = None) -> Result:
    points = points_of(axes)
    rows: list[dict[str, Any]] = []
    for part, of_part in ((None, values), (HOSTILE, by_type or {})):
        for number, value in of_part.items():
            counts = {name: 0 for name in SWEEP_FIGURES.names if name.startswith("n_")}
            rows.append({
                "point": number, "setting": points[number - 1].label, "stage": "pii", "metric": "pii_recall",
                "aggregation": "micro", "slice_key": part and "entity_type", "slice_value": part, "value": value,
                "low": value - 0.1, "high": value + 0.1, "items": 7, "documents": 7, **counts,
            })  # fmt: skip
    order = Order(tuple(axes), points, (), StageName.PII, StageName.PII, (CHOSEN,), True, "entity_type")
    done = tuple(Done(f"sweep-x.{p.number:03d}", 1, 0, 1.0, ()) for p in points)
    driven = Driven("sweep-x", "r", datetime(2026, 1, 1, tzinfo=UTC), 7, 0, {"gold_sets": [HOSTILE]}, done)
    groups = (None, HOSTILE) if by_type else (None,)
    return Result(order, driven, (CHOSEN,), (), groups, pa.Table.from_pylist(rows, schema=SWEEP_FIGURES), ())


def drawn(made: Result) -> ElementTree.Element:
    return ElementTree.fromstring(plot(made, CHOSEN))


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_a_dot_stands_as_high_as_its_figure() -> None:
    root = drawn(result([Axis.of("stages.pii.default_threshold", (0.3, 0.5, 0.7))], {1: 0.4, 2: 0.6, 3: 0.5}))
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in root.iter(f"{SVG}circle")]
    (x1, y1), (x2, y2), (x3, y3) = dots
    assert x2 - x1 == pytest.approx(x3 - x2)
    # The scale goes from the lowest bound, 0.3, to the highest, 0.7, over 260 units.
    assert [y1, y2, y3] == pytest.approx([44 + 260 * (0.7 - v) / 0.4 for v in (0.4, 0.6, 0.5)], abs=0.06)
    assert {"0.3", "0.5", "0.7", "all", "default_threshold"} <= {*texts(root)}


def test_a_point_without_a_figure_breaks_the_line() -> None:
    def joins(made: Result) -> int:
        return sum("stroke-dasharray" in line.attrib for line in drawn(made).iter(f"{SVG}line"))

    axis = Axis.of("stages.pii.default_threshold", (0.3, 0.5, 0.7, 0.9))
    assert joins(result([axis], {1: 0.4, 2: 0.6, 3: 0.5, 4: 0.5})) == 3
    assert joins(result([axis], {1: 0.4, 2: 0.6, 4: 0.5})) == 1
    named = Axis.of("stages.boilerplate.extractor", ("trafilatura", "justext"))
    assert joins(result([named], {1: 0.4, 2: 0.6})) == 0


def test_two_settings_make_a_table_of_cells() -> None:
    axes = [Axis.of("stages.a.down", (1, 2)), Axis.of("stages.a.across", (10, 20, 30))]
    root = drawn(result(axes, {1: 0.125, 2: 0.25, 3: 0.375, 4: 0.5, 6: 0.625}))
    cells = [rect for rect in root.iter(f"{SVG}rect") if rect.attrib["fill"] != "#ffffff"]
    assert len(cells) == 6
    shades = [float(cell.attrib.get("fill-opacity", "nan")) for cell in cells]
    assert shades[:4] == sorted(shades[:4])
    assert [cell.attrib["fill"] for cell in cells].count("none") == 1  # nothing was measured at point 5
    assert {"0.125", "0.25", "0.375", "0.5", "0.625", "10", "20", "30", "1", "2"} <= {*texts(root)}


def test_names_are_text_in_plot_and_page(tmp_path: Path) -> None:
    axis = Axis.of("stages.pii.deny_list", ({"X": [HOSTILE]}, {"X": ["b"]}))
    made = result([axis], {1: 0.4, 2: 0.6}, {1: 0.3, 2: 0.5})
    root = drawn(made)
    assert not list(root.iter("script"))
    assert not list(root.iter(f"{SVG}script"))
    assert any("<script>" in text for text in texts(root))
    write_result(made, tmp_path)
    page = (tmp_path / "sweep.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "\u202e" not in page
    assert re.search(r"&lt;script&gt;", page)
