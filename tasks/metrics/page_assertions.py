"""Unit tests of one page's text: something is there, is not there, comes before something else, stands in a table.

The kinds and their rules follow olmOCR-Bench (Poznanski and others, 2025). Two differences: a page without any text
fails every assertion but one that it is blank, since what was never read cannot be praised for what it leaves out;
and formulas are not compared, as two ways of writing one formula are told from two formulas only by setting both.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from tasks.metrics.table_cells import Cell, table_cells

_ALIKE = str.maketrans({**dict.fromkeys("‘’‚", "'"), **dict.fromkeys("“”„", '"'), **dict.fromkeys("–—‑‒−", "-")})
_LEAST_CELL_RATIO = 0.5
_MOST_REPEATS = 30
_LONGEST_PHRASE = 5
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What must stand next to a cell, by direction: `up`, `down`, `left`, `right`, `top_heading`, `left_heading`."""

    cell: str
    expected: Mapping[str, str] = field(default_factory=dict)


def assertion_text(text: str) -> str:
    """The text as assertions compare it: NFC, runs of white space one space, one kind of quotes and of dashes.

    >>> assertion_text("the  “first”\\nline –")
    'the "first" line -'
    """
    return " ".join(unicodedata.normalize("NFC", text).translate(_ALIKE).split())


def holds_text(
    page: str,
    wanted: str,
    *,
    most_differences: int = 0,
    case_sensitive: bool = True,
    first: int | None = None,
    last: int | None = None,
) -> bool:
    """Whether a passage stands on a page: the best partial ratio is at least 1 - differences / length of the passage.

    `first` and `last` restrict the search to that many characters of the page's beginning and end.

    >>> holds_text("The pump was oiled.", "pump was oi1ed", most_differences=2), holds_text("", "pump")
    (True, False)
    """
    page, wanted = assertion_text(page), assertion_text(wanted)
    if not case_sensitive:
        page, wanted = page.lower(), wanted.lower()
    if first or last:
        page = page[: first or 0] + (page[-last:] if last else "")
    if not wanted or len(page) < len(wanted) - most_differences:
        return False
    return fuzz.partial_ratio(wanted, page) / 100 >= 1 - most_differences / len(wanted) - _ROUNDING


def in_order(page: str, before: str, after: str, *, most_differences: int = 0) -> bool:
    """Whether one passage begins before another somewhere on a page, each with at most so many edits.

    >>> in_order("First the pump, then the valve.", "the pump", "the valve")
    True
    >>> in_order("First the pump, then the valve.", "the valve", "the pump")
    False
    """
    page = assertion_text(page)
    first = next(_places(page, assertion_text(before), most_differences), None)
    return first is not None and any(first < place for place in _places(page, assertion_text(after), most_differences))


def has_cell(tables: Sequence[str], wanted: Neighbours, *, most_differences: int = 0) -> bool:
    """Whether some table (as HTML) holds a cell with these neighbours.

    A neighbour shares an edge, spans honoured. A heading is the first cell with text of the column, or of the row.
    Texts agree if their ratio is at least 1 - differences / length (and a half).

    >>> table = "<table><tr><th>item<th>price<tr><td>pump<td>9</table>"
    >>> has_cell([table], Neighbours("9", {"left": "pump", "top_heading": "price"}))
    True
    >>> has_cell([table], Neighbours("9", {"up": "item"}))
    False
    """
    for html in tables:
        cells = table_cells(html)
        for cell in cells:
            if _alike(cell.text, wanted.cell, most_differences) and all(
                any(_alike(other.text, text, most_differences) for other in _neighbours(cells, cell, side))
                for side, text in wanted.expected.items()
            ):
                return True
    return False


def is_sane(page: str, *, most_characters: int | None = None) -> bool:
    """Whether a page's text is what a page can hold.

    There is a letter or a digit, and the text does not end in a phrase of up to five words said more than thirty times
    (as models do that lost their way). With `most_characters`, instead: the page is all but blank.

    >>> is_sane("A line."), is_sane(" - "), is_sane("so " * 40), is_sane("x", most_characters=10)
    (True, False, False, True)
    """
    text = assertion_text(page)
    if most_characters is not None:
        return len(text) <= most_characters
    return any(map(str.isalnum, text)) and not _stutters(text.split())


def _stutters(words: Sequence[str]) -> bool:
    for length in range(1, _LONGEST_PHRASE + 1):
        tail = words[-length * (_MOST_REPEATS + 1) :]
        if len(tail) == length * (_MOST_REPEATS + 1) and all(
            tail[i] == tail[i % length] for i in range(length, len(tail))
        ):
            return True
    return False


def _places(page: str, wanted: str, most_differences: int) -> Iterator[int]:
    """Where passages begin that are at most so many edits from the wanted one."""
    if not wanted:
        return
    if most_differences == 0:
        yield from (match.start() for match in re.finditer(f"(?={re.escape(wanted)})", page))
        return
    lengths = range(max(1, len(wanted) - most_differences), len(wanted) + most_differences + 1)
    for start in range(len(page)):
        if any(
            Levenshtein.distance(wanted, page[start : start + length], score_cutoff=most_differences)
            <= most_differences
            for length in lengths
        ):
            yield start


def _alike(found: str, wanted: str, most_differences: int) -> bool:
    found, wanted = assertion_text(found), assertion_text(wanted)
    if not wanted or not found:
        return found == wanted
    return fuzz.ratio(found, wanted) / 100 >= max(_LEAST_CELL_RATIO, 1 - most_differences / len(wanted)) - _ROUNDING


def _neighbours(cells: Sequence[Cell], cell: Cell, side: str) -> list[Cell]:
    rows = range(cell.row, cell.row + cell.rowspan)
    columns = range(cell.column, cell.column + cell.colspan)
    above = [c for c in cells if c.row + c.rowspan <= cell.row and _meet(c.column, c.colspan, columns)]
    before = [c for c in cells if c.column + c.colspan <= cell.column and _meet(c.row, c.rowspan, rows)]
    if side == "up":
        return [c for c in above if c.row + c.rowspan == cell.row]
    if side == "left":
        return [c for c in before if c.column + c.colspan == cell.column]
    if side == "down":
        return [c for c in cells if c.row == rows.stop and _meet(c.column, c.colspan, columns)]
    if side == "right":
        return [c for c in cells if c.column == columns.stop and _meet(c.row, c.rowspan, rows)]
    line = above if side == "top_heading" else before
    return sorted(
        (c for c in line if c.text), key=lambda c: (c.row, c.column) if side == "top_heading" else (c.column, c.row)
    )[:1]


def _meet(start: int, length: int, places: range) -> bool:
    return start < places.stop and places.start < start + length
