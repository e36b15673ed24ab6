"""Where an element may be cut: positions by level, from the one that harms least to the last resort."""

import re
import unicodedata
from collections.abc import Sequence

from tasks.chunk.structure import Piece

_ABBREVIATIONS = (
    "al|approx|art|bzw|ca|cf|ch|co|corp|dr|ed|eds|eq|etc|fig|figs|inc|jr|ltd|mr|mrs|ms|nr|no|nos|p|pp|prof|resp|sec|"
    "sr|st|tab|usw|vgl|vol|vs|[a-z]|[a-z]\\.[a-z]"
)
_SENTENCE_END = re.compile(r"(?:[.!?…]+[\"'’”»)\]]*\s+|[。！？]+[」』”）]*\s*|\n\s*\n)(?=\S)")
_ABBREVIATED = re.compile(rf"(?:^|[\s(\[])(?:{_ABBREVIATIONS})\.\s*$", re.IGNORECASE)
_LINE = re.compile(r"\n+")
_CELL = re.compile(r"\t+")
_WORD = re.compile(r"(?<!\d)\s+|\s+(?!\s|\d)")
_SPACE = re.compile(r"\s+")
_INSIDE_WORD = re.compile(r"[/&?=;|_,、，；](?!\d)")

_LEVELS = {
    "table": (_LINE, _CELL, _WORD, _SPACE, _INSIDE_WORD),
    "code": (_LINE, _WORD, _SPACE, _INSIDE_WORD),
}
_TEXT_LEVELS = (_LINE, _WORD, _SPACE, _INSIDE_WORD)


def break_levels(text: str, piece: Piece, forbidden: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Positions in `text` at which the piece may be cut, ascending, one list per level.

    Tables: row ends, then cell borders; code: line ends; other text: sentence ends, then line ends. After these come
    spaces (first those not between two digits, since a number may hold one), then punctuation inside a long word.
    No position lies inside a `forbidden` range (sorted, not overlapping).
    """
    levels: list[list[int]] = []
    if piece.kind not in _LEVELS:
        levels.append([p for p in sentence_starts(text, piece.start, piece.end) if allowed(p, forbidden)])
    for pattern in _LEVELS.get(piece.kind, _TEXT_LEVELS):
        found = [match.end() for match in pattern.finditer(text, piece.start, piece.end)]
        levels.append([p for p in found if piece.start < p < piece.end and allowed(p, forbidden)])
    return levels


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """Where sentences after the first begin in text[start:end].

    A full stop ends a sentence unless it follows an initial or a common abbreviation, or a small letter comes next.

    >>> sentence_starts("See Fig. 3. It shows J. Doe, ca. 40 m up. done? Yes.", 0, 52)
    [12, 48]
    """
    found = []
    for match in _SENTENCE_END.finditer(text, start, end):
        position = match.end()
        if (
            position < end
            and not text[position].islower()
            and not (match.group().startswith(".") and _ABBREVIATED.search(text[max(start, position - 12) : position]))
        ):
            found.append(position)
    return found


def allowed(position: int, forbidden: Sequence[tuple[int, int]]) -> bool:
    """Whether no range has `position` strictly inside it."""
    return nearest_allowed(position, forbidden) == position


def nearest_allowed(position: int, forbidden: Sequence[tuple[int, int]]) -> int:
    """The position itself, or the start of the range that has it strictly inside."""
    low, high = 0, len(forbidden)
    while low < high:
        middle = (low + high) // 2
        if forbidden[middle][0] < position:
            low = middle + 1
        else:
            high = middle
    if low and position < forbidden[low - 1][1]:
        return forbidden[low - 1][0]
    return position


def before_combining(text: str, position: int, start: int) -> int:
    """The position moved left so that no combining mark, joiner or variation selector is parted from its base."""
    while position > start + 1 and (
        unicodedata.category(text[position]) in ("Mn", "Mc", "Me") or "\u200d" in text[position - 1 : position + 1]
    ):
        position -= 1
    return position
