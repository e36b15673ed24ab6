"""Collecting the elements of one document in reading order; a document may have parts (sheets, attachments)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from schemas.names import ElementKind, TextSource
from tasks.parse.tables import Rows, table_html, table_text

Row: TypeAlias = dict[str, Any]

_SURROGATES = re.compile("[\ud800-\udfff]")


class Elements:
    """Numbers elements, gives each its section path, and leaves out those without text."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.part: str | None = None
        self._headings: list[tuple[int, str]] = []

    def add(
        self,
        kind: ElementKind,
        text: str,
        *,
        level: int | None = None,
        html: str | None = None,
        page: int | None = None,
        bbox: Sequence[float] | None = None,
        anchor: str | None = None,
        source: TextSource | None = None,
    ) -> None:
        """Adds an element; text of white space only adds nothing."""
        text = storable(text)
        if not text.strip():
            return
        if kind is ElementKind.HEADING:
            level = level or 1
            self._headings = [heading for heading in self._headings if heading[0] < level]
        self.rows.append(
            {
                "element_id": len(self.rows),
                "kind": kind.value,
                "level": level,
                "text": text,
                "html": storable(html) if html is not None else None,
                "page": page,
                "bbox": [float(edge) for edge in bbox] if bbox is not None else None,
                "anchor": storable(anchor) if anchor else None,
                "source": source.value if source else None,
                "section_path": [title for _, title in self._headings],
                "part": self.part,
            }
        )
        if kind is ElementKind.HEADING:
            self._headings.append((level or 1, " ".join(text.split())))

    def add_table(
        self,
        rows: Rows,
        *,
        page: int | None = None,
        bbox: Sequence[float] | None = None,
        anchor: str | None = None,
        source: TextSource | None = None,
    ) -> None:
        """Adds a table; one without any text in its cells adds nothing."""
        html = table_html(rows)
        self.add(ElementKind.TABLE, table_text(rows), html=html, page=page, bbox=bbox, anchor=anchor, source=source)

    def begin_part(self, name: str, title: str, *, level: int = 1, page: int | None = None) -> None:
        """What follows belongs to the part of this name.

        Its title stands there as a heading, so that it heads the section path of all that the part holds.
        """
        self.part = storable(name)
        self.add(ElementKind.HEADING, title, level=level, page=page)

    def add_parsed(self, row: Mapping[str, Any], *, level: int, first_page: int) -> None:
        """Adds the elements of a file that is a part of this document, below a heading of `level`."""
        name = self.part
        for element in row["elements"]:
            inner = element["part"]
            self.part = inner_name(name, inner) if inner else name
            heading = element["kind"] == ElementKind.HEADING
            self.add(
                ElementKind(element["kind"]),
                element["text"],
                level=element["level"] + level if heading else element["level"],
                html=element["html"],
                page=first_page + (element["page"] or 1) - 1,
                bbox=element["bbox"],
                anchor=element["anchor"],
                source=TextSource(element["source"]) if element["source"] else None,
            )
        self.part = name


def inner_name(part: str | None, inner: str) -> str:
    """The name of a part of a part.

    >>> inner_name("plan.xlsx", "Costs"), inner_name(None, "Costs")
    ('plan.xlsx / Costs', 'Costs')
    """
    return f"{part} / {inner}" if part else inner


def storable(text: str) -> str:
    """Text that UTF-8 can hold: lone surrogates become U+FFFD.

    >>> storable("a" + chr(0xD800)) == "a" + chr(0xFFFD)
    True
    """
    return _SURROGATES.sub("\ufffd", text)


def parsed(
    elements: Elements,
    *,
    pages: int = 1,
    pages_without_output: Sequence[int] = (),
    pages_hidden: Sequence[int] = (),
    encoding: str | None = None,
    title: str | None = None,
    authors: Sequence[str] = (),
    published: str | None = None,
    modified: str | None = None,
    language: str | None = None,
    parts: Sequence[Row] = (),
) -> Row:
    """A row of the `PARSE` schema, less its document and parser."""
    return {
        "pages": pages,
        "pages_without_output": list(pages_without_output),
        "encoding": encoding,
        "meta_title": _one_line(title),
        "meta_authors": [name for name in dict.fromkeys(_one_line(author) for author in authors) if name],
        "meta_published": iso_date(published),
        "meta_modified": iso_date(modified),
        "meta_language": _one_line(language),
        "parts": list(parts) or None,
        "elements": elements.rows,
        "pages_hidden": list(pages_hidden) or None,
    }


def part(name: str, media_type: str | None, *, first_page: int, pages: int = 1, error_class: str | None = None) -> Row:
    """What is known of a part: pages [first_page, first_page + pages) of the document are its own."""
    return {
        "name": storable(name),
        "media_type": media_type,
        "first_page": first_page,
        "pages": pages,
        "error_class": error_class,
    }


def iso_date(value: str | None) -> str | None:
    """The value where it begins with an ISO 8601 date (year, month, day at will), else null.

    >>> iso_date("2024-05-01T10:00:00+02:00"), iso_date("2024-13"), iso_date("May 2024")
    ('2024-05-01T10:00:00+02:00', None, None)
    """
    match = re.fullmatch(
        r"\d{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01])(?:[T ]\d\d:?\d\d.*)?)?)?", (value or "").strip()
    )
    return match.group().strip() if match else None


def _one_line(value: str | None) -> str | None:
    return " ".join(storable(value).split()) or None if value else None
