"""The article-extraction-benchmark (Scrapinghub, MIT): pages and the article bodies that people marked in them.

The pages are stored compressed, so a corpus folder is made of them.
"""

from pathlib import Path

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import json_records, unpacked


def read(folder: Path) -> DataSet:
    """Pages `<id>.html` with content labels."""
    bad: list[BadRow] = []
    skipped: list[str] = []
    documents: list[MadeDocument] = []
    truth = folder / "ground-truth.json"
    for line, page, entry in json_records(truth, bad) if truth.is_file() else ():
        body = entry.get("articleBody") if isinstance(entry, dict) else None
        if page is None or "/" in page or not isinstance(body, str):
            bad.append(BadRow(truth.name, line, "is no page with its articleBody"))
            continue
        packed = folder / "html" / f"{page}.html.gz"
        if not packed.is_file():
            skipped.append(f"{truth.name}:{line}: its page is missing")
        elif (data := unpacked(packed, bad)) is not None:
            documents.append(MadeDocument(f"{page}.html", data, {"content": {"text": body}}))
    return DataSet(tuple(sorted(documents, key=lambda document: document.path)), tuple(bad), tuple(skipped))
