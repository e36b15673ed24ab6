"""What every reader of PDF files shares: the way from pages to elements, and which pages need OCR."""

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from PIL.Image import Image

from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError
from tasks.parse.block_elements import elements_of
from tasks.parse.blocks import Block
from tasks.parse.elements import Row, parsed
from tasks.parse.lines import Line
from tasks.parse.ocr import drawing_dpi, engine_of, needs_ocr, no_text, ocr_blocks
from tasks.parse.ocr_settings import OcrSettings

CORRUPT_REMEDY = "fetch the file again, or repair it (for instance with qpdf) and replace it in the source"

_DATE = re.compile(r"D?:?\s*(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?\s*(Z|[+-]\d\d'?\d\d)?")


class PdfPage(Protocol):
    """One page as a library shows it, upright as a viewer would, in points from the top left."""

    size: tuple[float, float]
    lines: Sequence[Line]

    @abstractmethod
    def is_blank(self) -> bool:
        """Whether nothing can be seen on it."""

    @abstractmethod
    def image_share(self) -> float:
        """The share of it that its largest image covers."""

    @abstractmethod
    def drawn(self, dpi: int) -> Image:
        """A picture of it in RGB."""

    @abstractmethod
    def blocks(self) -> list[Block] | None:
        """The blocks of its text layer in reading order; null where it cannot be read."""


def pdf_row(
    count: int,
    open_page: Callable[[int], PdfPage | None],
    metadata: Mapping[str, Any],
    settings: Mapping[str, Any],
    pages: Pages,
) -> Row:
    """The row of a document with `count` pages; `open_page` gives null for a page that cannot be read.

    Raises:
        DocumentError: `too_many_pages`, `empty_parse` (no pages), `no_text`.
    """
    if count == 0:
        raise DocumentError("empty_parse", "the PDF has no pages", remedy="ask the source for the file again")
    if count > settings["max_pages"]:
        raise DocumentError(
            "too_many_pages",
            f"the PDF has {count} pages, more than max_pages = {settings['max_pages']}",
            remedy="raise max_pages in the settings of parse, or split the document",
        )
    ocr = OcrSettings.model_validate(settings["ocr"])
    blocks: list[Block] = []
    heights: dict[int, float] = {}
    missing = []
    for number in range(1, count + 1):
        page = open_page(number) if pages.enter(number) else None
        found = _page_blocks(page, number, ocr, pages) if page else None
        if page is None or found is None:
            missing.append(number)
        else:
            heights[number] = page.size[1]
            blocks += found
    pages.done()
    elements = elements_of(blocks, count, heights)
    if not elements.rows and missing:
        raise no_text(count, ocr)
    return parsed(elements, pages=count, pages_without_output=missing, **metadata)


def encrypted() -> DocumentError:
    """The error of a file that does not open without a password."""
    remedy = "remove the password and replace the file in the source"
    return DocumentError("encrypted", "the PDF needs a password to be read", remedy=remedy)


def has_end(path: str, within: int = 2048) -> bool:
    """Whether the mark of a PDF's end stands in its last bytes; a file that was cut off has none."""
    with Path(path).open("rb") as file:
        file.seek(max(0, Path(path).stat().st_size - within))
        return b"%%EOF" in file.read()


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


def stated_metadata(
    title: str | None, author: str | None, created: str | None, modified: str | None, language: str | None
) -> dict[str, Any]:
    """What a file's information dictionary states, as `parsed` takes it; authors are parted by semicolons."""
    return {
        "title": title,
        "authors": re.split(r"\s*;\s*", author or ""),
        "published": pdf_date(created),
        "modified": pdf_date(modified),
        "language": language,
    }


def _page_blocks(page: PdfPage, number: int, ocr: OcrSettings, pages: Pages) -> list[Block] | None:
    """The blocks of a page, by OCR where its text layer is no use; null where it shows something and gives no text."""
    if not page.lines and page.is_blank():
        return []
    if engine_of(ocr) and (not page.lines or needs_ocr(page.lines, page.image_share, ocr)):
        pages.extend()
        dpi = drawing_dpi(*page.size, ocr)
        if recognized := ocr_blocks(page.drawn(dpi), number, 72 / dpi, ocr):
            return recognized
    return page.blocks() if page.lines else None
