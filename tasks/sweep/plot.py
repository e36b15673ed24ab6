"""Plots of a sweep as plain SVG: lines for one setting, a heat map for two. Nothing is drawn that was not measured.

The elements are built with an XML library, so that a name of foreign origin is text, whatever it holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from tasks.report.values import plain_text, shown_value
from tasks.sweep.axes import Axis
from tasks.sweep.chosen import Chosen
from tasks.sweep.result import Result
from tasks.sweep.wording import MARKS, title

_INKS = ("#0b57a4", "#b3261e", "#1b7f3b", "#8a5a00", "#6a3fb5", "#00798c", "#a61e69", "#4d5b6a")
_SHAPES = ("", "6 3", "2 3", "9 3 2 3")
_SOFT, _LINE, _INK = "#55606e", "#d8dde4", "#1c2430"
_LEFT, _TOP, _WIDTH, _HEIGHT = 64.0, 44.0, 520.0, 260.0
_CELL_WIDTH, _CELL_HEIGHT = 92.0, 46.0
_MARGIN = 36.0
"""Room for the lines that stand aside of the first and the last point."""
_MOST_LINES = 12


def plot(result: Result, chosen: Chosen) -> str:
    """One measure of a sweep as an SVG document."""
    root = heat_map(result, chosen) if len(result.order.axes) == 2 else lines(result, chosen)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def lines(result: Result, chosen: Chosen) -> ElementTree.Element:
    """A line per group: x the points in their order, equally far apart, y the figure with its 95 % interval.

    Values that are no numbers (names of extractors) have no way from one to the next: their points are not joined. A
    point without a figure breaks its line. With more than 12 groups the first 12 are drawn, and that is said.
    """
    cells = result.cells
    groups = result.groups_of(chosen)
    drawn = groups[:_MOST_LINES]
    series = [
        [cells.get((p.number, str(chosen.stage), chosen.metric.id, group)) for p in result.order.points]
        for group in drawn
    ]
    low, high = _extent(series)
    points = result.order.points
    step = (_WIDTH - 2 * _MARGIN) / max(1, len(points) - 1)
    ordered = len(result.order.axes) == 1 and _is_ordered(result.order.axes[0])
    root = _canvas(_LEFT + _WIDTH + 190, _TOP + _HEIGHT + 110, title(chosen))
    for part in range(5):
        value = low + (high - low) * part / 4
        y = _y(value, low, high)
        _add(root, "line", x1=_LEFT, x2=_LEFT + _WIDTH, y1=y, y2=y, stroke=_LINE)
        _text(root, _LEFT - 8, y + 4, shown_value(value, chosen.metric.unit), anchor="end")
    for i, point in enumerate(points):
        x = _x(i, step, len(points))
        said = result.order.axes[0].labels[i] if len(result.order.axes) == 1 else str(point.number)
        text = _text(root, x, _TOP + _HEIGHT + 18, plain_text(said)[:40], anchor="end")
        text.set("transform", f"rotate(-30 {x:.1f} {_TOP + _HEIGHT + 18:.1f})")
    axis = result.order.axes[0].name if len(result.order.axes) == 1 else "number of the point"
    _text(root, _LEFT + _WIDTH / 2, _TOP + _HEIGHT + 100, plain_text(axis), anchor="middle")
    for n, (group, row) in enumerate(zip(drawn, series, strict=True)):
        ink, dashes = _INKS[n % len(_INKS)], _SHAPES[(n // len(_INKS)) % len(_SHAPES)]
        # Beside one another, so that intervals do not hide each other.
        beside = 5 * (n - (len(drawn) - 1) / 2)
        _series(root, row, _Frame(step, beside, low, high, ordered), ink, dashes)
        y = _TOP + 10 + 18 * n
        _add(root, "line", x1=_LEFT + _WIDTH + 16, x2=_LEFT + _WIDTH + 40, y1=y, y2=y, stroke=_INKS[n % len(_INKS)])
        _text(root, _LEFT + _WIDTH + 46, y + 4, plain_text(group or "all")[:22])
    if len(groups) > len(drawn):
        more = f"and {len(groups) - len(drawn)} more in the table"
        _text(root, _LEFT + _WIDTH + 16, _TOP + 14 + 18 * len(drawn), more)
    return root


def heat_map(result: Result, chosen: Chosen) -> ElementTree.Element:
    """A table for each group: the first setting down, the second across, darker where the figure is better.

    Where a measure has no better and worse, darker is higher. A cell without a figure stays empty.
    """
    cells = result.cells
    groups = result.groups_of(chosen)
    down, across = result.order.axes
    left, room = 150.0, 70.0 + _CELL_HEIGHT * len(down.values)
    width = max(left + _CELL_WIDTH * len(across.values) + 24, 420.0)
    root = _canvas(width, _TOP + room * len(groups) + 10, title(chosen))
    for n, group in enumerate(groups):
        top = _TOP + room * n + 46
        _text(root, 12, top - 26, plain_text(group or "all"), weight="bold")
        _text(root, left, top - 26, f"across: {plain_text(across.name)}, down: {plain_text(down.name)}")
        found = {
            p.places: cell
            for p in result.order.points
            if (cell := cells.get((p.number, str(chosen.stage), chosen.metric.id, group))) is not None
        }
        values = [cell["value"] for cell in found.values()]
        for j, label in enumerate(across.labels):
            _text(root, left + _CELL_WIDTH * (j + 0.5), top - 6, plain_text(label)[:16], anchor="middle")
        for i, label in enumerate(down.labels):
            y = top + _CELL_HEIGHT * i
            _text(root, left - 8, y + _CELL_HEIGHT / 2 + 4, plain_text(label)[:24], anchor="end")
            for j in range(len(across.values)):
                _heat_cell(root, left + _CELL_WIDTH * j, y, found.get((i, j)), values, chosen)
    return root


def _heat_cell(
    root: ElementTree.Element,
    x: float,
    y: float,
    cell: dict[str, Any] | None,
    values: Sequence[float],
    chosen: Chosen,
) -> None:
    if cell is None:
        _add(root, "rect", x=x, y=y, width=_CELL_WIDTH, height=_CELL_HEIGHT, fill="none", stroke=_LINE)
        return
    low, high = min(values), max(values)
    share = (cell["value"] - low) / (high - low) if high > low else 0.5
    share = 1 - share if chosen.metric.direction == "lower" else share
    shade = 0.08 + 0.82 * share
    _add(
        root, "rect", x=x, y=y, width=_CELL_WIDTH, height=_CELL_HEIGHT, fill=_INKS[0], stroke=_LINE,
        **{"fill-opacity": f"{shade:.2f}"},
    )  # fmt: skip
    ink = "#ffffff" if shade > 0.5 else _INK
    said = f"{shown_value(cell['value'], chosen.metric.unit)} {MARKS[cell['standing']]}".rstrip()
    _text(root, x + _CELL_WIDTH / 2, y + 20, said, anchor="middle", ink=ink, weight="bold")
    _text(root, x + _CELL_WIDTH / 2, y + 36, f"n {cell['items']}", anchor="middle", ink=ink)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a line's points stand: their distance, how far aside, the ends of the scale, whether they are joined."""

    step: float
    beside: float
    low: float
    high: float
    joined: bool


