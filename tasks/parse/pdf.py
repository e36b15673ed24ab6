"""PDF files, by PyMuPDF."""

from typing import Any

import pymupdf
from PIL import Image

from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError
from tasks.parse.blocks import Block
from tasks.parse.elements import Row
from tasks.parse.form_fields import field_lines
from tasks.parse.pdf_fields import FilledFields
from tasks.parse.pdf_lines import page_lines
from tasks.parse.pdf_pages import CORRUPT_REMEDY, PdfPage, encrypted, has_end, pdf_row, stated_metadata
from tasks.parse.pdf_tables import PlacedWord, page_tables, page_words
from tasks.parse.turns import ordered_blocks

pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)
pymupdf.no_recommend_layout()

_PYMUPDF_ERRORS = (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError, AssertionError)
"""What PyMuPDF raises on damaged files; its own errors derive from these."""


def parse_pdf(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements of a PDF file in reading order, page by page, and what its information dictionary declares.

    Raises:
        DocumentError: `encrypted`, `corrupt`, `too_many_pages`, `empty_parse` (no pages), `no_text`.
    """
    with _open(path) as document:

        def open_page(number: int) -> PdfPage | None:
            try:
                return _Page(document, number, settings["tables"], pages)
            except _PYMUPDF_ERRORS:
                return None

        row = pdf_row(document.page_count, open_page, _metadata(document), settings, pages)
    return row | {"parser": "pymupdf", "parser_version": pymupdf.VersionBind}


class _Page(PdfPage):
    def __init__(self, document: Any, number: int, tables: str, progress: Pages) -> None:
        pymupdf.TOOLS.reset_mupdf_warnings()
        self._number, self._tables, self._progress = number, tables, progress
        self._page = page = document.load_page(number - 1)
        if page.rotation:
            # Coordinates are those of the page as drawn; the reader sees it turned.
            page.remove_rotation()
        self.size = page.rect.width, page.rect.height
        self._fields = FilledFields(page)
        with self._fields.hidden():
            lines = page_lines(page)
        self._values = field_lines(self._fields.fields, lines, self.size)
        self.lines = lines + self._values

    def is_blank(self) -> bool:
        """Whether it draws nothing, or all its pixels have one colour; not where the library had its doubts."""
        page = self._page
        nothing = not page.get_bboxlog() and page.first_annot is None
        seen = not nothing and not page.get_pixmap(dpi=36, colorspace=pymupdf.csGRAY).is_unicolor
        return not seen and not pymupdf.TOOLS.mupdf_warnings()

    def image_share(self) -> float:
        """The share of it that its largest image covers."""
        page = self._page
        areas = [abs(pymupdf.Rect(image["bbox"]) & page.rect) for image in page.get_image_info()]
        return max(areas, default=0.0) / (abs(page.rect) or 1.0)

    def drawn(self, dpi: int) -> Image.Image:
        """A picture of it in RGB."""
        pixels = self._page.get_pixmap(dpi=dpi, colorspace=pymupdf.csRGB, alpha=False)
        return Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)

    def blocks(self) -> list[Block] | None:
        """Its text and tables in reading order."""
        try:
            grids, rest = page_tables(self._page, self.lines, self._words, self._tables, self._progress.extend)
        except _PYMUPDF_ERRORS:
            return None
        tables = [Block(self._number, grid.box, table=grid.rows) for grid in grids]
        return ordered_blocks(rest, self._number, self.size, tables)

    def _words(self) -> list[PlacedWord]:
        with self._fields.hidden():
            return page_words(self._page, self._values)


def _open(path: str) -> Any:
    remedy = CORRUPT_REMEDY
    try:
        document = pymupdf.open(path, filetype="pdf")
        if not document.is_pdf:
            raise DocumentError("corrupt", "the file is not a PDF, whatever its name or server says", remedy=remedy)
        if document.needs_pass:
            raise encrypted()
        count = document.page_count
    except _PYMUPDF_ERRORS as error:
        raise DocumentError("corrupt", f"the PDF cannot be opened ({type(error).__name__})", remedy=remedy) from None
    if document.is_repaired:
        if not has_end(path):
            message = f"the PDF is cut off: its end is missing, and an unknown number of pages after the first {count}"
            raise DocumentError("corrupt", message, remedy=remedy)
        lost = _declared_pages(document) - count
        if lost > 0:
            raise DocumentError("corrupt", f"the PDF is damaged: {lost} of its pages cannot be found", remedy=remedy)
    return document


def _declared_pages(document: Any) -> int:
    kind, value = document.xref_get_key(document.pdf_catalog(), "Pages/Count")
    return int(value) if kind == "int" else 0


def _metadata(document: Any) -> dict[str, Any]:
    stated = document.metadata or {}
    kind, language = document.xref_get_key(document.pdf_catalog(), "Lang")
    dates = stated.get("creationDate"), stated.get("modDate")
    return stated_metadata(stated.get("title"), stated.get("author"), *dates, language if kind == "string" else None)
