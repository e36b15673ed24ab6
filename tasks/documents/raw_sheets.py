"""The second reading of a workbook's sheets: values as a reader sees them, from the XML of SpreadsheetML (ECMA-376)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from tasks.documents.xml import local_name

_BUILT_IN_DATES = frozenset({*range(14, 23), *range(45, 48)})
_LITERALS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_LAST_DAY = 2_958_465
"""The serial number of 9999-12-31."""


@dataclass(frozen=True, slots=True)
class SheetStyles:
    """Which cell styles show a number as a date, and the day from which days are counted."""

    dates: frozenset[int]
    first_day: date


def shared_strings(root: Any) -> list[str]:
    """The strings that cells refer to by number; readings (phonetic runs) are left out."""
    return [_text(item) for item in root if local_name(item) == "si"] if root is not None else []


def sheet_styles(styles: Any, workbook: Any) -> SheetStyles:
    """Reads the styles of a workbook; without any, numbers are numbers."""
    counted_from_1904 = workbook is not None and any(
        node.get("date1904") in ("1", "true") for node in workbook if local_name(node) == "workbookPr"
    )
    first_day = date(1904, 1, 1) if counted_from_1904 else date(1899, 12, 30)
    if styles is None:
        return SheetStyles(frozenset(), first_day)
    formats = {node.get("numFmtId"): node.get("formatCode") or "" for node in styles.iter() if _is(node, "numFmt")}
    dates = set()
    for table in styles:
        if _is(table, "cellXfs"):
            for i, style in enumerate(child for child in table if _is(child, "xf")):
                number = style.get("numFmtId") or "0"
                code = _LITERALS.sub("", formats.get(number, "")).lower()
                if (number.isdigit() and int(number) in _BUILT_IN_DATES) or re.search(r"[ymdhs]", code):
                    dates.add(i)
    return SheetStyles(frozenset(dates), first_day)


def sheet_lines(root: Any, strings: Sequence[str], styles: SheetStyles) -> Iterator[str]:
    """A line for each row that holds something, a space between cells."""
    for row in root.iter() if root is not None else ():
        if _is(row, "row"):
            values = [_value(cell, strings, styles) for cell in row if _is(cell, "c")]
            if any(values):
                yield " ".join(value for value in values if value)


def _value(cell: Any, strings: Sequence[str], styles: SheetStyles) -> str:
    kind = cell.get("t") or "n"
    if kind == "inlineStr":
        return _text(cell)
    stored = next((node.text or "" for node in cell if _is(node, "v")), "").strip()
    if kind == "s":
        return strings[int(stored)] if stored.isdigit() and int(stored) < len(strings) else ""
    if kind == "b":
        return {"1": "True", "0": "False"}.get(stored, stored)
    if kind == "n" and stored and (cell.get("s") or "0").isdigit() and int(cell.get("s") or 0) in styles.dates:
        return _moment(stored, styles.first_day)
    return stored


def _moment(stored: str, first_day: date) -> str:
    """A serial number as a date or time in ISO 8601; what is none stays as it is."""
    try:
        serial = float(stored)
    except ValueError:
        return stored
    if not 0 <= serial <= _LAST_DAY:
        return stored
    days, seconds = divmod(round(serial * 86_400), 86_400)
    moment = datetime.combine(first_day, datetime.min.time()) + timedelta(days=days, seconds=seconds)
    if serial < 1:
        return f"{moment:%H:%M:%S}"
    return f"{moment:%Y-%m-%d %H:%M:%S}" if seconds else f"{moment:%Y-%m-%d}"


def _text(node: Any) -> str:
    return "".join(
        inner.text or ""
        for inner in node.iter()
        if _is(inner, "t") and not any(_is(above, "rPh") for above in inner.iterancestors())
    )


def _is(node: Any, name: str) -> bool:
    return local_name(node) == name
