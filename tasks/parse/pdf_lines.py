"""The lines of text of a PDF page by PyMuPDF, with what their type face says about them."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import pymupdf

from tasks.parse.leftward import LEFTWARD, spoken_order
from tasks.parse.lines import Line, quarter_turn, union

_LAM = "\u0644"
_ALEFS = "\u0622\u0623\u0625\u0627"
_GAP, _NEAR = 0.05, 0.25
"""Shares of a line's height."""

FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
"""Hyphens stay as they are, ligatures are spelled out, and characters that the file does not map become U+FFFD."""


def page_lines(page: Any) -> list[Line]:
    """All runs of text, in the order of the file, what annotations and form fields draw included."""
    raw = _raw_lines(page, "dict")
    if any(LEFTWARD.search(span["text"]) for line in raw for span in line["spans"]):
        raw = [_in_spoken_order(line) for line in _raw_lines(page, "rawdict")]
    return [line for one in raw if (line := _line(one))]


def _raw_lines(page: Any, form: str) -> list[dict[str, Any]]:
    return [line for block in page.get_text(form, flags=FLAGS)["blocks"] for line in block.get("lines", ())]


def _in_spoken_order(raw: dict[str, Any]) -> dict[str, Any]:
    """A line of single characters with its text: of right-to-left writing MuPDF gives the words in either order.

    Within a word the letters are in their order, but for the ligature of lam and alef, spelled out backwards: two
    letters that end at one place. Marks stand at either end of a word, so their place on the page decides.
    """
    characters = [character for span in raw["spans"] for character in span["chars"]]
    text = "".join(character["c"] for character in characters)
    if LEFTWARD.search(text) and raw["dir"] == (1.0, 0.0):
        pieces = [_Piece.of(kind, list(run)) for kind, run in groupby(characters, _writing)]
        text = _spoken_text(pieces) or text
    spans = [span | {"text": "".join(character["c"] for character in span["chars"])} for span in raw["spans"]]
    return raw | {"spans": spans, "text": text}


def _writing(character: dict[str, Any]) -> str:
    """What a character is: blank, of right-to-left writing (with its diacritics), another letter or digit, a mark."""
    sign = character["c"]
    if sign.isspace():
        return " "
    if LEFTWARD.match(sign) and not unicodedata.category(sign).startswith("P"):
        return "leftward"
    return "rightward" if sign.isalnum() else "mark"


@dataclass(frozen=True, slots=True)
class _Piece:
    """Characters of one writing that follow one another, and where they begin and end on the page."""

    text: str
    left: float
    right: float
    height: float

    @classmethod
    def of(cls, kind: str, characters: list[dict[str, Any]]) -> "_Piece":
        left, top, right, bottom = union(character["bbox"] for character in characters)
        return cls("" if kind == " " else _spelled(characters), left, right, bottom - top)


def _spoken_text(pieces: Sequence[_Piece]) -> str:
    """The text of a line's pieces, with a space where the page has one."""
    words = sorted((piece for piece in pieces if piece.text), key=lambda piece: piece.right)
    spaces = _spaces(words, [piece for piece in pieces if not piece.text])
    order = spoken_order([word.text for word in words])
    text = words[order[0]].text if order else ""
    for before, place in pairwise(order):
        parted = abs(place - before) > 1 or min(before, place) in spaces
        text += (" " if parted else "") + words[place].text
    return text


def _spaces(words: Sequence[_Piece], blanks: Sequence[_Piece]) -> set[int]:
    """The places of words that have a space to their right: a gap, or the blank that is nearest to their end.

    Letters of fonts that state too great widths reach over the blanks beside them.
    """
    ends = [(left.right + right.left) / 2 for left, right in pairwise(words)]
    spaces = {i for i, (left, right) in enumerate(pairwise(words)) if right.left - left.right > _GAP * right.height}
    for blank in blanks if ends else ():
        middle = (blank.left + blank.right) / 2
        nearest = min(range(len(ends)), key=lambda i: abs(ends[i] - middle))
        if abs(ends[nearest] - middle) < _NEAR * blank.height:
            spaces.add(nearest)
    return spaces


def _spelled(piece: list[dict[str, Any]]) -> str:
    letters = [character["c"] for character in piece]
    ends = [character["bbox"][2] for character in piece]
    for i in range(len(piece) - 1):
        if letters[i] in _ALEFS and letters[i + 1] == _LAM and abs(ends[i] - ends[i + 1]) < 0.01:
            letters[i], letters[i + 1] = letters[i + 1], letters[i]
    return "".join(letters)


def _line(raw: dict[str, Any]) -> Line | None:
    spans = [span for span in raw["spans"] if span["text"]]
    text = raw.get("text") or "".join(span["text"] for span in spans)
    if not text.strip():
        return None
    solid = [span for span in spans if span["text"].strip()]
    weight = sum(len(span["text"]) for span in solid)

    def mostly(flag: int) -> bool:
        return sum(len(span["text"]) for span in solid if span["flags"] & flag) >= 0.9 * weight

    return Line(
        text.strip(),
        union(span["bbox"] for span in solid),
        max(solid, key=lambda span: len(span["text"]))["size"],
        mostly(pymupdf.TEXT_FONT_BOLD),
        mostly(pymupdf.TEXT_FONT_MONOSPACED),
        bool(solid[0]["flags"] & pymupdf.TEXT_FONT_SUPERSCRIPT),
        quarter_turn(*raw["dir"]),
    )
