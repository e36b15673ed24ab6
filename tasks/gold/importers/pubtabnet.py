"""PubTabNet 2 (IBM, annotations CDLA-Permissive-1.0): images of tables, and each table as tokens of HTML.

A row has the structure as tokens (`<td`, ` colspan="2"`, `>`, `</td>`) and the cells' contents as tokens of a character
or a tag each; the n-th cell stands in the n-th `<td>`. Boxes of cells are in pixels and have no place in a label. Heads
and bodies of tables and type faces in cells are left out, as tables of parsed documents have none either. The reference
text of an image is its table's, a row a line, so that a reader of text without tables can be measured too.
"""

from html import escape
from pathlib import Path
from typing import Any

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import json_lines
from tasks.metrics.table_cells import table_cells

_SPLITS = ("train", "val", "test")
_PARTS = ("<thead>", "</thead>", "<tbody>", "</tbody>")
_END = "</td>"


def read(folder: Path) -> DataSet:
    """Images with tables labels (one table each, page 1) and text labels, of every `*.jsonl` of the folder.

    An image lies beside the file, or in the folder of its split.
    """
    documents: dict[str, MadeDocument] = {}
    bad: list[BadRow] = []
    skipped: list[str] = []
    for path in sorted(folder.glob("*.jsonl")):
        for line, record in json_lines(path, bad):
            html = table_html(record)
            name = record.get("filename")
            if html is None or not isinstance(name, str) or not name or "/" in name or "\\" in name:
                bad.append(BadRow(path.name, line, "is no image with as many cells as its table has"))
                continue
            places = [name, f"{split}/{name}"] if (split := record.get("split")) in _SPLITS else [name]
            place = next((place for place in places if (folder / place).is_file()), None)
            if place is None:
                skipped.append(f"{path.name}:{line}: its image is missing")
            elif place in documents:
                bad.append(BadRow(path.name, line, "labels an image a second time"))
            else:
                labels: dict[str, dict[str, Any]] = {
                    "tables": {"tables": [{"page": 1, "html": html}]},
                    "text": {"text": _text_of(html)},
                }
                documents[place] = MadeDocument(place, folder / place, labels)
    return DataSet(tuple(documents.values()), tuple(bad), tuple(skipped))


def table_html(record: dict[str, Any]) -> str | None:
    """The table of a row; null where the row holds none.

    >>> structure = ["<thead>", "<tr>", "<td", ' colspan="2"', ">", "</td>", "<td>", "</td>", "</tr>", "</thead>"]
    >>> cells = [{"tokens": ["<b>", "a", "<", "</b>"]}, {"tokens": []}]
    >>> table_html({"html": {"structure": {"tokens": structure}, "cells": cells}})
    '<table><tr><td colspan="2">a&lt;</td><td></td></tr></table>'
    """
    try:
        structure = [str(part) for part in record["html"]["structure"]["tokens"] if part not in _PARTS]
        cells = ["".join(map(_text, cell["tokens"])) for cell in record["html"]["cells"]]
    except (KeyError, TypeError):
        return None
    if structure.count(_END) != len(cells):
        return None
    contents = iter(cells)
    made = [f"{next(contents)}{_END}" if part == _END else part for part in structure]
    return f"<table>{''.join(made)}</table>"


def _text_of(html: str) -> str:
    rows: dict[int, list[str]] = {}
    for cell in sorted(table_cells(html), key=lambda cell: (cell.row, cell.column)):
        rows.setdefault(cell.row, []).append(cell.text)
    return "\n".join(" ".join(" ".join(cells).split()) for cells in rows.values())


def _text(token: str) -> str:
    """A character, escaped; nothing for a tag."""
    return "" if len(token) > 1 and token.startswith("<") else escape(token, quote=False)
