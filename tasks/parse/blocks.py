"""From lines to blocks: paragraphs, headings, list items, captions, footnotes, code."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas.names import ElementKind, TextSource
from tasks.parse.lines import Box, Line, union
from tasks.parse.tables import Rows

BULLET = re.compile(r"[•‣◦▪▫■□●○◆◇➢➤✓✔·\uf0b7\uf0a7\uf0d8\uf0fc–—-]\s+(?=\S)")
_NUMBER = re.compile(r"(?:\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})\)|\d{1,2}\.)\s+\S")
_CAPTION = re.compile(
    r"(?:fig(?:ure|\.)?|table|tab\.|chart|scheme|plate|abb(?:ildung|\.)|tabelle|tableau|figura|tabla)"
    r"\s*[A-Z]?\d+(?:[.-]\d+)*(?:\s*[.:](?!\d)|\s+[–—-]\s)"
    r"|(?:figure|table|abbildung|tabelle|tableau|figura)\s+\d+\s*$",
    re.IGNORECASE,
)
_FOOTNOTE = re.compile(r"(?:\(?\d{1,3}\)?\s+|[*†‡§¹²³⁴-⁹]+\s*)[^\W\d_]")
_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_WORD = re.compile(r"[^\W\d_]{3}")
_SENTENCE = re.compile(r"(?:\S+\s+){9}\S*(?<!\b[A-Z])[.!](?:\s+[^\W\d_a-z]|\s*\Z)")
"""The end of a sentence after ten words or more: on a page of references in small type, running text is large too."""
_SENTENCE_END = (".", "!", "?", ":", ";", "。", "！", "？")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together, or a table."""

    page: int
    box: Box
    lines: tuple[Line, ...] = ()
    table: Rows | None = None

    @property
    def text(self) -> str:
        """Its lines, with their ends kept."""
        return "\n".join(line.text for line in self.lines)

    @property
    def size(self) -> float:
        """Type size in points, to half a point."""
        return round(2 * max(self.lines, key=lambda line: len(line.text)).size) / 2

    @property
    def bold(self) -> bool:
        """Whether all lines are."""
        return all(line.bold for line in self.lines)

    @property
    def source(self) -> TextSource:
        """Where its text comes from."""
        return TextSource.OCR if any(line.ocr for line in self.lines) else TextSource.TEXT


@dataclass(frozen=True, slots=True)
class Style:
    """What is usual in a document: its body type, the sizes of its headings (largest first), repeated lines."""

    size: float
    bold: bool
    mono: bool
    heading_sizes: tuple[float, ...]
    repeated: frozenset[tuple[str, int]]


def paragraphs(group: Sequence[Line], page: int) -> list[Block]:
    """Parts one column's lines into blocks."""
    if not group:
        return []
    left, right = min(line.box[0] for line in group), max(line.box[2] for line in group)
    blocks: list[list[Line]] = [[group[0]]]
    for line in group[1:]:
        if _goes_on(blocks[-1], line, left, right):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return [Block(page, union(line.box for line in lines), tuple(lines)) for lines in blocks]


def document_style(blocks: Iterable[Block], pages: int) -> Style:
    """Reads off a document's usual type; `pages` tells how often a line must recur to be a running header."""
    text_blocks = [block for block in blocks if block.lines]
    faces: Counter[tuple[float, bool, bool]] = Counter()
    pages_of: dict[tuple[str, int], set[int]] = {}
    for block in text_blocks:
        for line in block.lines:
            faces[round(2 * line.size) / 2, line.bold, line.mono] += len(line.text)
        if len(block.lines) <= 3:
            pages_of.setdefault(recurrence(block), set()).add(block.page)
    (size, bold, mono), _ = max(faces.items(), key=lambda item: (item[1], item[0]), default=((10.0, False, False), 0))
    repeated = frozenset(key for key, on in pages_of.items() if len(on) >= 3 and len(on) >= 0.3 * pages)
    plain = Style(size, bold, mono, (), repeated)
    sizes = sorted({block.size for block in text_blocks if _is_large(block, plain)}, reverse=True)
    return Style(size, bold, mono, tuple(sizes), repeated)


