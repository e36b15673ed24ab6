"""The lines of text of a PDF page by PyMuPDF, with what their type face says about them."""

from typing import Any

import pymupdf

from tasks.parse.lines import Line, union

FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
"""Hyphens stay as they are, ligatures are spelled out, and characters that the file does not map become U+FFFD."""


def page_lines(page: Any) -> list[Line]:
    """All runs of text, in the order of the file, and the values of filled form fields."""
    blocks = page.get_text("dict", flags=FLAGS)["blocks"]
    lines = [line for block in blocks for raw in block.get("lines", ()) if (line := _line(raw))]
    return lines + [line for widget in page.widgets() or () if (line := _field(widget))]


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
