"""presidio-research's samples (Microsoft, MIT): short texts with the places and types of the personal data in them."""

from pathlib import Path
from typing import Any

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import json_records

_SURROUNDING = 32


def read(folder: Path) -> DataSet:
    """Texts `<file>-<n>.txt` with pii labels, of every `*.json` of the folder; n is the place in the file, from 0.

    A text that stands twice with the same labels is taken once; with other labels it is a bad row, as is one of which a
    span is not where it says.
    """
    documents: list[MadeDocument] = []
    bad: list[BadRow] = []
    skipped: list[str] = []
    for path in sorted(folder.glob("*.json")):
        seen: dict[str, list[Any]] = {}
        repeated = 0
        for number, (line, _, sample) in enumerate(json_records(path, bad)):
            try:
                text = sample["full_text"]
                spans = sorted((_span(text, span) for span in sample["spans"]), key=lambda span: span[0])
                data = text.encode()
            except (KeyError, TypeError, ValueError, AttributeError):
                bad.append(BadRow(path.name, line, "is no text with spans that stand at their places"))
                continue
            if text in seen:
                repeated += seen[text] == spans
                if seen[text] != spans:
                    bad.append(BadRow(path.name, line, "is labelled a second time, in another way"))
                continue
            seen[text] = spans
            label = {"spans": [{"type": kind, "quote": quote} for _, kind, quote in spans]}
            documents.append(MadeDocument(f"{path.stem}-{number:05}.txt", data, {"pii": label}))
        if repeated:
            skipped.append(f"{path.name}: {repeated} texts that stand there already, with the same labels")
    return DataSet(tuple(documents), tuple(bad), tuple(skipped))


def _span(text: str, span: Any) -> tuple[int, str, dict[str, str]]:
    start, end, kind = span["start_position"], span["end_position"], span["entity_type"]
    if not isinstance(kind, str) or not kind or start < 0 or not text[start:end].strip():
        raise ValueError("no span")
    if text[start:end] != span["entity_value"]:
        raise ValueError("its value stands elsewhere")
    quote = {"exact": text[start:end], "prefix": text[max(0, start - _SURROUNDING) : start]}
    return start, kind, quote | {"suffix": text[end : end + _SURROUNDING]}
