"""Tables of a PDF page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tasks.parse.pdf_lines import FLAGS, Box, Line, rows_of
from tasks.parse.tables import Cell, Rows


@dataclass(frozen=True, slots=True)
class Grid:
    """A table and where it stands."""

    box: Box
    rows: Rows


def page_tables(page: Any, lines: Sequence[Line], method: str) -> tuple[list[Grid], list[Line]]:
    """The tables of a page from the top, and the lines that stand in none of them.

    `ruled` looks for drawn grids only. `layout` asks the layout model on every page. `auto` looks for drawn grids,
    and asks the model on pages that show signs of a table without rules: three rows or more that begin runs of
    short text at the same three places or more.
    """
    if method == "none":
        return [], list(lines)
    ask_model = method == "layout" or (method == "auto" and _has_aligned_runs(lines))
    found = page.find_tables(union=True) if ask_model else page.find_tables(use_layout=False)
    words = page.get_text("words", flags=FLAGS)
    grids = [grid for table in found.tables if (grid := _grid(table, words))]
    grids.sort(key=lambda grid: (grid.box[1], grid.box[0]))
    rest = [line for line in lines if not any(_inside(line.box, grid.box) for grid in grids)]
    return grids, rest


def _has_aligned_runs(lines: Sequence[Line]) -> bool:
    rows = [row for row in rows_of(lines) if len(row) >= 3 and all(len(line.text) <= 40 for line in row[1:])]
    starts: dict[int, int] = {}
    for row in rows:
        for line in row:
            for edge in {round(line.box[0] / 4), round(line.box[2] / 4) + 100_000}:
                starts[edge] = starts.get(edge, 0) + 1
    return sum(1 for count in starts.values() if count >= 3) >= 3


def _grid(table: Any, words: Sequence[Any]) -> Grid | None:
    """The table's cells with their spans, filled with the words whose middle lies in them."""
    boxes = [cell for row in table.rows for cell in row.cells if cell]
    if not boxes:
        return None
    xs, ys = _edges(boxes, 0, 2), _edges(boxes, 1, 3)
    rows: list[list[Cell]] = [[] for _ in range(len(ys) - 1)]
    for box in sorted(set(map(tuple, boxes)), key=lambda box: (box[1], box[0])):
        left, right = _index(xs, box[0]), _index(xs, box[2])
        top, bottom = _index(ys, box[1]), _index(ys, box[3])
        if left < right and top < bottom:
            rows[top].append(Cell(_text_in(box, words), bottom - top, right - left))
    cells = [cell for row in rows for cell in row]
    filled = sum(1 for cell in cells if cell.text)
    if len(xs) < 3 or sum(1 for row in rows if row) < 2 or filled < 3 or filled < 0.2 * len(cells):
        return None
    return Grid(tuple(table.bbox), [row for row in rows if row])


def _edges(boxes: Sequence[Any], low: int, high: int) -> list[float]:
    edges: list[float] = []
    for edge in sorted({box[i] for box in boxes for i in (low, high)}):
        if not edges or edge - edges[-1] > 3:
            edges.append(edge)
    return edges


def _index(edges: Sequence[float], value: float) -> int:
    return min(range(len(edges)), key=lambda i: abs(edges[i] - value))


def _text_in(box: Sequence[float], words: Sequence[Any]) -> str:
    inside = [
        word
        for word in words
        if box[0] <= (word[0] + word[2]) / 2 <= box[2] and box[1] <= (word[1] + word[3]) / 2 <= box[3]
    ]
    return " ".join(word[4] for word in inside)


def _inside(box: Box, table: Box) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return table[0] <= x <= table[2] and table[1] <= y <= table[3]
