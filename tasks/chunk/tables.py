"""The header rows of a table, which every further part of it repeats."""

from collections.abc import Sequence

from tasks.chunk.settings import ChunkSettings
from tasks.chunk.structure import Piece


def table_header(text: str, piece: Piece, row_starts: Sequence[int], settings: ChunkSettings) -> str:
    """The header rows of a table with the line end after them; '' for other elements and where nothing follows them.

    `row_starts` are where the rows after the first begin.
    """
    if piece.kind != "table":
        return ""
    rows = marked_header_rows(piece.html or "") or settings.table_header_rows
    return text[piece.start : row_starts[rows - 1]] if rows and len(row_starts) >= rows else ""


def marked_header_rows(html: str) -> int:
    """How many leading rows of a table hold header cells only.

    >>> marked_header_rows("<table><tr><th>a</th></tr><tr><th>b</th><td>1</td></tr></table>")
    1
    """
    rows = 0
    for row in html.split("<tr")[1:]:
        if "<td" in row or "<th" not in row:
            break
        rows += 1
    return rows
