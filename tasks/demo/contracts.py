"""Contracts: Word files written directly as WordprocessingML (ECMA-376, part 1).

Title, headings and captions are styles, clauses are numbered by the program (their numbers are no text), a date in a
table stands in a content control as a date picker leaves it, and a page header repeats on every page. The page header
is not in the labels: it is not part of the text.
"""

import re
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from tasks.demo.authored import Source
from tasks.demo.blocks import Block, Cell, plain, read_blocks, unmark
from tasks.demo.labels import Placed, Rendered, visible
from tasks.demo.office_packages import Part, package

_W = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_STYLES = {"Title": "Title", "Heading1": "heading 1", "Heading2": "heading 2", "Caption": "caption"}
_ORDERED, _BULLETED = 1, 2
_DOCUMENT, _WORD = "word/document.xml", "vnd.openxmlformats-officedocument.wordprocessingml"


def render_contract(source: Source) -> Rendered:
    """A Word file; the source's title is its title."""
    blocks = [Block("heading", source.title, 1), *read_blocks(source.body)]
    return Rendered(
        word_file(source, blocks),
        tuple(Placed(block) for block in blocks),
        "\n".join(visible(block.text) for block in blocks),
    )


def word_file(source: Source, blocks: Sequence[Block]) -> bytes:
    """The bytes of a Word file that holds these blocks; a heading of level 1 is the title."""
    header = f"Skerry Line Ltd   {escape(source.description)}"
    body = "".join(_block(block) for block in blocks)
    section = '<w:sectPr><w:headerReference w:type="default" r:id="rId1"/></w:sectPr>'
    parts = {
        _DOCUMENT: Part(
            f"<w:document {_W}><w:body>{body}{section}</w:body></w:document>",
            f"{_WORD}.document.main+xml",
            "",
            "officeDocument",
        ),
        "word/header1.xml": Part(
            f"<w:hdr {_W}><w:p><w:r><w:t>{header}</w:t></w:r></w:p></w:hdr>", f"{_WORD}.header+xml", _DOCUMENT, "header"
        ),
        "word/styles.xml": Part(_styles(), f"{_WORD}.styles+xml", _DOCUMENT, "styles"),
        "word/numbering.xml": Part(_numbering(), f"{_WORD}.numbering+xml", _DOCUMENT, "numbering"),
    }
    return package(parts, source)


def _block(block: Block) -> str:
    if block.kind == "table":
        return _table(block.rows)
    if block.kind == "heading":
        return _paragraph(block.source, _style("Title" if block.level == 1 else f"Heading{(block.level or 2) - 1}"))
    if block.kind == "caption":
        return _paragraph(block.source, _style("Caption"))
    if block.kind == "list_item":
        number = _ORDERED if block.ordered else _BULLETED
        place = f'<w:numPr><w:ilvl w:val="{(block.level or 1) - 1}"/><w:numId w:val="{number}"/></w:numPr>'
        return _paragraph(block.source, place)
    return _paragraph(block.source, "")


def _style(name: str) -> str:
    return f'<w:pStyle w:val="{name}"/>'


def _paragraph(source: str, properties: str) -> str:
    runs = "".join(
        f'<w:r>{"<w:rPr><w:b/></w:rPr>" if i % 2 else ""}<w:t xml:space="preserve">{escape(plain(text))}</w:t></w:r>'
        for i, text in enumerate(unmark(source).split("**"))
        if text
    )
    return f"<w:p>{f'<w:pPr>{properties}</w:pPr>' if properties else ''}{runs}</w:p>"


def _table(rows: Sequence[Sequence[Cell]]) -> str:
    """A table; a cell that reaches down is continued by empty cells, as Word stores it."""
    columns = sum(cell.colspan for cell in rows[0])
    grid = "".join('<w:gridCol w:w="1800"/>' for _ in range(columns))
    below: dict[int, tuple[int, int]] = {}
    lines = []
    for row in rows:
        cells = "".join(_row(row, columns, below))
        head = "<w:trPr><w:tblHeader/></w:trPr>" if all(cell.header for cell in row) else ""
        lines.append(f"<w:tr>{head}{cells}</w:tr>")
    borders = "".join(
        f'<w:{side} w:val="single" w:sz="4"/>' for side in ("top", "left", "bottom", "right", "insideH", "insideV")
    )
    # Word asks for a paragraph between a table and the end of the section.
    return (
        f"<w:tbl><w:tblPr><w:tblBorders>{borders}</w:tblBorders></w:tblPr><w:tblGrid>{grid}</w:tblGrid>"
        f"{''.join(lines)}</w:tbl><w:p/>"
    )


def _row(row: Sequence[Cell], columns: int, below: dict[int, tuple[int, int]]) -> Iterator[str]:
    """The cells of a row; `below` keeps, by column, how many rows a cell still reaches down and how wide it is."""
    cells = iter(row)
    column = 0
    while column < columns:
        left, width = below.pop(column, (0, 0))
        if left:
            yield _cell("", width, "<w:vMerge/>")
        else:
            cell = next(cells)
            left, width = cell.rowspan, cell.colspan
            yield _cell(cell.source, width, '<w:vMerge w:val="restart"/>' if left > 1 else "")
        if left > 1:
            below[column] = left - 1, width
        column += width


def _cell(source: str, width: int, merge: str) -> str:
    span = f'<w:gridSpan w:val="{width}"/>' if width > 1 else ""
    paragraphs = "".join(_paragraph(part.strip(), "") for part in source.split(";;"))
    cell = f"<w:tc><w:tcPr>{span}{merge}</w:tcPr>{paragraphs}</w:tc>"
    if _DAY.fullmatch(source):
        return f"<w:sdt><w:sdtPr><w:date/></w:sdtPr><w:sdtContent>{cell}</w:sdtContent></w:sdt>"
    return cell


def _styles() -> str:
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in _STYLES.items()
    )
    normal = '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>'
    return f"<w:styles {_W}>{normal}{styles}</w:styles>"


def _numbering() -> str:
    formats = {_ORDERED: (("decimal", "%1."), ("lowerLetter", "(%2)")), _BULLETED: (("bullet", "•"), ("bullet", "–"))}
    abstract = "".join(
        f'<w:abstractNum w:abstractNumId="{number}">'
        + "".join(
            f'<w:lvl w:ilvl="{i}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/></w:lvl>'
            for i, (kind, text) in enumerate(levels)
        )
        + "</w:abstractNum>"
        for number, levels in formats.items()
    )
    numbers = "".join(f'<w:num w:numId="{n}"><w:abstractNumId w:val="{n}"/></w:num>' for n in formats)
    return f"<w:numbering {_W}>{abstract}{numbers}</w:numbering>"
