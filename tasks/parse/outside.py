"""The output of another parser, read into elements: Markdown, HTML, or a list of elements."""

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from schemas.names import ElementKind
from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError
from tasks.parse.elements import Elements, Row, parsed
from tasks.parse.encoding import decode
from tasks.parse.html_blocks import add_blocks, add_fragment, parse_tree
from tasks.parse.markdown import front_matter, markdown_elements
from tasks.parse.tables import Cell, table_html


class OutsideElement(BaseModel):
    """One element as another parser reports it; a table has `html`, or lines of cells parted by tabs as `text`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: ElementKind
    text: str = ""
    html: str | None = None
    level: Annotated[int, Field(ge=1, le=6)] | None = None
    page: Annotated[int, Field(ge=1)] | None = None
    bbox: tuple[float, float, float, float] | None = None


_ELEMENTS = TypeAdapter(list[OutsideElement])


def parse_outside(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements that another parser found in a document.

    `settings["outside"]` holds `kind`, `files` ([page, path] each; page 0 is the whole document) and `media_type`, as
    the stage looked them up. Where the files know pages, a page of the PDF for which there is none, or an empty one, is
    a page without output.

    Raises:
        DocumentError: `outside_invalid`, `too_many_pages`.
    """
    given = settings["outside"]
    files = {page: Path(file) for page, file in given["files"]}
    elements = Elements()
    for page, file in sorted(files.items()):
        if page == 0 or pages.enter(page):
            _add(elements, given["kind"], file, page or None)
    pages.done()
    with_output = {row["page"] for row in elements.rows if row["page"] is not None}
    paged = bool(with_output) or 0 not in files
    count = max([1, *with_output, *files, _pages_in(path, given["media_type"]) if paged else 1])
    if count > settings["max_pages"]:
        raise DocumentError(
            "too_many_pages",
            f"the document has {count} pages, more than max_pages = {settings['max_pages']}",
            remedy="raise max_pages in the settings of parse, or split the document",
        )
    missing = [page for page in range(1, count + 1) if page not in with_output] if paged else []
    row = parsed(elements, pages=count, pages_without_output=missing)
    return row | {"parser": f"outside ({given['kind']})", "parser_version": "1"}


def _add(elements: Elements, kind: str, file: Path, page: int | None) -> None:
    if kind == "elements":
        _add_listed(elements, file)
        return
    text, _ = decode(file.read_bytes(), declared=None, markup=kind == "html")
    part = Elements()
    if kind == "html":
        root = parse_tree(text)
        if root is not None:
            add_blocks(part, root)
    else:
        part = markdown_elements(front_matter(text.replace("\r\n", "\n"))[0])
    for row in part.rows:
        copied = {name: row[name] for name in ("level", "html", "anchor")}
        elements.add(ElementKind(row["kind"]), row["text"], page=page, **copied)


def _add_listed(elements: Elements, file: Path) -> None:
    try:
        data = json.loads(file.read_bytes())
        listed = _ELEMENTS.validate_python(data["elements"] if isinstance(data, dict) else data)
    except (ValueError, KeyError, RecursionError) as error:
        first = error.errors(include_input=False, include_url=False)[0] if isinstance(error, ValidationError) else None
        where = f": {'.'.join(map(str, first['loc']))}: {first['type']}" if first else f" ({type(error).__name__})"
        raise DocumentError(
            "outside_invalid",
            f"the other parser's output is no list of elements{where}",
            remedy="write a JSON list of objects with kind, text and, for tables, html; see docs/own-corpus.md",
        ) from None
    for element in listed:
        if element.kind is ElementKind.TABLE and element.html:
            cells = Elements()
            add_fragment(cells, element.html)
            # A table that is read as a page's layout comes out as its blocks: nothing of it is lost.
            for row in cells.rows:
                kind, text, html = ElementKind(row["kind"]), row["text"], row["html"]
                elements.add(kind, text, level=row["level"], html=html, page=element.page, bbox=element.bbox)
            continue
        html = table_html(_cells(element.text)) if element.kind is ElementKind.TABLE else None
        elements.add(element.kind, element.text, level=element.level, html=html, page=element.page, bbox=element.bbox)


def _cells(text: str) -> list[list[Cell]]:
    return [[Cell(cell) for cell in line.split("\t")] for line in text.split("\n")]


def _pages_in(path: str, media_type: str) -> int:
    """The pages of the document itself, where it is a PDF that opens; else 1."""
    if media_type != "application/pdf":
        return 1
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return 1
    try:
        return len(document)
    finally:
        document.close()
