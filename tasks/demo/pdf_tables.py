"""Tables of the PDF reports: column widths, row heights with spans, drawing with or without rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.demo.blocks import Cell
from tasks.demo.pdf_lines import Font, Line, break_lines, width

PADDING = 4.0
TEXT = Font("helvetica", "", 9)
HEAD = Font("helvetica", "B", 9)
LEADING = 11.5


@dataclass(frozen=True, slots=True)
class PlacedCell:
    """A cell's box relative to the table's upper left corner, and its lines."""

    x: float
    y: float
    width: float
    height: float
    font: Font
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A laid-out table."""

    width: float
    height: float
    cells: tuple[PlacedCell, ...]


def lay_out_table(rows: Sequence[Sequence[Cell]], measure: float) -> TableLayout:
    """Places all cells within `measure` points."""
    grid = _grid(rows)
    columns = max(column + cell.colspan for _, column, cell in grid)
    widths = _column_widths(grid, columns, measure)
    lines = [
        tuple(break_lines(cell.text, _font(cell), sum(widths[c : c + cell.colspan]) - 2 * PADDING))
        for _, c, cell in grid
    ]
    heights = [0.0] * len(rows)
    for (row, _, cell), cell_lines in sorted(zip(grid, lines, strict=True), key=lambda entry: entry[0][2].rowspan):
        need = len(cell_lines) * LEADING + 2 * PADDING - sum(heights[row : row + cell.rowspan])
        if need > 0:
            heights[row + cell.rowspan - 1] += need
    placed = tuple(
        PlacedCell(
            sum(widths[:c]),
            sum(heights[:row]),
            sum(widths[c : c + cell.colspan]),
            sum(heights[row : row + cell.rowspan]),
            _font(cell),
            cell_lines,
        )
        for (row, c, cell), cell_lines in zip(grid, lines, strict=True)
    )
    return TableLayout(sum(widths), sum(heights), placed)


def _font(cell: Cell) -> Font:
    return HEAD if cell.header else TEXT


def _grid(rows: Sequence[Sequence[Cell]]) -> list[tuple[int, int, Cell]]:
    """(row, column, cell), with columns counted past the cells that reach down from rows above."""
    taken: set[tuple[int, int]] = set()
    grid = []
    for row, cells in enumerate(rows):
        column = 0
        for cell in cells:
            while (row, column) in taken:
                column += 1
            grid.append((row, column, cell))
            taken |= {(row + r, column + c) for r in range(cell.rowspan) for c in range(cell.colspan)}
            column += cell.colspan
    return grid


def _column_widths(grid: Sequence[tuple[int, int, Cell]], columns: int, measure: float) -> list[float]:
    widths = [30.0] * columns
    for _, column, cell in sorted(grid, key=lambda entry: entry[2].colspan):
        need = width(cell.text, _font(cell)) + 2 * PADDING + 1
        share = (need - sum(widths[column : column + cell.colspan])) / cell.colspan
        if share > 0:
            for c in range(column, column + cell.colspan):
                widths[c] += share
    # A column that is wider than its fair share gives way first.
    while sum(widths) > measure:
        widest = max(range(columns), key=widths.__getitem__)
        widths[widest] *= 0.93
    return widths
