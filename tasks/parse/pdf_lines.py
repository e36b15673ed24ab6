"""The lines of text of a PDF page, with what their type face says about them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pymupdf

Box: TypeAlias = tuple[float, float, float, float]

FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
"""Hyphens stay as they are, ligatures are spelled out, and characters that the file does not map become U+FFFD."""


@dataclass(frozen=True, slots=True)
class Line:
    """A run of text on one base line. `bold` and `mono` hold when nearly all of it is."""

    text: str
    box: Box
    size: float
    bold: bool
    mono: bool
    raised: bool
    upright: bool

    @property
    def middle(self) -> float:
        """The height of its middle, from the top of the page."""
        return (self.box[1] + self.box[3]) / 2


def page_lines(page: Any) -> list[Line]:
    """All runs of text, in the order of the file, and the values of filled form fields."""
    blocks = page.get_text("dict", flags=FLAGS)["blocks"]
    lines = [line for block in blocks for raw in block.get("lines", ()) if (line := _line(raw))]
    return lines + [line for widget in page.widgets() or () if (line := _field(widget))]


def union(boxes: Iterable[Sequence[float]]) -> Box:
    """The smallest box around all of these."""
    edges = list(zip(*boxes, strict=True))
    return min(edges[0]), min(edges[1]), max(edges[2]), max(edges[3])


def rows_of(lines: Sequence[Line]) -> list[list[Line]]:
    """Groups runs that stand beside one another, from the top, each row from the left."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.middle, line.box[0])):
        last = rows[-1][0] if rows else None
        if last and abs(line.middle - last.middle) < 0.4 * min(_height(line), _height(last)):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.box[0]) for row in rows]


def merged(row: Sequence[Line]) -> Line:
    """The runs of one row as one line."""
    if len(row) == 1:
        return row[0]
    longest = max(row, key=lambda line: len(line.text))
    return Line(
        " ".join(line.text for line in row),
        union(line.box for line in row),
        longest.size,
        all(line.bold for line in row),
        all(line.mono for line in row),
        row[0].raised,
        longest.upright,
    )


def _line(raw: dict[str, Any]) -> Line | None:
    spans = [span for span in raw["spans"] if span["text"]]
    text = "".join(span["text"] for span in spans)
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
        abs(raw["dir"][1]) < 0.1 and raw["dir"][0] > 0,
    )


def _field(widget: Any) -> Line | None:
    value = widget.field_value
    kinds = {pymupdf.PDF_WIDGET_TYPE_TEXT, pymupdf.PDF_WIDGET_TYPE_COMBOBOX, pymupdf.PDF_WIDGET_TYPE_LISTBOX}
    if widget.field_type not in kinds or not isinstance(value, str) or not value.strip():
        return None
    return Line(value.strip(), union([widget.rect]), widget.text_fontsize or 10.0, False, False, False, True)


def _height(line: Line) -> float:
    return line.box[3] - line.box[1]
