"""A sweep as a person reads it on a terminal: tables of points by measure or by class, then what they show."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tasks.report.values import NOTHING, plain_text, shown_interval, shown_value
from tasks.sweep.chosen import Chosen
from tasks.sweep.result import Result
from tasks.sweep.wording import LEGEND, MARKS, conclusions, title

_WIDTH_OF_A_FIGURE = 32
"""Columns of the terminal for a measure or a class, what stands on either side of a table included."""


def print_result(console: Console, result: Result, folder: str) -> None:
    """Prints a sweep; reads the same without colour."""
    driven, order = result.driven, result.order
    _say(
        console,
        f"sweep {driven.sweep_id}: {len(order.points)} points over the {driven.documents} documents of run "
        f"{driven.source_run}, from {order.first} to {order.last}",
    )
    for heading, columns in _tables(result, max(1, console.width // _WIDTH_OF_A_FIGURE)):
        _print_table(console, result, heading, columns)
    for line in conclusions(result):
        _say(console, line)
    if result.measures:
        _say(console, LEGEND)
    else:
        _say(console, "nothing to measure: none of the measures has labels or documents in this corpus")
    if result.without and order.asked:
        _say(console, f"nothing to measure: {', '.join(chosen.name for chosen in result.without)}")
    _say(console, "live, runs and baselines are as they were")
    # A path is kept whole, to be copied.
    console.print(f"figures, table and plots: {folder}", markup=False, highlight=False, soft_wrap=True)


def _tables(result: Result, beside: int) -> Iterator[tuple[str, list[tuple[str, Chosen, str | None]]]]:
    """Heading and columns (head, measure, group) of each table, `beside` figures in each."""
    if len(result.groups) == 1:
        several = len({chosen.stage for chosen in result.measures}) > 1
        for start in range(0, len(result.measures), beside):
            part = result.measures[start : start + beside]
            yield "", [(_head(chosen, several=several), chosen, None) for chosen in part]
        return
    for chosen in result.measures:
        groups = result.groups_of(chosen)
        for start in range(0, len(groups), beside):
            part_of = groups[start : start + beside]
            yield title(chosen), [(plain_text(group or "all"), chosen, group) for group in part_of]


def _print_table(
    console: Console, result: Result, heading: str, columns: Sequence[tuple[str, Chosen, str | None]]
) -> None:
    if heading:
        console.print(heading, style="bold", markup=False, highlight=False)
    table = Table()
    table.add_column("point")
    for head, _, _ in columns:
        table.add_column(Text(head), justify="right")
    table.add_column("computed", justify="right")
    cells = result.cells
    for point, done in zip(result.order.points, result.driven.done, strict=True):
        row = [
            _shown(cells.get((point.number, str(chosen.stage), chosen.metric.id, group)), chosen)
            for _, chosen, group in columns
        ]
        table.add_row(Text(plain_text(point.label)), *row, f"{done.computed:,}")
    console.print(table)


def _shown(figure: dict[str, Any] | None, chosen: Chosen) -> Text:
    if figure is None:
        return Text(NOTHING)
    unit = chosen.metric.unit
    mark = MARKS[figure["standing"]]
    text = Text(f"{shown_value(figure['value'], unit)} {mark}".rstrip(), style="bold" if mark == "*" else "")
    interval = shown_interval(figure["low"], figure["high"], unit)
    return text + Text(f"\n{interval + ' · ' if interval else ''}n {figure['items']}", style="dim not bold")


def _head(chosen: Chosen, *, several: bool) -> str:
    arrow = {"higher": "↑", "lower": "↓", "none": ""}[chosen.metric.direction]
    return f"{chosen.name if several else chosen.metric.id} {arrow}".rstrip()


def _say(console: Console, line: str) -> None:
    console.print(plain_text(line), markup=False, highlight=False)
