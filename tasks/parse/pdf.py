"""PDF files, by PyMuPDF."""

import re
from pathlib import Path
from typing import Any

import pymupdf
from PIL import Image

from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError
from tasks.parse.block_elements import elements_of
from tasks.parse.blocks import Block, paragraphs
from tasks.parse.elements import Row, parsed
from tasks.parse.ocr import drawing_dpi, engine_of, needs_ocr, no_text, ocr_blocks
from tasks.parse.ocr_settings import OcrSettings
from tasks.parse.order import reading_order
from tasks.parse.pdf_lines import page_lines
from tasks.parse.pdf_tables import page_tables

pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)
pymupdf.no_recommend_layout()

_PYMUPDF_ERRORS = (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError, AssertionError)
"""What PyMuPDF raises on damaged files; its own errors derive from these."""

_DATE = re.compile(r"D?:?\s*(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?\s*(Z|[+-]\d\d'?\d\d)?")


def parse_pdf(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements of a PDF file in reading order, page by page, and what its information dictionary declares.

    Raises:
        DocumentError: `encrypted`, `corrupt`, `too_many_pages`, `empty_parse` (no pages), `no_text`.
    """
    with _open(path) as document:
        count = document.page_count
        if count == 0:
            raise DocumentError("empty_parse", "the PDF has no pages", remedy="ask the source for the file again")
        if count > settings["max_pages"]:
            raise DocumentError(
                "too_many_pages",
                f"the PDF has {count} pages, more than max_pages = {settings['max_pages']}",
                remedy="raise max_pages in the settings of parse, or split the document",
            )
        blocks: list[Block] = []
        heights: dict[int, float] = {}
        missing = []
        ocr = OcrSettings.model_validate(settings["ocr"])
        for number in range(1, count + 1):
            entered = pages.enter(number)
            found = _page_blocks(document, number, settings["tables"], ocr, heights, pages) if entered else None
            if found is None:
                missing.append(number)
            else:
                blocks += found
        pages.done()
        elements = elements_of(blocks, count, heights)
        if not elements.rows and missing:
            raise no_text(count, ocr)
        row = parsed(elements, pages=count, pages_without_output=missing, **_metadata(document))
    return row | {"parser": "pymupdf", "parser_version": pymupdf.VersionBind}


def _open(path: str) -> Any:
    remedy = "fetch the file again, or repair it (for instance with qpdf) and replace it in the source"
    try:
        document = pymupdf.open(path, filetype="pdf")
        if not document.is_pdf:
            raise DocumentError("corrupt", "the file is not a PDF, whatever its name or server says", remedy=remedy)
        if document.needs_pass:
            raise DocumentError(
                "encrypted",
                "the PDF needs a password to be read",
                remedy="remove the password and replace the file in the source",
            )
        count = document.page_count
    except _PYMUPDF_ERRORS as error:
        raise DocumentError("corrupt", f"the PDF cannot be opened ({type(error).__name__})", remedy=remedy) from None
    if document.is_repaired:
        if not _has_end(path):
            message = f"the PDF is cut off: its end is missing, and an unknown number of pages after the first {count}"
            raise DocumentError("corrupt", message, remedy=remedy)
        lost = _declared_pages(document) - count
        if lost > 0:
            raise DocumentError("corrupt", f"the PDF is damaged: {lost} of its pages cannot be found", remedy=remedy)
    return document


def _has_end(path: str) -> bool:
    with Path(path).open("rb") as file:
        file.seek(max(0, Path(path).stat().st_size - 2048))
        return b"%%EOF" in file.read()


def _declared_pages(document: Any) -> int:
    kind, value = document.xref_get_key(document.pdf_catalog(), "Pages/Count")
    return int(value) if kind == "int" else 0


def _page_blocks(
    document: Any, number: int, tables: str, ocr: OcrSettings, heights: dict[int, float], pages: Pages
) -> list[Block] | None:
    """The blocks of a page; null where the page is not blank and gives no text, or cannot be read."""
    pymupdf.TOOLS.reset_mupdf_warnings()
    try:
        page = document.load_page(number - 1)
        if page.rotation:
            # Coordinates are those of the page as drawn; the reader sees it turned.
            page.remove_rotation()
        lines = page_lines(page)
        heights[number] = page.rect.height
        if not lines and _is_blank(page):
            return None if pymupdf.TOOLS.mupdf_warnings() else []
        if engine_of(ocr) and (not lines or needs_ocr(lines, lambda: _image_share(page), ocr)):
            pages.extend()
            image, points_per_pixel = _drawn(page, ocr)
            if recognized := ocr_blocks(image, number, points_per_pixel, ocr):
                return recognized
        if not lines:
            return None
        grids, rest = page_tables(page, lines, tables)
    except _PYMUPDF_ERRORS:
        return None
    blocks = [block for group in reading_order(rest) for block in paragraphs(group, number)]
    for grid in grids:
        # A table stands before the first block that begins below its top in a column that it touches.
        table = Block(number, grid.box, table=grid.rows)
        place = next((i for i, block in enumerate(blocks) if _follows(block.box, grid.box)), len(blocks))
        blocks.insert(place, table)
    return blocks


def _drawn(page: Any, ocr: OcrSettings) -> tuple[Image.Image, float]:
    """The page as an image, and how many points a pixel is."""
    dpi = drawing_dpi(page.rect.width, page.rect.height, ocr)
    pixels = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csRGB, alpha=False)
    return Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples), 72 / dpi


def _image_share(page: Any) -> float:
    """The share of the page that its largest image covers."""
    areas = [abs(pymupdf.Rect(image["bbox"]) & page.rect) for image in page.get_image_info()]
    return max(areas, default=0.0) / (abs(page.rect) or 1.0)


def _follows(box: tuple[float, ...], table: tuple[float, ...]) -> bool:
    return box[1] >= table[1] and box[0] < table[2] and box[2] > table[0]


def _is_blank(page: Any) -> bool:
    """Whether nothing can be seen on a page: it draws nothing, or all its pixels have one colour."""
    if not page.get_bboxlog() and page.first_annot is None:
        return True
    return bool(page.get_pixmap(dpi=36, colorspace=pymupdf.csGRAY).is_unicolor)


def _metadata(document: Any) -> dict[str, Any]:
    stated = document.metadata or {}
    kind, language = document.xref_get_key(document.pdf_catalog(), "Lang")
    return {
        "title": stated.get("title"),
        "authors": re.split(r"\s*;\s*", stated.get("author") or ""),
        "published": pdf_date(stated.get("creationDate")),
        "modified": pdf_date(stated.get("modDate")),
        "language": language if kind == "string" else None,
    }


def pdf_date(value: str | None) -> str | None:
    """A PDF date as ISO 8601, as precise as it is stated.

    >>> pdf_date("D:20240229120000+01'00'"), pdf_date("D:202402"), pdf_date("yesterday")
    ('2024-02-29T12:00:00+01:00', '2024-02', None)
    """
    match = _DATE.match(value or "")
    if not match:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    day_part = "-".join(part for part in (year, month, day) if part)
    if not (day and hour):
        return day_part
    offset = "" if not zone else "Z" if zone == "Z" else f"{zone[:3]}:{zone[-2:]}"
    return f"{day_part}T{hour}:{minute}:{second or '00'}{offset}"
