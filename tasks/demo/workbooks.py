"""Workbooks: Excel files written directly as SpreadsheetML (ECMA-376, part 1).

A heading of level 2 begins a sheet, a paragraph is a cell by itself, a table a block of cells. Labels say what a reader
of the sheet sees: a share is stored as 0.125 and shown as 12.5%, a day is stored as a number and shown as a day.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from xml.sax.saxutils import escape, quoteattr

from tasks.demo.authored import Source
from tasks.demo.blocks import Block, Cell, read_blocks
from tasks.demo.labels import Placed, Rendered, visible
from tasks.demo.office_packages import Part, package

_S = (
    'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
_BOOK, _EXCEL = "xl/workbook.xml", "vnd.openxmlformats-officedocument.spreadsheetml"
_DAY, _SHARE, _NUMBER = (
    re.compile(pattern) for pattern in (r"\d{4}-\d\d-\d\d", r"(\d+\.\d)%", r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
)
_FIRST_DAY = date(1899, 12, 30)
_STYLES = (
    '<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="0.0%"/>'
    '</numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="1"><fill>'
    '<patternFill patternType="none"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1">'
    '<xf numFmtId="0"/></cellStyleXfs><cellXfs count="3"><xf numFmtId="0"/>'
    '<xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
)


def render_workbook(source: Source) -> Rendered:
    """An Excel file with a sheet for each heading."""
    sheets: list[_Sheet] = []
    strings: dict[str, int] = {}
    placed = []
    for block in read_blocks(source.body):
        if block.kind == "heading":
            sheets.append(_Sheet(visible(block.text), strings))
            block = Block("heading", block.source, 1)
        else:
            sheets[-1].add(block)
        placed.append(Placed(block, page=len(sheets)))
    return Rendered(_file(source, sheets, strings), tuple(placed), "\n".join(visible(p.block.text) for p in placed))


@dataclass(slots=True)
class _Sheet:
    """Rows and merged ranges of one sheet; `strings` are those of the workbook, with their numbers."""

    name: str
    strings: dict[str, int]
    rows: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    row: int = 0

    def add(self, block: Block) -> None:
        """Writes a block below what is there, after an empty row."""
        lines = block.rows if block.kind == "table" else ((Cell(block.source, 1, 1, False),),)
        for line in lines:
            self.row += 1
            self.rows.append(f'<row r="{self.row}">{"".join(self._cells(line))}</row>')
        self.row += 1

    def _cells(self, line: tuple[Cell, ...]) -> Iterator[str]:
        column = 0
        for cell in line:
            place = f"{_letter(column)}{self.row}"
            if cell.colspan > 1:
                self.merged.append(f"{place}:{_letter(column + cell.colspan - 1)}{self.row}")
            yield self._cell(place, visible(cell.text))
            column += cell.colspan

    def _cell(self, place: str, text: str) -> str:
        if not text:
            return ""
        if _DAY.fullmatch(text):
            return f'<c r="{place}" s="1"><v>{(date.fromisoformat(text) - _FIRST_DAY).days}</v></c>'
        if share := _SHARE.fullmatch(text):
            return f'<c r="{place}" s="2"><v>{round(float(share[1]) / 100, 6)}</v></c>'
        if _NUMBER.fullmatch(text):
            return f'<c r="{place}"><v>{text}</v></c>'
        return f'<c r="{place}" t="s"><v>{self.strings.setdefault(text, len(self.strings))}</v></c>'

    def xml(self) -> str:
        """The sheet's part."""
        merged = "".join(f'<mergeCell ref="{area}"/>' for area in self.merged)
        return (
            f"<worksheet {_S}><sheetData>{''.join(self.rows)}</sheetData>"
            f"{f'<mergeCells>{merged}</mergeCells>' if merged else ''}</worksheet>"
        )


def _letter(column: int) -> str:
    return chr(ord("A") + column)


def _file(source: Source, sheets: list[_Sheet], strings: dict[str, int]) -> bytes:
    names = "".join(
        f'<sheet name={quoteattr(sheet.name)} sheetId="{i}" r:id="rId{i}"/>' for i, sheet in enumerate(sheets, 1)
    )
    book = f"<workbook {_S}><sheets>{names}</sheets></workbook>"
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
    parts = {_BOOK: Part(book, f"{_EXCEL}.sheet.main+xml", "", "officeDocument")}
    parts |= {
        f"xl/worksheets/sheet{i}.xml": Part(sheet.xml(), f"{_EXCEL}.worksheet+xml", _BOOK, "worksheet")
        for i, sheet in enumerate(sheets, 1)
    }
    parts["xl/styles.xml"] = Part(f"<styleSheet {_S}>{_STYLES}</styleSheet>", f"{_EXCEL}.styles+xml", _BOOK, "styles")
    parts["xl/sharedStrings.xml"] = Part(
        f"<sst {_S}>{shared}</sst>", f"{_EXCEL}.sharedStrings+xml", _BOOK, "sharedStrings"
    )
    return package(parts, source)
