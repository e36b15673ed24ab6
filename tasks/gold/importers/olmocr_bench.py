"""olmOCR-Bench (Allen Institute for AI; code Apache-2.0, pages third parties'): assertions about single pages of PDFs.

The PDFs are copied to `corpus/`, beside `gold/`.
"""

import hashlib
import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tasks.errors import ConfigurationError
from tasks.gold.importers.summary import ImportSummary
from tasks.gold.kinds import PageAssertionLabel
from tasks.gold.writing import write_gold_set

SOURCE = "olmocr-bench"
_FIELDS = frozenset(PageAssertionLabel.model_fields)


def import_folder(source_folder: Path, out_folder: Path) -> ImportSummary:
    """Reads every `*.jsonl` of the folder and `pdfs/`; writes `corpus/` and `gold/` with page assertions.

    Assertions that the publisher rejected, of kinds that are not known here, or about a PDF that is not there are left
    out and named in the summary.

    Raises:
        ConfigurationError: there is no assertion in the folder.
    """
    by_pdf: dict[str, list[dict[str, Any]]] = defaultdict(list)
    skipped: list[str] = []
    for file in sorted(source_folder.glob("*.jsonl")):
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
            if line.strip():
                _read(f"{file.name}:{number}", line, source_folder / "pdfs", by_pdf, skipped)
    if not by_pdf:
        raise ConfigurationError(
            f"{source_folder} holds no assertion about a PDF in pdfs/", remedy="name the folder with *.jsonl and pdfs/"
        )
    corpus = out_folder / "corpus"
    rows = []
    for pdf, assertions in sorted(by_pdf.items()):
        (corpus / pdf).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source_folder / "pdfs" / pdf, corpus / pdf)
        sha = hashlib.sha256((corpus / pdf).read_bytes()).hexdigest()
        rows.append({"document": f"{SOURCE}:{pdf}", "content_sha": sha, "label": {"assertions": assertions}})
    gold = out_folder / "gold"
    write_gold_set(
        gold,
        SOURCE,
        "1",
        {"page_assertions": rows},
        description="Unit tests of single pages: text present or absent, order, tables, formulas.",
        licence="Apache-2.0 (assertions, as published with the code); the pages are third parties'",
    )
    return ImportSummary(gold, corpus, SOURCE, {"page_assertions": len(rows)}, tuple(skipped))


def _read(where: str, line: str, pdfs: Path, by_pdf: dict[str, list[dict[str, Any]]], skipped: list[str]) -> None:
    try:
        entry = json.loads(line)
        pdf = str(entry["pdf"])
        given = {name: value for name, value in entry.items() if name in _FIELDS}
        label = PageAssertionLabel.model_validate({**given, "kind": entry["type"]})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fault = error.errors(include_input=False)[0]["loc"] if isinstance(error, ValidationError) else None
        named = f"its {'.'.join(map(str, fault))} is not known here" if fault else "it is no assertion"
        skipped.append(f"{where}: {named}")
        return
    if entry.get("checked") == "rejected":
        skipped.append(f"{where}: its publisher rejected it")
    elif not (pdfs / pdf).resolve().is_relative_to(pdfs.resolve()) or not (pdfs / pdf).is_file():
        skipped.append(f"{where}: its PDF is missing")
    else:
        by_pdf[pdf].append(label.model_dump(exclude_defaults=True))
