"""From blocks on pages to the elements of a document."""

from collections.abc import Mapping, Sequence

from schemas.names import ElementKind
from tasks.parse.blocks import BULLET, Block, code_text, document_style, kind_of
from tasks.parse.elements import Elements


def elements_of(blocks: Sequence[Block], pages: int, heights: Mapping[int, float]) -> Elements:
    """The elements of a document's blocks, each with its kind; `heights` is the height of each page in points."""
    style = document_style(blocks, pages)
    elements = Elements()
    for block in blocks:
        if block.table is not None:
            elements.add_table(block.table, page=block.page, bbox=block.box, source=block.source)
            continue
        kind, level = kind_of(block, style, heights[block.page])
        text = block.text
        if kind is ElementKind.CODE:
            text = code_text(block)
        elif kind is ElementKind.LIST_ITEM:
            text = BULLET.sub("", text, count=1) if BULLET.match(text) else text
        elements.add(kind, text, level=level, page=block.page, bbox=block.box, source=block.source)
    return elements
