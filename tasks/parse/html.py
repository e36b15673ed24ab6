"""HTML pages, by lxml."""

from pathlib import Path
from typing import Any

from lxml import etree

from tasks.documents.cage_worker import Pages
from tasks.parse.elements import Elements, Row, parsed
from tasks.parse.encoding import decode
from tasks.parse.html_blocks import add_blocks, parse_tree
from tasks.parse.html_metadata import page_metadata


def parse_html(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The visible blocks of a page, and what its head declares."""
    text, encoding = decode(Path(path).read_bytes(), declared=declared, markup=True)
    elements = Elements()
    root = parse_tree(text)
    metadata: dict[str, Any] = {}
    if root is not None:
        add_blocks(elements, root)
        metadata = page_metadata(root)
    version = ".".join(map(str, etree.LXML_VERSION[:3]))
    return parsed(elements, encoding=encoding, **metadata) | {"parser": "lxml", "parser_version": version}
