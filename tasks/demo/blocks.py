"""Blocks of an authored text: one reading of it, from which files and labels are both made.

Blocks stand apart by blank lines. `#` heads, `- ` and `1. ` list (two blanks deepen), `|` rows of a table
(first row: header; a cell may begin with `{c2}` or `{r2}` for its spans, `;;` parts a list inside it),
`^^` caption, `[^1]:` footnote, three backticks code, `::` directive to a layout. Inline: `[text](url)`,
`**strong**`, `[^1]` reference, `[[TYPE:value]]` PII, `[[-:value]]` look-alike, `{zwsp}` and `{shy}` invisible marks.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

INVISIBLE = {"{zwsp}": "\u200b", "{shy}": "\u00ad"}

_MARK = re.compile(r"\[\[([A-Z_]+|-):(.+?)\]\]")
_LINK = re.compile(r"\[([^\]\[]+)\]\(([^)]+)\)")
_REFERENCE = re.compile(r"\[\^(\d)\]")
_CELL_SPAN = re.compile(r"\{([cr])(\d)\}")


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: source text, its spans, whether it heads a column."""

    source: str
    rowspan: int
    colspan: int
    header: bool

    @property
    def text(self) -> str:
        """The cell's words on one line."""
        return " ".join(plain(part.strip()) for part in self.source.split(";;"))


@dataclass(frozen=True, slots=True)
class Block:
    """One block: `kind` is an element kind or `directive`; `source` keeps the inline marks."""

    kind: str
    source: str
    level: int | None = None
    ordered: bool = False
    rows: tuple[tuple[Cell, ...], ...] = ()

    @property
    def text(self) -> str:
        """The words without marks; a table has a line per row and a tab between its cells."""
        if self.kind == "table":
            return "\n".join("\t".join(cell.text for cell in row) for row in self.rows)
        return unmark(self.source) if self.kind == "code" else plain(self.source)


def unmark(source: str) -> str:
    """The source with its PII marks replaced by the values; other inline marks stay."""
    for mark, character in INVISIBLE.items():
        source = source.replace(mark, character)
    return _MARK.sub(r"\2", source) if "[[" in source else source


def plain(source: str) -> str:
    """The visible words of an inline source.

    >>> plain("Ask **[[PERSON:Ada Moss]]** or [the office](/office).[^1]")
    'Ask Ada Moss or the office.1'
    """
    return _REFERENCE.sub(r"\1", _LINK.sub(r"\1", unmark(source)).replace("**", ""))


def marks(source: str) -> Iterator[tuple[str, int, int]]:
    """(type, start, end) of each PII mark in `plain(source)`."""
    for match in _MARK.finditer(source):
        start = len(plain(source[: match.start()]))
        yield match.group(1), start, start + len(plain(match.group(2)))


def inline_html(source: str) -> str:
    """The inline source as HTML."""
    text = html.escape(unmark(source), quote=False)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", _LINK.sub(r'<a href="\2">\1</a>', text))
    return _REFERENCE.sub(r"<sup>\1</sup>", text)


def table_html(rows: Sequence[Sequence[Cell]], *, rich: bool = False) -> str:
    """Minimal HTML of a table with its spans; `rich` keeps lists and links inside the cells."""
    lines = []
    for row in rows:
        cells = []
        for cell in row:
            tag = "th" if cell.header else "td"
            spans = "".join(
                f' {name}="{n}"' for name, n in (("rowspan", cell.rowspan), ("colspan", cell.colspan)) if n > 1
            )
            cells.append(f"<{tag}{spans}>{_cell_html(cell) if rich else html.escape(cell.text, quote=False)}</{tag}>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _cell_html(cell: Cell) -> str:
    lead, *items = (inline_html(part.strip()) for part in cell.source.split(";;"))
    return lead + (f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>" if items else "")


def read_blocks(body: str) -> list[Block]:
    """The blocks of a body, in order."""
    blocks: list[Block] = []
    for part in re.split(r"\n{2,}", body.strip()):
        lines = part.split("\n")
        first = lines[0]
        if heading := re.match(r"(#+) (.+)", part):
            blocks.append(Block("heading", heading[2], len(heading[1])))
        elif first.startswith("|"):
            rows = tuple(
                tuple(_cell(raw, i == 0) for raw in line.strip()[1:-1].split("|")) for i, line in enumerate(lines)
            )
            blocks.append(Block("table", part, rows=rows))
        elif re.match(r"(-|\d+\.) ", first):
            blocks.extend(_items(lines))
        elif first.startswith("```"):
            blocks.append(Block("code", "\n".join(lines[1:-1])))
        elif first.startswith("^^ "):
            blocks.append(Block("caption", " ".join(lines)[3:]))
        elif note := re.match(r"\[\^(\d)\]: ", part):
            blocks.append(Block("footnote", f"{note[1]} {' '.join(lines)[note.end() :]}"))
        elif first.startswith("::"):
            blocks.append(Block("directive", part[2:].strip()))
        else:
            blocks.append(Block("paragraph", " ".join(lines)))
    return blocks


def _cell(raw: str, header: bool) -> Cell:
    spans = {kind: int(n) for kind, n in _CELL_SPAN.findall(raw)}
    return Cell(_CELL_SPAN.sub("", raw).strip(), spans.get("r", 1), spans.get("c", 1), header)


def _items(lines: Sequence[str]) -> Iterator[Block]:
    for line in lines:
        indent, bullet, text = re.fullmatch(r"( *)(-|\d+\.) (.+)", line).groups()  # type: ignore[union-attr]
        yield Block("list_item", text, len(indent) // 2 + 1, ordered=bullet != "-")
