"""Plain text: paragraphs between blank lines, underlined headings, list items."""

import re
from pathlib import Path
from typing import Any

from schemas.names import ElementKind
from tasks.documents.cage_worker import Pages
from tasks.parse.elements import Elements, Row, parsed
from tasks.parse.encoding import decode

_BLANK = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)*\n|\f")
_UNDERLINE = re.compile(r"(=|-)\1{2,}")
_BULLET = re.compile(r"\s*[-*+•‣◦]\s+(?=\S)")


def parse_text(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements of a plain text file. A form feed parts paragraphs; it does not make pages."""
    text, encoding = decode(Path(path).read_bytes(), declared=declared)
    return parsed(text_elements(text), encoding=encoding) | {"parser": "text", "parser_version": "1"}


def text_elements(text: str) -> Elements:
    """Splits text into blocks. A line underlined with = or - is a heading of level 1 or 2.

    >>> [(e["kind"], e["text"]) for e in text_elements("Title\\n=====\\n\\none\\ntwo\\n\\n- a\\n- b\\n").rows]
    [('heading', 'Title'), ('paragraph', 'one\\ntwo'), ('list_item', 'a'), ('list_item', 'b')]
    """
    elements = Elements()
    for block in _BLANK.split(re.sub(r"\r\n?|\u2028|\u2029|\x85", "\n", text)):
        _add_block(elements, [line.rstrip() for line in block.split("\n") if line.strip()])
    return elements


def _add_block(elements: Elements, lines: list[str]) -> None:
    if len(lines) >= 2 and (mark := _UNDERLINE.fullmatch(lines[1].strip())) and len(lines[0].strip()) <= 200:
        elements.add(ElementKind.HEADING, lines[0].strip(), level=1 if mark.group(1) == "=" else 2)
        lines = lines[2:]
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or _BULLET.match(lines[end]):
            bullet = _BULLET.match(lines[start])
            text = "\n".join(line.strip() for line in lines[start:end])
            if bullet:
                elements.add(ElementKind.LIST_ITEM, _BULLET.sub("", text, count=1), level=1)
            else:
                elements.add(ElementKind.PARAGRAPH, text)
            start = end
