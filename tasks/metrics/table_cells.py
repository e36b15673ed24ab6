"""A table's HTML as cells on a grid, spans honoured."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_LARGEST_SPAN = 1000
"""What HTML allows a colspan; keeps a hostile file from filling memory."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell at its first row and column (from 0); white space of its text is collapsed."""

    row: int
    column: int
    rowspan: int
    colspan: int
    text: str


@lru_cache(maxsize=8)
def table_element(html: str) -> Any:
    """The first `<table>` of an HTML text as an lxml element, to be read only; null where there is none.

    Every measure of a table asks for the same two.
    """
    from lxml import html as lxml_html

    if not html.strip():
        return None
    parser = lxml_html.HTMLParser(remove_comments=True, encoding="utf-8")
    found = lxml_html.document_fromstring(html.encode("utf-8", "replace"), parser=parser).xpath("(//table)[1]")
    return found[0] if found else None


def span(element: Any, name: str) -> int:
    """A rowspan or colspan; 1 where it is missing or no positive number."""
    try:
        number = int(element.get(name, "1"))
    except ValueError:
        return 1
    return min(number, _LARGEST_SPAN) if number > 0 else 1


@lru_cache(maxsize=32)
def table_cells(html: str) -> tuple[Cell, ...]:
    """The cells of the first table, placed as a browser places them; none where there is no table.

    A nested table's rows are part of the text of the cell that holds it.

    >>> for cell in table_cells("<table><tr><td rowspan=2>a<td>b<tr><td>c</table>"):
    ...     print(cell.row, cell.column, cell.rowspan, cell.text)
    0 0 2 a
    0 1 1 b
    1 1 1 c
    """
    table = table_element(html)
    if table is None:
        return ()
    cells: list[Cell] = []
    taken: set[tuple[int, int]] = set()
    lines = table.xpath("tr | thead/tr | tbody/tr | tfoot/tr")
    for row, line in enumerate(lines):
        column = 0
        for element in line.xpath("td | th"):
            while (row, column) in taken:
                column += 1
            rows, columns = min(span(element, "rowspan"), len(lines) - row), span(element, "colspan")
            cells.append(Cell(row, column, rows, columns, " ".join(element.text_content().split())))
            taken.update((row + i, column + j) for i in range(rows) for j in range(columns))
            column += columns
    return tuple(cells)
