"""Markdown (CommonMark with tables, footnotes and front matter), by markdown-it-py."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import markdown_it
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from schemas.names import ElementKind
from tasks.documents.cage_worker import Pages
from tasks.parse.elements import Elements, Row, parsed
from tasks.parse.encoding import decode
from tasks.parse.html_blocks import add_fragment
from tasks.parse.markdown_notes import with_footnotes
from tasks.parse.tables import Cell

_FRONT_MATTER = re.compile(r"---[^\S\n]*\n(.*?)\n(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL)


def parse_markdown(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The elements of a Markdown file, and what its front matter declares."""
    text, encoding = decode(Path(path).read_bytes(), declared=declared)
    text, front = front_matter(text.replace("\r\n", "\n"))
    row = parsed(
        markdown_elements(text),
        encoding=encoding,
        title=_scalar(front.get("title")),
        authors=_names(front.get("author") or front.get("authors")),
        published=_scalar(front.get("date") or front.get("published")),
        modified=_scalar(front.get("lastmod") or front.get("updated") or front.get("modified")),
        language=_scalar(front.get("lang") or front.get("language")),
    )
    return row | {"parser": "markdown-it", "parser_version": markdown_it.__version__}


def markdown_elements(text: str) -> Elements:
    r"""Splits Markdown into elements; text is without the marks of inline markup.

    >>> [(e["kind"], e["level"], e["text"]) for e in markdown_elements("# A *b*\n\n- x\n  - y\n").rows]
    [('heading', 1, 'A b'), ('list_item', 1, 'x'), ('list_item', 2, 'y')]
    """
    elements = Elements()
    parser = with_footnotes(MarkdownIt("commonmark").enable(["table", "strikethrough"]))
    tokens = parser.parse(text)
    lists = 0
    plain, around = ElementKind.PARAGRAPH, 0  # `around`: the lists around the note that is being read
    item: list[str] | None = None  # the paragraphs of the list item that is being read
    rows: list[list[Cell]] = []

    def flush() -> None:
        nonlocal item
        if item:
            elements.add(ElementKind.LIST_ITEM, "\n".join(item), level=lists)
        item = [] if item is not None else None

    for i, token in enumerate(tokens):
        kind = token.type
        if kind in {"footnote_open", "footnote_close"}:
            flush()
            opens = kind == "footnote_open"
            plain = ElementKind.FOOTNOTE if opens else ElementKind.PARAGRAPH
            around, lists = (lists, 0) if opens else (0, around)
            item = [] if lists else None
        elif kind in {"bullet_list_open", "ordered_list_open"}:
            flush()
            lists += 1
        elif kind in {"bullet_list_close", "ordered_list_close"}:
            lists -= 1
            item = [] if lists else None
        elif kind in {"list_item_open", "list_item_close"}:
            flush()
            item = []
        elif kind == "inline":
            words = inline_text(token.children or [])
            before = tokens[i - 1]
            if before.type in {"th_open", "td_open"}:
                rows[-1].append(Cell(" ".join(words.split()), header=before.type == "th_open"))
            elif before.type == "heading_open":
                flush()
                elements.add(ElementKind.HEADING, words, level=int(before.tag[1]))
            elif item is not None:
                item.append(words)
            else:
                elements.add(plain, words)
        elif kind == "tr_open":
            rows.append([])
        elif kind == "table_close":
            flush()
            elements.add_table(rows)
            rows = []
        elif kind in {"fence", "code_block"}:
            flush()
            elements.add(ElementKind.CODE, token.content.rstrip("\n"))
        elif kind == "html_block":
            flush()
            add_fragment(elements, token.content)
    return elements


def inline_text(children: Sequence[Token]) -> str:
    """The words of inline tokens; an image gives its description, a hard break a line end."""
    parts = []
    for child in children:
        if child.type in {"text", "code_inline"}:
            parts.append(child.content)
        elif child.type == "softbreak":
            parts.append(" ")
        elif child.type == "hardbreak" or (child.type == "html_inline" and child.content.lower().startswith("<br")):
            parts.append("\n")
        elif child.type == "image":
            parts.append(inline_text(child.children or []))
    return "".join(parts)


def front_matter(text: str) -> tuple[str, dict[str, Any]]:
    """The text without its front matter, and what that declares."""
    match = _FRONT_MATTER.match(text)
    if not match:
        return text, {}
    try:
        front = yaml.safe_load(match.group(1))
    except yaml.YAMLError:
        return text, {}  # two rules with text between them, not front matter
    return (text[match.end() :], front) if isinstance(front, dict) else (text, {})


def _scalar(value: Any) -> str | None:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return str(value) if isinstance(value, (str, int, float)) else None


def _names(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in values]
    return [name for name in names if isinstance(name, str)]
