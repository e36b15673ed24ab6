"""PDF files, by docling: its native pipeline reads lines of text, its full one finds headings and tables by models.

Imported in workers of the cage only: docling takes seconds. Pages are drawn by PDFium, for OCR and to tell blank ones.
"""

import io
import os
from pathlib import Path
from typing import Any

from docling.datamodel.base_models import DocumentStream, InputFormat
from docling.datamodel.pipeline_options import NativePdfPipelineOptions
from docling.document_converter import DocumentConverter, FormatOption, NativePdfFormatOption, PdfFormatOption
from docling_core.types.doc import CoordOrigin, DoclingDocument, TextItem

from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError
from tasks.installed import version
from tasks.parse.docling_elements import TreeOptions, read_document
from tasks.parse.elements import Elements, Row, parsed
from tasks.parse.lines import Line
from tasks.parse.pdf_pages import PdfPage, pdf_row
from tasks.parse.pdfium import PdfiumPage, document_metadata, open_document

os.environ["HF_HUB_OFFLINE"] = "1"
"""Model files are looked for on this machine only."""

_HEIGHT_TO_SIZE = 0.9
"""Type size for the height of a line's box, which reaches from the font's ascender to its descender."""


def parse_native(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements of a PDF file by its text layer, put in order and told apart by geometry; see `pdfium.parse_pdf`.

    Raises:
        DocumentError: `encrypted`, `corrupt`, `too_many_pages`, `empty_parse` (no pages), `no_text`.
    """
    options = NativePdfPipelineOptions(parser_threads=1, generate_page_images=False, generate_picture_images=False)
    converter = _converter(NativePdfFormatOption(pipeline_options=options))
    document = open_document(path)
    try:
        document.init_forms()
        form = document.formenv
        data = Path(path).read_bytes()

        def open_page(number: int) -> PdfPage | None:
            read = _converted(converter, data, number)
            return PdfiumPage(document, number, form, _lines(read, number)) if read else None

        row = pdf_row(len(document), open_page, document_metadata(document), settings, pages)
    finally:
        document.close()
    return row | {"parser": "docling", "parser_version": version("docling-slim")}


def parse_with_models(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements of a PDF file by docling's layout and table models, page by page, without its OCR.

    A page that gives nothing is a page without output, also where it is blank.

    Raises:
        DocumentError: `encrypted`, `corrupt`, `too_many_pages`, `no_text`, `models_missing`.
    """
    option = PdfFormatOption()
    if option.pipeline_options is not None:
        option.pipeline_options = option.pipeline_options.model_copy(update={"do_ocr": False})
    converter = _converter(option)
    document = open_document(path)
    try:
        count, metadata = len(document), document_metadata(document)
    finally:
        document.close()
    if count > settings["max_pages"]:
        raise DocumentError("too_many_pages", f"the PDF has {count} pages", remedy="raise max_pages")
    try:
        converter.initialize_pipeline(InputFormat.PDF)
    except (OSError, RuntimeError, ValueError) as error:
        raise DocumentError(
            "models_missing",
            f"docling cannot load its models ({type(error).__name__})",
            remedy="run `docling-tools models download` once, or name their folder in DOCLING_ARTIFACTS_PATH",
        ) from None
    data = Path(path).read_bytes()
    elements = Elements()
    missing = []
    for number in range(1, count + 1):
        before = len(elements.rows)
        if pages.enter(number):
            pages.extend()
            if read := _converted(converter, data, number):
                read_document(read, elements, TreeOptions(placed=True))
        if len(elements.rows) == before:
            missing.append(number)
    pages.done()
    if not elements.rows:
        raise DocumentError("no_text", f"docling found no text on {count} pages", remedy="run OCR over the file")
    row = parsed(elements, pages=count, pages_without_output=missing, **metadata)
    return row | {"parser": "docling-models", "parser_version": version("docling")}


def _converter(option: FormatOption) -> DocumentConverter:
    return DocumentConverter(allowed_formats=[InputFormat.PDF], format_options={InputFormat.PDF: option})


def _converted(converter: DocumentConverter, data: bytes, number: int) -> DoclingDocument | None:
    """What docling makes of one page; null where it cannot read it."""
    try:
        source = DocumentStream(name="document.pdf", stream=io.BytesIO(data))
        return converter.convert(source, page_range=(number, number)).document
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  docling wraps whatever its parsers raise
        return None


def _lines(document: DoclingDocument, number: int) -> list[Line]:
    height = document.pages[number].size.height if number in document.pages else 0.0
    lines = []
    for item in document.texts:
        if isinstance(item, TextItem) and item.text.strip() and item.prov:
            box = item.prov[0].bbox
            if box.coord_origin == CoordOrigin.BOTTOMLEFT:
                box = box.to_top_left_origin(height)
            size = round(2 * _HEIGHT_TO_SIZE * (box.b - box.t)) / 2
            lines.append(Line(item.text.strip(), (box.l, box.t, box.r, box.b), size, False, False, False, 0))
    return lines
