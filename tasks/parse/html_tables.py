"""HTML tables: which ones hold data, and reading those with their spans."""

import re
from collections.abc import Iterator
from typing import Any

from tasks.parse.tables import MAX_COLSPAN, MAX_ROWSPAN, Cell

_LAYOUT_CONTENT = frozenset(
    {
        "table",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "dl",
        "pre",
        "blockquote",
        "form",
        "iframe",
        "figure",
        "hr",
    }
    | {"article", "section", "nav", "main", "aside", "header", "footer", "fieldset", "address", "details"}
)
_PARTS = frozenset({"thead", "tbody", "tfoot"})
_LONG_CELL = 600
"""Characters above which a cell is running text."""


def is_data_table(table: Any) -> bool:
    """Whether a table holds data, and not the layout of a page.

    It is layout when it says so (role `presentation` or `none`); when it holds headings, lists, code, forms,
    sections or another table; when a cell holds more than one paragraph or `div`, or more than 600 characters;
    or when it has fewer than two columns, or one row only and no header cell. What is laid out is read as blocks,
    so nothing is lost either way.
    """
    if (table.get("role") or "").lower() in {"presentation", "none"}:
        return False
    if any(node is not table and node.tag in _LAYOUT_CONTENT for node in table.iter()):
        return False
    rows = [[cell for cell in row if cell.tag in {"td", "th"}] for row in _rows(table)]
    rows = [row for row in rows if row]
    columns = max((sum(_span(cell, "colspan", MAX_COLSPAN) for cell in row) for row in rows), default=0)
    if columns < 2 or max(map(len, rows)) < 2:
        return False
    if len(rows) < 2 and not any(cell.tag == "th" for cell in rows[0]):
        return False
    return not any(_is_running_text(cell) for row in rows for cell in row)


def read_table(table: Any, text_of: Any) -> list[list[Cell]]:
    """The rows of a table; `text_of` gives an element's visible text. Rows without cells are left out."""
    rows = [
        [
            Cell(
                " ".join(text_of(cell).split()),
                _span(cell, "rowspan", MAX_ROWSPAN),
                _span(cell, "colspan", MAX_COLSPAN),
                cell.tag == "th",
            )
            for cell in row
            if cell.tag in {"td", "th"}
        ]
        for row in _rows(table)
    ]
    return [row for row in rows if row]


def _rows(table: Any) -> Iterator[Any]:
    for child in table:
        if child.tag == "tr":
            yield child
        elif child.tag in _PARTS:
            yield from (row for row in child if row.tag == "tr")


def _is_running_text(cell: Any) -> bool:
    if sum(1 for _ in cell.iter("p", "div")) > 1:
        return True
    return len(" ".join("".join(cell.itertext()).split())) > _LONG_CELL


def _span(cell: Any, name: str, most: int) -> int:
    match = re.match(r"\s*(\d{1,9})", cell.get(name) or "")
    return min(max(int(match.group(1)), 1), most) if match else 1
