"""olmOCR-Bench (Allen Institute for AI): assertions about single pages of PDFs."""

from collections import defaultdict
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from tasks.gold.gold_set import faults_of
from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import json_lines
from tasks.gold.kinds import PageAssertionLabel

_FIELDS = frozenset(PageAssertionLabel.model_fields)
_KINDS = frozenset(get_args(PageAssertionLabel.model_fields["kind"].annotation))


def read(folder: Path) -> DataSet:
    """The PDFs of `pdfs/` with page assertions, of every `*.jsonl` of the folder.

    Assertions that the publisher rejected, of kinds that are not known here, or about a PDF that is not there are left
    out.
    """
    by_pdf: dict[str, list[dict[str, Any]]] = defaultdict(list)
    bad: list[BadRow] = []
    skipped: list[str] = []
    pdfs = folder / "pdfs"
    for file in sorted(folder.glob("*.jsonl")):
        for number, entry in json_lines(file, bad):
            why = _left_out(entry, pdfs)
            if why is not None:
                skipped.append(f"{file.name}:{number}: {why}")
                continue
            given = {name: value for name, value in entry.items() if name in _FIELDS}
            try:
                label = PageAssertionLabel.model_validate({**given, "kind": entry.get("type")})
            except ValidationError as error:
                bad.append(BadRow(file.name, number, faults_of(error)))
            else:
                by_pdf[str(entry["pdf"])].append(label.model_dump(exclude_defaults=True))
    return DataSet(
        tuple(
            MadeDocument(pdf, pdfs / pdf, {"page_assertions": {"assertions": assertions}})
            for pdf, assertions in sorted(by_pdf.items())
        ),
        tuple(bad),
        tuple(skipped),
    )


def _left_out(entry: dict[str, Any], pdfs: Path) -> str | None:
    if entry.get("checked") == "rejected":
        return "its publisher rejected it"
    if isinstance(entry.get("type"), str) and entry["type"] not in _KINDS:
        return "its kind is not known here"
    pdf = pdfs / str(entry.get("pdf") or "")
    return None if pdf.resolve().is_relative_to(pdfs.resolve()) and pdf.is_file() else "its PDF is missing"
