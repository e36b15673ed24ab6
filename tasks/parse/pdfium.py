"""PDF files, by PDFium: text, headings and lists, no tables. Needs nothing under the AGPL."""

import ctypes
from collections.abc import Sequence
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError
from tasks.parse.blocks import Block
from tasks.parse.elements import Row
from tasks.parse.lines import Line
from tasks.parse.pdf_pages import CORRUPT_REMEDY, PdfPage, encrypted, has_end, pdf_row, stated_metadata
from tasks.parse.pdfium_lines import page_lines
from tasks.parse.turns import ordered_blocks

_BLANK_DPI = 36
_END_WITHIN = 65_536


def parse_pdf(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements of a PDF file in reading order, page by page, and what its information dictionary declares.

    The cells of a table come out as text, row by row.

    Raises:
        DocumentError: `encrypted`, `corrupt`, `too_many_pages`, `empty_parse` (no pages), `no_text`.
    """
    document = open_document(path)
    try:
        document.init_forms()
        form = document.formenv

        def open_page(number: int) -> PdfPage | None:
            try:
                return PdfiumPage(document, number, form)
            except pypdfium2.PdfiumError:
                return None

        row = pdf_row(len(document), open_page, document_metadata(document), settings, pages)
    finally:
        document.close()
    return row | {"parser": "pypdfium2", "parser_version": f"{pypdfium2.PYPDFIUM_INFO}+{pypdfium2.PDFIUM_INFO}"}


class PdfiumPage(PdfPage):
    """A page as PDFium shows it, with the lines of its text layer: PDFium's own, or those that another reader found."""

    def __init__(self, document: Any, number: int, form: Any, lines: Sequence[Line] | None = None) -> None:
        self._number = number
        self._page = document[number - 1]
        self.size = self._page.get_size()
        self.lines = page_lines(self._page, form) if lines is None else lines

    def is_blank(self) -> bool:
        """Whether all its pixels have one colour."""
        low, high = self.drawn(_BLANK_DPI).convert("L").getextrema()
        return low == high

    def image_share(self) -> float:
        """The share of it that its largest image covers."""
        left, bottom, right, top = self._page.get_bbox()
        areas = []
        for image in self._page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE]):
            x0, y0, x1, y1 = image.get_bounds()
            areas.append(max(0.0, min(x1, right) - max(x0, left)) * max(0.0, min(y1, top) - max(y0, bottom)))
        return max(areas, default=0.0) / ((right - left) * (top - bottom) or 1.0)

    def drawn(self, dpi: int) -> Image.Image:
        """A picture of it in RGB."""
        picture: Image.Image = self._page.render(scale=dpi / 72).to_pil()
        return picture.convert("RGB")

    def blocks(self) -> list[Block] | None:
        """Its text in reading order."""
        return ordered_blocks(self.lines, self._number, self.size)


def open_document(path: str) -> Any:
    """Opens a file.

    Raises:
        DocumentError: `encrypted`, `corrupt`.
    """
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium.FPDF_ERR_PASSWORD:
            raise encrypted() from None
        raise DocumentError("corrupt", "the PDF cannot be opened", remedy=CORRUPT_REMEDY) from None
    if not has_end(path, _END_WITHIN):
        # PDFium mends what it can and says nothing of it.
        document.close()
        message = "the PDF is cut off: its end is missing, and an unknown number of pages with it"
        raise DocumentError("corrupt", message, remedy=CORRUPT_REMEDY)
    return document


def document_metadata(document: Any) -> dict[str, Any]:
    """What its information dictionary and its catalogue state, as `parsed` takes it."""
    stated = document.get_metadata_dict(skip_empty=True)
    length = pdfium.FPDFCatalog_GetLanguage(document.raw, None, 0)
    buffer = ctypes.create_string_buffer(max(length, 2))
    pdfium.FPDFCatalog_GetLanguage(document.raw, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), length)
    language = buffer.raw[: max(length - 2, 0)].decode("utf-16-le", "replace") or None
    dates = stated.get("CreationDate"), stated.get("ModDate")
    return stated_metadata(stated.get("Title"), stated.get("Author"), *dates, language)
