"""Breaking words into lines for the PDF reports: widths of the core fonts, hyphenation, note references."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from tasks.demo.authored import FOLDER
from tasks.demo.blocks import unmark

SUPERSCRIPT_SCALE = 0.6

_REFERENCE = re.compile(r"\[\^(\d)\]")


@dataclass(frozen=True, slots=True)
class Font:
    """A core font at a size in points."""

    family: str
    style: str
    size: float


@dataclass(frozen=True, slots=True)
class Run:
    """Text drawn in one go at `x` from the left end of its line; raised and small where it refers to a note."""

    x: float
    text: str
    raised: bool = False


Line: TypeAlias = tuple[Run, ...]


@lru_cache(maxsize=64)
def _metrics(family: str, style: str) -> Any:
    from fpdf.fonts import CORE_FONTS_CHARWIDTHS

    return CORE_FONTS_CHARWIDTHS[family + style]


@lru_cache(maxsize=50_000)
def width(text: str, font: Font) -> float:
    """Width of the text in points."""
    widths = _metrics(font.family, font.style)
    return float(sum(widths[char.encode("cp1252").decode("latin-1")] for char in text)) * font.size / 1000


@lru_cache(maxsize=1)
def _hyphenation() -> dict[str, tuple[int, ...]]:
    points = {}
    for word in (FOLDER / "hyphenation.txt").read_text(encoding="utf-8").split():
        parts = word.split("-")
        points[word.replace("-", "")] = tuple(len("".join(parts[:i])) for i in range(1, len(parts)))
    return points


def break_lines(source: str, font: Font, measure: float) -> list[Line]:
    """The lines of a paragraph that is `measure` points wide; words of the hyphenation list may be parted."""
    lines: list[Line] = []
    words: list[str] = []
    room = measure
    space = width(" ", font)
    for word in unmark(source).replace("**", "").split():
        needed = _word_width(word, font)
        if words and needed > room - space:
            head, tail = _parted(word, font, room - space)
            lines.append(_line([*words, head] if head else words, font))
            words, room, word = [], measure, tail
            needed = _word_width(word, font)
        room -= needed + (space if words else 0)
        words.append(word)
    return [*lines, _line(words, font)]


def _word_width(word: str, font: Font) -> float:
    small = Font(font.family, font.style, font.size * SUPERSCRIPT_SCALE)
    notes = _REFERENCE.findall(word)
    return width(_REFERENCE.sub("", word), font) + sum(width(note, small) for note in notes)


def _parted(word: str, font: Font, room: float) -> tuple[str, str]:
    """The part of the word that fits with a hyphen, and the rest; ("", word) where none fits."""
    bare = re.match(r"[A-Za-z]*", word)
    points = _hyphenation().get(bare.group().lower(), ()) if bare else ()
    for point in reversed(points):
        head = word[:point] + "-"
        if width(head, font) <= room:
            return head, word[point:]
    return "", word


def _line(words: Sequence[str], font: Font) -> Line:
    return tuple(_runs(" ".join(words), font))


def _runs(text: str, font: Font) -> Iterator[Run]:
    x = 0.0
    for i, part in enumerate(_REFERENCE.split(text)):
        if part:
            size = Font(font.family, font.style, font.size * SUPERSCRIPT_SCALE) if i % 2 else font
            yield Run(x, part, raised=bool(i % 2))
            x += width(part, size)
