"""Places at fault of one document, as `trace` tells them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import duckdb
from rich.text import Text
from rich.tree import Tree

from tasks.report.queries import run_query
from tasks.report.values import plain_text

MOST_ROWS = 20
"""Rows of tables, and places of any other measure."""

_MOST_LETTERS = 80
_UNITS = {"cer": "characters", "wer": "words"}
_SAID = {"falsely_merged": "falsely merged with", "not_merged": "not merged with its duplicate"}

Detail = Mapping[str, Any]


def read_details(connection: duckdb.DuckDBPyConnection, document_id: str) -> tuple[dict[str, Any], ...]:
    """The rows of the query `details` for one document, without what they all share."""
    rows = run_query(connection, "details", {"document_id": document_id, "most": 10_000}).to_pylist()
    return tuple({k: v for k, v in row.items() if k not in ("document_id", "uri")} for row in rows)


def add_details(branch: Tree, details: Sequence[Detail]) -> None:
    """A line per row of a table, per edit, span or pair, and one for all pages without output."""
    for metric, group in groupby(details, key=lambda detail: detail["metric"]):
        lines = list(_lines(metric, list(group)))
        for line in lines[:MOST_ROWS]:
            branch.add(Text(line))
        if len(lines) > MOST_ROWS:
            branch.add(Text(f"… and {len(lines) - MOST_ROWS} more of {metric}"))


def _lines(metric: str, details: Sequence[Detail]) -> Iterable[str]:
    if metric == "page_completeness":
        return ["without output: page " + ", ".join(str(detail["page"]) for detail in details)]
    if metric == "wrong_cells":
        return _cells(details)
    if metric in _UNITS:
        return [_edit(metric, detail) for detail in details]
    if details[0]["entity_type"] is not None:
        return [f"{plain_text(d['entity_type'])} {d['fault']}: characters {d['start']} to {d['end']}" for d in details]
    return [f"{_SAID[detail['fault']]} {detail['other_document_id']}" for detail in details]


def _edit(metric: str, detail: Detail) -> str:
    unit = _UNITS[metric]
    place = f"expected {unit} {detail['start']} to {detail['end']}"
    if detail["fault"] == "changed":
        place += f", found {detail['found_start']} to {detail['found_end']}"
    elif detail["fault"] == "invented":
        place = f"found {unit} {detail['found_start']} to {detail['found_end']}"
    words = ""
    if "expected_text" in detail:
        words = f": {_quoted(detail['expected_text'])} → {_quoted(detail['found_text'])}"
    return f"{unit} {detail['fault']}: {place}{words}"


def _quoted(text: str) -> str:
    shown = text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"
    return f"“{plain_text(shown)}”"


def _cells(details: Sequence[Detail]) -> Iterable[str]:
    for (table, row), cells in groupby(details, key=lambda cell: (cell["table_number"], cell["row_number"])):
        faults: dict[int, list[str]] = {}
        for cell in cells:
            faults.setdefault(cell["column_number"], []).append(cell["fault"])
        said = ", ".join(f"column {column} {' and '.join(kinds)}" for column, kinds in faults.items())
        yield f"table {table}, row {row}: {said}"
