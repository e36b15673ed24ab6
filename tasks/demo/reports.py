"""Reports: PDF files with running lines, columns, tables, notes and captions, laid out by a small engine of our own.

The reference text is what stands on the pages, running lines included, page by page from top to bottom, with
words that a line end parted typed in one; numbers of list items are typed, bullets are not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from fpdf import FPDF

from tasks.demo.authored import Source
from tasks.demo.blocks import Block, plain, read_blocks
from tasks.demo.labels import Placed, Rendered
from tasks.demo.pdf_lines import SUPERSCRIPT_SCALE, Font, Line, break_lines
from tasks.demo.pdf_tables import LEADING, PADDING, lay_out_table

WIDTH, HEIGHT, MARGIN = 595.28, 841.89, 62.0
TOP, BOTTOM = 84.0, 770.0
MEASURE, GUTTER = WIDTH - 2 * MARGIN, 20.0
COLUMN = (MEASURE - GUTTER) / 2

RUNNING = Font("helvetica", "I", 8)
NOTE = Font("times", "", 8.5)
FONTS = {
    "paragraph": Font("times", "", 11),
    "list_item": Font("times", "", 11),
    "caption": Font("helvetica", "I", 9),
    "code": Font("courier", "", 9),
}
HEADINGS = {1: Font("helvetica", "B", 18), 2: Font("helvetica", "B", 13), 3: Font("times", "I", 11)}


def render_report(source: Source, *, password: str | None = None) -> Rendered:
    """A PDF; with a password it is encrypted and opens only with it."""
    report = _Report(source, password)
    report.flow([Block("heading", source.title, 1), *read_blocks(source.body)])
    return report.finish()


class _Report:
    def __init__(self, source: Source, password: str | None) -> None:
        self._pdf = FPDF(unit="pt", format="A4")
        self._pdf.set_auto_page_break(False)
        self._pdf.core_fonts_encoding = "cp1252"
        self._pdf.set_creation_date(datetime.fromisoformat(source.committed))
        self._pdf.set_title(source.file_title or source.title)
        self._pdf.set_producer("Skerry Line document service")
        if source.authors and "pdf-author" in source.declares:
            self._pdf.set_author(", ".join(source.authors))
        if password:
            self._pdf.set_encryption(owner_password=f"{password}-owner", user_password=password)
        self._header = f"Skerry Line   {source.description}"
        self._placed: list[Placed] = []
        self._notes: list[Block] = []
        self._page = self._item = 0
        self._y = self._floor = 0.0
        self._new_page()

    def flow(self, blocks: Sequence[Block]) -> None:
        """Lays out blocks; footnotes go to the page of their reference."""
        notes = {block.source.split(" ", 1)[0]: block for block in blocks if block.kind == "footnote"}
        columns: list[Block] | None = None
        ruled = True
        for block in blocks:
            if block.kind == "footnote":
                continue
            if block.kind == "directive":
                name = block.source
                if name == "page":
                    self._new_page()
                elif name == "columns":
                    columns = []
                elif name == "end":
                    self._columns(columns or [])
                    columns = None
                elif name == "borderless":
                    ruled = False
                else:
                    self._bars([int(n) for n in name.split()[1:]])
            elif columns is not None:
                columns.append(block)
            elif block.kind == "table":
                self._table(block, ruled)
                ruled = True
            else:
                self._block(block, [note for key, note in notes.items() if f"[^{key}]" in block.source])

    def finish(self) -> Rendered:
        """The file with its labels' blocks."""
        self._end_page()
        text = "\n".join(p.block.text for p in self._placed)
        return Rendered(bytes(self._pdf.output()), tuple(self._placed), text)

    def _new_page(self) -> None:
        if self._page:
            self._end_page()
        self._pdf.add_page()
        self._page += 1
        self._y, self._floor = TOP, BOTTOM
        self._running(self._header, 48)

    def _end_page(self) -> None:
        y = self._floor + 10
        for note in self._notes:
            y = self._lines(break_lines(note.source, NOTE, MEASURE), NOTE, MARGIN, y, 10.5)
            self._put(note)
        self._notes = []
        self._running(f"Page {self._page}", 806)

    def _running(self, text: str, y: float) -> None:
        self._text(MARGIN, y, text, RUNNING)
        self._put(Block("paragraph", text), main=False)

    def _put(self, block: Block, *, main: bool = True, bbox: tuple[float, float, float, float] | None = None) -> None:
        self._placed.append(Placed(block, main, self._page, bbox))

    def _need(self, height: float) -> None:
        if self._y + height > self._floor:
            self._new_page()

    def _block(self, block: Block, notes: Iterable[Block]) -> None:
        font, lead, before = _style(block)
        indent = 14.0 * (block.level or 1) if block.kind == "list_item" else 0.0
        lines = _broken(block, font, MEASURE - indent)
        notes = list(notes)
        note_height = sum(len(break_lines(note.source, NOTE, MEASURE)) * 10.5 for note in notes)
        after = 40.0 if block.kind == "heading" else 0.0
        self._need(before + len(lines) * lead + note_height + after)
        self._floor -= note_height
        self._notes.extend(notes)
        self._y += before
        self._item = self._item + 1 if block.ordered else 0
        if block.kind == "list_item":
            bullet = f"{self._item}." if block.ordered else "\u2022"
            self._text(MARGIN + indent - 12, self._y + font.size, bullet, font)
        self._y = self._lines(lines, font, MARGIN + indent, self._y, lead)
        self._put(replace(block, source=f"{self._item}. {block.source}") if block.ordered else block)

    def _columns(self, blocks: Sequence[Block]) -> None:
        """Two columns of equal height, filled one after the other."""
        slots: list[tuple[float, Font, Line | None]] = []
        for block in blocks:
            font, lead, before = _style(block)
            slots.append((before, font, None))
            slots.extend((lead, font, line) for line in _broken(block, font, COLUMN))
        half = sum(height for height, _, _ in slots) / 2 + 6
        self._need(half + 14)
        top, x, y = self._y + 4, MARGIN, self._y + 4
        lowest = top
        for height, font, line in slots:
            if y - top + height > half and x == MARGIN:
                x, y = MARGIN + COLUMN + GUTTER, top
            if line is not None:
                self._lines([line], font, x, y, height)
            y += height
            lowest = max(lowest, y)
        self._y = lowest
        for block in blocks:
            self._put(block)

    def _table(self, block: Block, ruled: bool) -> None:
        table = lay_out_table(block.rows, MEASURE)
        self._need(table.height + 12)
        top = self._y + 10
        self._pdf.set_line_width(0.6)
        for cell in table.cells:
            x, y = MARGIN + cell.x, top + cell.y
            if ruled:
                self._pdf.rect(x, y, cell.width, cell.height)
            self._lines(cell.lines, cell.font, x + PADDING, y + PADDING - 1, LEADING)
        self._y = top + table.height + 6
        box = (MARGIN, top, MARGIN + table.width, top + table.height)
        self._put(block, bbox=tuple(round(value, 2) for value in box))  # type: ignore[arg-type]

    def _bars(self, values: Sequence[int]) -> None:
        """A bar chart without words; its caption is a block of its own."""
        self._need(110)
        self._pdf.set_fill_color(70, 110, 150)
        for i, value in enumerate(values):
            height = 90 * value / max(values)
            self._pdf.rect(MARGIN + 20 + i * 34, self._y + 100 - height, 22, height, style="F")
        self._y += 104

    def _lines(self, lines: Iterable[Line], font: Font, x: float, y: float, lead: float) -> float:
        for line in lines:
            for run in line:
                if run.raised:
                    small = Font(font.family, font.style, font.size * SUPERSCRIPT_SCALE)
                    self._text(x + run.x, y + font.size * 0.62, run.text, small)
                else:
                    self._text(x + run.x, y + font.size, run.text, font)
            y += lead
        return y

    def _text(self, x: float, y: float, text: str, font: Font) -> None:
        self._pdf.set_font(font.family, font.style, font.size)
        self._pdf.text(x, y, text)


def _style(block: Block) -> tuple[Font, float, float]:
    """(font, leading, space before)."""
    if block.kind == "heading":
        font = HEADINGS[block.level or 1]
        return font, font.size * 1.25, 12.0
    return FONTS[block.kind], 13.5 if block.kind != "code" else 11.0, 3.0 if block.kind == "list_item" else 7.0


def _broken(block: Block, font: Font, measure: float) -> list[Line]:
    if block.kind == "code":
        return [line for text in block.text.split("\n") for line in break_lines(text, font, measure)]
    return break_lines(block.source if "[^" in block.source else plain(block.source), font, measure)
