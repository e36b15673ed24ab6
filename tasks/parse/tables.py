"""A parsed table: rows of cells with spans, and its two renderings (HTML and tab-separated lines)."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

MAX_COLSPAN = 1000
MAX_ROWSPAN = 65_534
"""The HTML standard's limits."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell where it begins; the places it spans hold no other cell."""

    text: str
    rowspan: int = 1
    colspan: int = 1
    header: bool = False


Rows: TypeAlias = Sequence[Sequence[Cell]]


def table_html(rows: Rows) -> str:
    """Minimal HTML: `table`, `tr`, `td`, `th`, spans where they are more than 1.

    >>> table_html([[Cell("a", colspan=2, header=True)], [Cell("1"), Cell("x<y")]])
    '<table><tr><th colspan="2">a</th></tr><tr><td>1</td><td>x&lt;y</td></tr></table>'
    """
    parts = ["<table>"]
    for row in rows:
        parts.append("<tr>")
        for cell in row:
            tag = "th" if cell.header else "td"
            rowspan = f' rowspan="{cell.rowspan}"' if cell.rowspan > 1 else ""
            colspan = f' colspan="{cell.colspan}"' if cell.colspan > 1 else ""
            parts.append(f"<{tag}{rowspan}{colspan}>{escape(cell.text, quote=False)}</{tag}>")
        parts.append("</tr>")
    parts.append("</table>")
    return "".join(parts)


def table_text(rows: Rows) -> str:
    r"""One line per row, a tab between columns; a spanning cell's text stands in its first place only.

    >>> table_text([[Cell("a", rowspan=2), Cell("b")], [Cell("c")]])
    'a\tb\n\tc'
    """
    lines: list[dict[int, str]] = [{} for _ in rows]
    for i, row in enumerate(rows):
        column = 0
        for cell in row:
            while column in lines[i]:
                column += 1
            for below in range(i, min(i + cell.rowspan, len(rows))):
                for right in range(column, column + cell.colspan):
                    lines[below].setdefault(right, "")
            lines[i][column] = cell.text
    return "\n".join("\t".join(line.get(i, "") for i in range(max(line, default=-1) + 1)) for line in lines)
