"""Tables of a PDF page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeAlias

from tasks.parse.leftward import LEFTWARD, spoken_order
from tasks.parse.lines import Box, Line, rows_of, union
from tasks.parse.pdf_lines import FLAGS
from tasks.parse.tables import Cell, Rows

_MOST_RUNS_PER_CELL = 2.0
_SAME_TABLE = 0.8
"""Share of the runs of text in two boxes that lie in both, from which on they are one table."""

PlacedWord: TypeAlias = tuple[float, float, float, float, str, int, int, int]
"""As PyMuPDF gives it: box, text, and the numbers of block, line and word."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table and where it stands; `fill` is the share of its cells that hold text."""

    box: Box
    rows: Rows
    cells: int
    fill: float


def page_words(page: Any, values: Sequence[Line]) -> list[PlacedWord]:
    """The words of a page, and the values of its fields as words."""
    words: list[PlacedWord] = list(page.get_text("words", flags=FLAGS))
    return words + [(*line.box, line.text, -1 - i, 0, 0) for i, line in enumerate(values)]


def page_tables(
    page: Any,
    lines: Sequence[Line],
    read_words: Callable[[], Sequence[PlacedWord]],
    method: str,
    before_model: Callable[[], None],
) -> tuple[list[Grid], list[Line]]:
    """The tables of a page from the top, and the lines that stand in none of them.

    `ruled` looks for drawn grids only. `layout` asks the layout model on every page. `auto` asks it only on pages
    that show signs of a table: three rows or more that begin or end runs of short text at the same three places.
    Where both find a table in one place, the drawn grid is taken if a greater share of its cells holds text, and its
    cells hold no more than two runs of text on average; otherwise its rules part too much, or do not part all rows.
    `read_words` gives what cells are filled with (`page_words`). `before_model` is called before the model is asked,
    which takes a second or more.
    """
    if method == "none":
        return [], list(lines)
    words = read_words()
    grids = _grids(page.find_tables(use_layout=False), words, lines)
    if method == "layout" or (method == "auto" and _has_aligned_runs(lines)):
        before_model()
        grids = [_chosen(grid, grids, lines) for grid in _grids(page.find_tables(union=True), words, lines)]
    grids.sort(key=lambda grid: (grid.box[1], grid.box[0]))
    rest = [line for line in lines if not any(_inside(line.box, grid.box) for grid in grids)]
    return grids, rest


def _grids(found: Any, words: Sequence[Any], lines: Sequence[Line]) -> list[Grid]:
    return [grid for table in found.tables if (grid := _grid(table, words, lines))]


def _chosen(grid: Grid, ruled: Sequence[Grid], lines: Sequence[Line]) -> Grid:
    inside = {i for i, line in enumerate(lines) if _inside(line.box, grid.box)}
    for other in ruled:
        others = {i for i, line in enumerate(lines) if _inside(line.box, other.box)}
        same = len(inside & others) >= _SAME_TABLE * len(inside | others) > 0
        if same and other.fill > grid.fill and len(others) <= _MOST_RUNS_PER_CELL * other.cells:
            return other
    return grid


def _has_aligned_runs(lines: Sequence[Line]) -> bool:
    rows = [row for row in rows_of(lines) if len(row) >= 3 and all(len(line.text) <= 40 for line in row[1:])]
    starts: dict[int, int] = {}
    for row in rows:
        for line in row:
            for edge in {round(line.box[0] / 4), round(line.box[2] / 4) + 100_000}:
                starts[edge] = starts.get(edge, 0) + 1
    return sum(1 for count in starts.values() if count >= 3) >= 3


def _grid(table: Any, words: Sequence[Any], lines: Sequence[Line]) -> Grid | None:
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
            bold = [line.bold for line in lines if _inside(line.box, box)]
            rows[top].append(Cell(_text_in(box, words), bottom - top, right - left, bool(bold) and all(bold)))
    rows = _with_headers([row for row in rows if row])
    cells = [cell for row in rows for cell in row]
    filled = sum(1 for cell in cells if cell.text)
    if len(xs) < 3 or len(rows) < 2 or filled < 3 or filled < 0.2 * len(cells):
        return None
    return Grid(union([table.bbox]), rows, len(cells), filled / len(cells))


def _with_headers(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Keeps bold cells as header cells in the leading rows that are wholly bold, if a row below is not."""
    bold = [all(cell.header for cell in row if cell.text) and any(cell.text for cell in row) for row in rows]
    leading = bold.index(False) if False in bold else 0
    return [[replace(cell, header=i < leading) for cell in row] for i, row in enumerate(rows)]


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
    return " ".join(word for _, line in groupby(inside, lambda word: word[5:7]) for word in _spoken(list(line)))


def _spoken(words: Sequence[Any]) -> list[str]:
    """The words of one line as they are spoken: MuPDF gives those of right-to-left writing in either order."""
    if not any(LEFTWARD.search(word[4]) for word in words):
        return [word[4] for word in words]
    texts = [word[4] for word in sorted(words, key=lambda word: word[0])]
    return [texts[place] for place in spoken_order(texts)]


def _inside(box: Box, table: Box) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return table[0] <= x <= table[2] and table[1] <= y <= table[3]
