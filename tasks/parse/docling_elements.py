"""From docling's document tree to elements. Imported in workers of the cage only: docling takes seconds."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from docling_core.types.doc import (
    ContentLayer,
    CoordOrigin,
    DocItemLabel,
    DoclingDocument,
    GroupItem,
    GroupLabel,
    InlineGroup,
    ListItem,
    NodeItem,
    PictureItem,
    SectionHeaderItem,
    TableData,
    TableItem,
    TextItem,
    TitleItem,
)

from schemas.names import ElementKind
from tasks.parse.elements import Elements
from tasks.parse.tables import Cell

_KINDS = {
    DocItemLabel.CODE: ElementKind.CODE,
    DocItemLabel.FORMULA: ElementKind.FORMULA,
    DocItemLabel.CAPTION: ElementKind.CAPTION,
    DocItemLabel.FOOTNOTE: ElementKind.FOOTNOTE,
}
_PAGES = (GroupLabel.CHAPTER, GroupLabel.SHEET)
"""Groups that are a slide or a sheet."""
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d) 00:00:00")
"""A day in a sheet, as docling writes it."""


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """How a tree is read.

    `captions` are texts that are captions. `below_title` puts headings a level down where there is a title. `paged`
    makes each slide or sheet a page. `spaced_runs` says that the pieces of a paragraph keep the spaces between them,
    `placed` that items say on which page they stand and where.
    """

    captions: frozenset[str] = frozenset()
    below_title: bool = False
    paged: bool = False
    spaced_runs: bool = False
    placed: bool = False


@dataclass(slots=True)
class TreePages:
    """What was found on pages: sheets that are shown, by page, pages that are hidden, and pages of a picture only."""

    sheets: list[tuple[int, str]] = field(default_factory=list)
    without_output: list[int] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)


def read_document(document: DoclingDocument, elements: Elements, options: TreeOptions = TreeOptions()) -> TreePages:
    """Adds the elements of a document in its reading order.

    Left out are page headers and footers, comments, and what is hidden (slides, sheets). Footnotes and the notes of
    slides are kept. A picture gives its caption, and a chart the table of its data.
    """
    reader = _Reader(document, elements, options)
    reader.read(document.body, 0)
    found = TreePages(reader.sheets, hidden=reader.hidden)
    if options.paged:
        with_text = {row["page"] for row in elements.rows}
        found.without_output = sorted(reader.pictured - with_text)
    return found


def table_rows(data: TableData) -> list[list[Cell]]:
    """The cells of a table where they begin, row by row; a place that no cell covers is an empty cell."""
    rows: list[list[Cell]] = []
    cells = {(cell.start_row_offset_idx, cell.start_col_offset_idx): cell for cell in data.table_cells}
    covered: set[tuple[int, int]] = set()
    for i in range(data.num_rows):
        rows.append([])
        for j in range(data.num_cols):
            cell = cells.get((i, j))
            if cell is None:
                if (i, j) not in covered:
                    rows[-1].append(Cell(""))
                continue
            down, right = max(1, cell.row_span), max(1, cell.col_span)
            if down > 1 or right > 1:
                covered.update((i + a, j + b) for a in range(down) for b in range(right))
            text = " ".join(cell.text.split())
            day = _MIDNIGHT.fullmatch(text)
            rows[-1].append(Cell(day[1] if day else text, down, right, cell.column_header))
    return rows


class _Reader:
    """The walk through one tree."""

    def __init__(self, document: DoclingDocument, elements: Elements, options: TreeOptions) -> None:
        self._document = document
        self._elements = elements
        self._options = options
        titled = any(isinstance(item, TitleItem) and item.content_layer == ContentLayer.BODY for item in document.texts)
        self._shift = 1 if options.below_title and titled else 0
        self._page: int | None = None
        self._box: tuple[float, float, float, float] | None = None
        self.sheets: list[tuple[int, str]] = []
        self.pictured: set[int] = set()
        self.hidden: list[int] = []

    def read(self, node: NodeItem, lists: int) -> None:
        """Adds what lies below a node; `lists` is the number of lists around it."""
        for child in self._children(node):
            if isinstance(child, GroupItem) and child.label in _PAGES and self._options.paged:
                self._page = (self._page or 0) + 1
                if not self._is_shown(child):
                    self.hidden.append(self._page)
            if not self._is_shown(child):
                continue
            if self._options.placed:
                self._place(child)
            if isinstance(child, GroupItem) and child.label == GroupLabel.SHEET:
                self._read_sheet(child)
            elif isinstance(child, TableItem):
                self._read_table(child)
            elif isinstance(child, PictureItem):
                self._read_picture(child, lists)
            elif isinstance(child, InlineGroup):
                self._add(ElementKind.LIST_ITEM if lists else ElementKind.PARAGRAPH, self._inline(child), lists)
            elif isinstance(child, ListItem):
                self._read_list_item(child, max(1, lists))
            elif isinstance(child, TextItem):
                self._read_text(child)
                self.read(child, lists)
            elif isinstance(child, GroupItem):
                if child.label != GroupLabel.COMMENT_SECTION:
                    self.read(child, lists + (child.label in (GroupLabel.LIST, GroupLabel.ORDERED_LIST)))
            else:
                self.read(child, lists)

    def _place(self, node: NodeItem) -> None:
        """Takes page and box from an item; what has none (a group) stands where the item before it does."""
        places = getattr(node, "prov", None)
        if not places:
            return
        self._page = places[0].page_no
        box = places[0].bbox
        if box.coord_origin == CoordOrigin.BOTTOMLEFT:
            box = box.to_top_left_origin(self._document.pages[self._page].size.height)
        self._box = (box.l, box.t, box.r, box.b)

    def _read_sheet(self, sheet: GroupItem) -> None:
        self.sheets.append((self._page or 1, sheet.name))
        if sheet.children:
            self._elements.begin_part(sheet.name, sheet.name, page=self._page)
        self.read(sheet, 0)

    def _read_table(self, table: TableItem) -> None:
        for caption in table.captions:
            self._add(ElementKind.CAPTION, caption.resolve(self._document).text)
        self._elements.add_table(table_rows(table.data), page=self._page, bbox=self._box)
        for inner in self._tables_below(table):
            self._elements.add_table(table_rows(inner.data), page=self._page, bbox=self._box)

    def _read_picture(self, picture: PictureItem, lists: int) -> None:
        if self._page is not None:
            self.pictured.add(self._page)
        captions = {caption.cref for caption in picture.captions}
        for caption in picture.captions:
            self._add(ElementKind.CAPTION, caption.resolve(self._document).text)
        chart = picture.meta.tabular_chart if picture.meta else None
        if chart is not None:
            self._add(ElementKind.CAPTION, chart.title or "")
            self._elements.add_table(table_rows(chart.chart_data), page=self._page, bbox=self._box)
        self.read(
            picture.model_copy(update={"children": [c for c in picture.children if c.cref not in captions]}), lists
        )

    def _read_list_item(self, item: ListItem, lists: int) -> None:
        inline = [child for child in self._children(item) if isinstance(child, InlineGroup)]
        text = item.text or " ".join(self._inline(child) for child in inline)
        self._add(ElementKind.LIST_ITEM, text, lists)
        rest = [ref for ref in item.children if not isinstance(ref.resolve(self._document), InlineGroup)]
        self.read(item.model_copy(update={"children": rest}), lists)

    def _read_text(self, item: TextItem) -> None:
        if isinstance(item, TitleItem):
            self._add(ElementKind.HEADING, item.text, 1)
        elif isinstance(item, SectionHeaderItem):
            self._add(ElementKind.HEADING, item.text, item.level + self._shift)
        elif item.text.strip() in self._options.captions:
            self._add(ElementKind.CAPTION, item.text)
        else:
            self._add(_KINDS.get(item.label, ElementKind.PARAGRAPH), item.text)

    def _add(self, kind: ElementKind, text: str, level: int | None = None) -> None:
        level = level if kind in (ElementKind.HEADING, ElementKind.LIST_ITEM) else None
        self._elements.add(kind, text.strip(), level=level, page=self._page, bbox=self._box)

    def _inline(self, group: InlineGroup) -> str:
        texts = (child.text for child in self._children(group) if isinstance(child, TextItem))
        return ("" if self._options.spaced_runs else " ").join(text for text in texts if text)

    def _tables_below(self, node: NodeItem) -> Iterator[TableItem]:
        for child in self._children(node):
            if isinstance(child, TableItem):
                yield child
            yield from self._tables_below(child)

    def _children(self, node: NodeItem) -> Iterable[Any]:
        return (ref.resolve(self._document) for ref in node.children)

    @staticmethod
    def _is_shown(node: Any) -> bool:
        layer = getattr(node, "content_layer", ContentLayer.BODY)
        if layer == ContentLayer.FURNITURE:
            return getattr(node, "label", None) == DocItemLabel.FOOTNOTE
        return layer in (ContentLayer.BODY, ContentLayer.NOTES)
