"""Collecting the elements of one document in reading order."""

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from schemas.names import ElementKind
from tasks.parse.tables import Rows, table_html, table_text

Row: TypeAlias = dict[str, Any]

_SURROGATES = re.compile("[\ud800-\udfff]")


class Elements:
    """Numbers elements, gives each its section path, and leaves out those without text."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
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
                "section_path": [title for _, title in self._headings],
            }
        )
        if kind is ElementKind.HEADING:
            self._headings.append((level or 1, " ".join(text.split())))

    def add_table(
        self, rows: Rows, *, page: int | None = None, bbox: Sequence[float] | None = None, anchor: str | None = None
    ) -> None:
        """Adds a table; one without any text in its cells adds nothing."""
        self.add(ElementKind.TABLE, table_text(rows), html=table_html(rows), page=page, bbox=bbox, anchor=anchor)


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
    encoding: str | None = None,
    title: str | None = None,
    authors: Sequence[str] = (),
    published: str | None = None,
    modified: str | None = None,
    language: str | None = None,
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
        "elements": elements.rows,
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
