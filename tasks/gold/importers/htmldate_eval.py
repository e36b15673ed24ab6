"""htmldate's evaluation set (Apache-2.0): web pages with their date of publication."""

from datetime import date
from pathlib import Path

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import json_records, unpacked


def read(folder: Path) -> DataSet:
    """Pages with their day of publication; a page that has two is left out."""
    bad: list[BadRow] = []
    skipped: list[str] = []
    documents: list[MadeDocument] = []
    pages: dict[str, set[str]] = {}
    path = folder / "eval_default.json"
    for line, _, entry in json_records(path, bad) if path.is_file() else ():
        try:
            name, day = str(entry["file"]), date.fromisoformat(entry["date"]).isoformat()
        except (ValueError, KeyError, TypeError):
            bad.append(BadRow(path.name, line, "is no page with a day"))
            continue
        if "/" in name:
            bad.append(BadRow(path.name, line, "names no file of html/"))
        else:
            pages.setdefault(name, set()).add(day)
    for name, days in sorted(pages.items()):
        packed = folder / "html" / f"{name}.gz"
        if len(days) > 1:
            skipped.append(f"{name}: is labelled twice, with different days")
        elif not packed.is_file():
            skipped.append(f"{name}: the page is missing")
        elif (data := unpacked(packed, bad)) is not None:
            documents.append(MadeDocument(name, data, {"metadata": {"published": next(iter(days))}}))
    return DataSet(tuple(documents), tuple(bad), tuple(skipped))