def _series(
    root: ElementTree.Element, row: Sequence[dict[str, Any] | None], frame: _Frame, ink: str, dashes: str
) -> None:
    places = [
        None if cell is None else (_x(i, frame.step, len(row)) + frame.beside, _y(cell["value"], frame.low, frame.high))
        for i, cell in enumerate(row)
    ]
    for before, after in pairwise(places) if frame.joined else ():
        if before is not None and after is not None:
            drawn = _add(root, "line", x1=before[0], y1=before[1], x2=after[0], y2=after[1], stroke=ink)
            drawn.set("stroke-width", "2")
            drawn.set("stroke-dasharray", dashes or "none")
    for place, cell in zip(places, row, strict=True):
        if place is None or cell is None:
            continue
        if cell["low"] is not None and cell["high"] is not None:
            ends = (_y(cell[name], frame.low, frame.high) for name in ("low", "high"))
            _add(root, "line", x1=place[0], x2=place[0], y1=next(ends), y2=next(ends), stroke=ink)
        dot = _add(root, "circle", cx=place[0], cy=place[1], r=5 if cell["standing"] == "best" else 3.5, stroke=ink)
        dot.set("fill", "#ffffff" if cell["standing"] == "worse" else ink)


def _is_ordered(axis: Axis) -> bool:
    return all(label[:1].isdigit() for label in axis.labels)


def _extent(series: Sequence[Sequence[dict[str, Any] | None]]) -> tuple[float, float]:
    """The lowest and highest value or bound, with a little room; never of no height."""
    ends = [
        cell[name]
        for row in series
        for cell in row
        if cell is not None
        for name in ("value", "low", "high")
        if cell[name] is not None
    ]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    if high - low < 1e-9:
        return low - 0.05 * max(1.0, abs(low)), high + 0.05 * max(1.0, abs(high))
    return low, high


def _x(i: int, step: float, number: int) -> float:
    return _LEFT + (_WIDTH / 2 if number == 1 else _MARGIN + i * step)


def _y(value: float, low: float, high: float) -> float:
    return _TOP + _HEIGHT * (1 - (value - low) / (high - low))


def _canvas(width: float, height: float, heading: str) -> ElementTree.Element:
    root = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:.0f} {height:.0f}",
            "width": f"{width:.0f}",
            "height": f"{height:.0f}",
            "font-family": "system-ui, 'Liberation Sans', sans-serif",
            "font-size": "12",
            "role": "img",
        },
    )
    ElementTree.SubElement(root, "title").text = heading
    _add(root, "rect", x=0, y=0, width=width, height=height, fill="#ffffff")
    _text(root, 12, 22, heading, weight="bold")
    return root


def _add(root: ElementTree.Element, kind: str, **attributes: float | str) -> ElementTree.Element:
    written = {k: v if isinstance(v, str) else f"{v:.1f}" for k, v in attributes.items()}
    return ElementTree.SubElement(root, kind, written)


def _text(
    root: ElementTree.Element,
    x: float,
    y: float,
    said: str,
    *,
    anchor: str = "start",
    ink: str = _SOFT,
    weight: str = "normal",
) -> ElementTree.Element:
    element = _add(root, "text", x=x, y=y, fill=ink)
    element.set("text-anchor", anchor)
    element.set("font-weight", weight)
    element.text = said
    return element
