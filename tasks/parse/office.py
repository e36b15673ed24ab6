"""Office files (Office Open XML, OpenDocument text) and CSV, by docling.

Imported in workers of the cage only: docling takes seconds.
"""

import io
import os
from pathlib import Path
from typing import Any, ClassVar

from docling.backend.msword_backend import MsWordDocumentBackend
from docling.datamodel.backend_options import MsExcelBackendOptions
from docling.datamodel.base_models import DocumentStream, InputFormat
from docling.document_converter import (
    CsvFormatOption,
    DocumentConverter,
    ExcelFormatOption,
    FormatOption,
    OdtFormatOption,
    PowerpointFormatOption,
    WordFormatOption,
)
from docling_core.types.doc import DoclingDocument
from docx.text.paragraph import Paragraph

from tasks.documents.archives import open_archive
from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError
from tasks.installed import version
from tasks.parse.docling_elements import TreeOptions, read_document
from tasks.parse.elements import Elements, Row, parsed, part
from tasks.parse.encoding import decode
from tasks.parse.office_properties import declared_properties
from tasks.parse.text import parse_text
from tasks.parse.tracked_changes import accepted

os.environ["DOCLING_LIBREOFFICE_CMD"] = os.devnull
"""docling would start LibreOffice, where it finds one, to draw pictures that have no text for us."""


class _WholeParagraphs(MsWordDocumentBackend):
    """Word paragraphs in one piece: docling's own cut them where the type changes, and lose the white space there.

    It also notes the paragraphs that have the style of a caption, which docling makes ordinary text.
    """

    captions: ClassVar[set[str]] = set()
    """Those of the document that was read last; a worker reads one at a time."""

    def _get_paragraph_elements(self, paragraph: Paragraph) -> list[tuple[str, None, None]]:
        text = self._get_paragraph_text(paragraph).strip()
        if text and paragraph.style is not None and (paragraph.style.name or "").lower().startswith("caption"):
            self.captions.add(text)
        return [(text, None, None)]


def parse_docx(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements of a Word file. It has no pages until it is printed; page headers and footers are left out,
    tracked changes are accepted.

    Raises:
        DocumentError: `corrupt`, `encrypted`, `archive_limit`.
    """
    _WholeParagraphs.captions.clear()
    with open_archive(Path(path), settings["containers"]) as archive:
        data, properties = accepted(Path(path).read_bytes(), archive), declared_properties(archive)
    document = _convert(data, InputFormat.DOCX, WordFormatOption(backend=_WholeParagraphs))
    elements = Elements()
    captions = frozenset(_WholeParagraphs.captions)
    read_document(document, elements, TreeOptions(captions=captions, below_title=True))
    return _row(elements, properties)


def parse_odt(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements of an OpenDocument text; see `parse_docx`.

    Raises:
        DocumentError: `corrupt`, `encrypted`, `archive_limit`.
    """
    data, properties = _checked(path, settings)
    elements = Elements()
    read_document(
        _convert(data, InputFormat.ODT, OdtFormatOption()), elements, TreeOptions(below_title=True, spaced_runs=True)
    )
    return _row(elements, properties)


def parse_pptx(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements of a presentation, a page for each slide: its shapes, then its notes. Hidden slides are left out.

    Raises:
        DocumentError: `corrupt`, `encrypted`, `archive_limit`.
    """
    data, properties = _checked(path, settings)
    document = _convert(data, InputFormat.PPTX, PowerpointFormatOption())
    elements = Elements()
    found = read_document(document, elements, TreeOptions(paged=True))
    count = max(1, len(document.pages))
    return _row(elements, properties, pages=count, pages_without_output=found.without_output, pages_hidden=found.hidden)


def parse_xlsx(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The tables of a workbook, a page and a part for each sheet, below its name. Hidden sheets are left out.

    A block of filled cells is a table, its first row the header; a cell by itself is a paragraph. Cells hold what was
    calculated when the file was saved.

    Raises:
        DocumentError: `corrupt`, `encrypted`, `archive_limit`.
    """
    data, properties = _checked(path, settings)
    options = MsExcelBackendOptions(treat_singleton_as_text=True)
    document = _convert(data, InputFormat.XLSX, ExcelFormatOption(backend_options=options))
    elements = Elements()
    found = read_document(document, elements, TreeOptions(paged=True))
    return _row(
        elements,
        properties,
        pages=max(1, len(document.pages)),
        pages_without_output=found.without_output,
        pages_hidden=found.hidden,
        parts=[part(name, None, first_page=page) for page, name in found.sheets],
    )


def parse_csv(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """A CSV file as one table; the delimiter is found out, the first row is the header."""
    text, encoding = decode(Path(path).read_bytes(), declared=declared)
    try:
        document = _convert(text.encode(errors="replace"), InputFormat.CSV, CsvFormatOption())
    except DocumentError:
        # Quotes that do not close, most often: text with commas in it, and read as such.
        return parse_text(path, settings, declared, pages)
    elements = Elements()
    read_document(document, elements)
    return _row(elements, {}, encoding=encoding)


def _checked(path: str, settings: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """The bytes of an archive within the limits, and what it declares about itself."""
    with open_archive(Path(path), settings["containers"]) as archive:
        return Path(path).read_bytes(), declared_properties(archive)


def _convert(data: bytes, kind: InputFormat, option: FormatOption) -> DoclingDocument:
    converter = DocumentConverter(allowed_formats=[kind], format_options={kind: option})
    try:
        return converter.convert(DocumentStream(name=f"document.{kind.value}", stream=io.BytesIO(data))).document
    except Exception as error:  # noqa: BLE001  docling wraps whatever its parsers raise
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, MemoryError):
                raise MemoryError from None
            cause = cause.__cause__ or cause.__context__
        raise DocumentError(
            "corrupt",
            f"the file cannot be read as {kind.value.upper()} ({_innermost(error)})",
            remedy="open it in its own program: if it is damaged, fetch it again; if it opens there, report a defect",
        ) from None


def _innermost(error: BaseException) -> str:
    """The type of the first cause; its message may quote the document."""
    inner = error.__cause__ or error.__context__
    return _innermost(inner) if inner is not None else type(error).__name__


def _row(elements: Elements, properties: dict[str, Any], **more: Any) -> Row:
    return parsed(elements, **properties, **more) | {"parser": "docling", "parser_version": version("docling-slim")}
