"""Rich Text Format, by striprtf: paragraphs and tables; it knows no headings."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from striprtf.striprtf import font_table_group, rtf_to_text

from schemas.names import ElementKind
from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError
from tasks.installed import version
from tasks.parse.elements import Elements, Row, parsed
from tasks.parse.rtf_notes import MARK, part_notes
from tasks.parse.tables import Cell

_BULLET = re.compile(r"[·•▪◦\uf0b7][ \t]+(?=\S)")
_DATE = re.compile(r"\\yr(\d{4})(?:\\mo(\d{1,2}))?(?:\\dy(\d{1,2}))?")


def parse_rtf(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The paragraphs, tables and notes of an RTF file, less what is hidden or deleted.

    Rows are told by the `|` that striprtf sets after each cell.

    Raises:
        DocumentError: `corrupt`.
    """
    source = Path(path).read_bytes().decode("latin-1")
    try:
        parted = part_notes(source, font_table_group(source))  # type: ignore[no-untyped-call]
        text, notes = _plain(parted.text), [_plain(note) for note in parted.notes]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise DocumentError(
            "corrupt",
            f"the file cannot be read as RTF ({type(error).__name__})",
            remedy="open it in a word processor and save it again, or as DOCX",
        ) from None
    row = parsed(
        rtf_elements(text, notes),
        title=_declared(source, "title"),
        authors=[_declared(source, "author") or ""],
        published=_date(source, "creatim"),
        modified=_date(source, "revtim"),
    )
    return row | {"parser": "striprtf", "parser_version": version("striprtf")}


def rtf_elements(text: str, notes: Sequence[str] = ()) -> Elements:
    r"""Lines of striprtf's text as elements; lines that end with `|` are rows of a table.

    A note follows the paragraph or the table that has its `MARK`.

    >>> [(e["kind"], e["text"]) for e in rtf_elements("One\n· two\na|b|\nc|d|\n").rows]
    [('paragraph', 'One'), ('list_item', 'two'), ('table', 'a\tb\nc\td')]
    """
    elements = Elements()
    rows: list[list[Cell]] = []
    waiting, noted = iter(notes), 0
    for marked in [*text.split("\n"), ""]:
        line = marked.replace(MARK, "")
        noted += len(marked) - len(line)
        if line.rstrip().endswith("|"):
            rows.append([Cell(" ".join(cell.split())) for cell in line.rstrip()[:-1].split("|")])
            continue
        if rows:
            elements.add_table(rows)
            rows = []
            here = len(marked) - len(line)
            _add_notes(elements, islice(waiting, noted - here))
            noted = here
        bullet = _BULLET.match(line.strip())
        if bullet:
            elements.add(ElementKind.LIST_ITEM, line.strip()[bullet.end() :], level=1)
        else:
            elements.add(ElementKind.PARAGRAPH, line.strip())
        _add_notes(elements, islice(waiting, noted))
        noted = 0
    _add_notes(elements, waiting)
    return elements


def _add_notes(elements: Elements, notes: Iterable[str]) -> None:
    for note in notes:
        elements.add(ElementKind.FOOTNOTE, " ".join(note.replace(MARK, "").split()))


def _plain(source: str) -> str:
    text: str = rtf_to_text(source, errors="replace")  # type: ignore[no-untyped-call]
    return text


def _declared(source: str, name: str) -> str | None:
    """A text of the `info` group."""
    match = re.search(rf"\{{\\{name} ?((?:[^{{}}\\]|\\['u][0-9a-f?-]+ ?)*)\}}", source[:200_000])
    return _plain("{\\rtf1 " + match[1] + "}").strip() or None if match else None


def _date(source: str, name: str) -> str | None:
    match = re.search(rf"\{{\\{name}([^{{}}]*)\}}", source[:200_000])
    stated = _DATE.match(match[1]) if match else None
    if not stated:
        return None
    return "-".join(part.zfill(2) for part in stated.groups() if part)