def kind_of(block: Block, style: Style, page_height: float) -> tuple[ElementKind, int | None]:
    """The kind of a block of lines, and a heading's or list item's level."""
    text = block.text
    if recurrence(block) in style.repeated:
        return ElementKind.PARAGRAPH, None
    if _is_large(block, style):
        return ElementKind.HEADING, min(style.heading_sizes.index(block.size) + 1, 6)
    if _CAPTION.match(text) and len(text) <= 600:
        return ElementKind.CAPTION, None
    if (BULLET.match(text) or _NUMBER.match(text)) and not _is_bold_heading(block, style):
        return ElementKind.LIST_ITEM, 1
    if _is_bold_heading(block, style):
        return ElementKind.HEADING, min(len(style.heading_sizes) + 1, 6)
    if all(line.mono for line in block.lines) and not style.mono:
        return ElementKind.CODE, None
    low = block.box[1] > 0.6 * page_height
    if low and block.size <= 0.92 * style.size and (block.lines[0].raised or _FOOTNOTE.match(text)):
        return ElementKind.FOOTNOTE, None
    return ElementKind.PARAGRAPH, None


def code_text(block: Block) -> str:
    """Lines of code with their indentation, which a PDF keeps only as a distance."""
    widths = [(line.box[2] - line.box[0]) / len(line.text) for line in block.lines]
    width = max(sorted(widths)[len(widths) // 2], 1.0)
    left = min(line.box[0] for line in block.lines)
    return "\n".join(" " * round((line.box[0] - left) / width) + line.text for line in block.lines)


def recurrence(block: Block) -> tuple[str, int]:
    """What running headers and footers share on all pages: their words, less the numbers, at the same height."""
    return re.sub(r"\d+", "0", block.text), round(block.box[1] / 8)


def _goes_on(block: Sequence[Line], line: Line, left: float, right: float) -> bool:
    last = block[-1]
    size = min(last.size, line.size)
    gap = line.box[1] - last.box[3]
    if not (last.upright and line.upright and -0.8 * size < gap < 0.55 * size):
        return False
    if abs(last.size - line.size) > 0.12 * size or (last.bold != line.bold and _is_whole_line_bold(block, line)):
        return False
    if last.mono != line.mono or BULLET.match(line.text):
        return False
    if last.mono and line.mono:
        return True
    if _NUMBER.match(line.text) and (_NUMBER.match(block[0].text) or last.text.endswith(_SENTENCE_END)):
        return False
    if len(block) >= 2 and gap > 0.25 * size + (block[-1].box[1] - block[-2].box[3]):
        return False
    ended = last.text.endswith(_SENTENCE_END)
    if ended and last.box[2] < left + 0.75 * (right - left):
        return False
    hanging = bool(BULLET.match(block[0].text) or _NUMBER.match(block[0].text))
    return not (ended and line.box[0] > last.box[0] + 0.8 * size and not hanging)


def _is_whole_line_bold(block: Sequence[Line], line: Line) -> bool:
    """A change of weight parts blocks only between lines that are wholly bold and lines that are not."""
    return all(other.bold for other in block) != line.bold


def _is_large(block: Block, style: Style) -> bool:
    text = block.text
    return (
        block.size >= 1.14 * style.size
        and len(block.lines) <= 4
        and len(text) <= 250
        and bool(_TWO_LETTERS.search(text))
        and not _is_formula(text)
        and not _SENTENCE.search(text)
        and recurrence(block) not in style.repeated
    )


def _is_formula(text: str) -> bool:
    """Whether it has a sign of mathematics and no word.

    >>> _is_formula("∇⋅E = ρ"), _is_formula("Costs > 5 %"), _is_formula("C++")
    (True, False, True)
    """
    return not _WORD.search(text) and any(unicodedata.category(character) == "Sm" for character in text)


def _is_bold_heading(block: Block, style: Style) -> bool:
    text = block.text
    return (
        block.bold
        and not style.bold
        and block.size >= 0.95 * style.size
        and len(block.lines) <= 2
        and len(text) <= 150
        and not text.endswith((".", ",", ";", ":"))
        and sum(character.isalpha() for character in text) >= 3
    )
