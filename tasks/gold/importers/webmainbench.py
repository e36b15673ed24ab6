"""WebMainBench (Apache-2.0): web pages with their main content as people wrote it down in Markdown."""

from pathlib import Path

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import json_lines

_CONTENT = ("groundtruth_content", "convert_main_content", "groundtruth_llm_webkit_md")


def read(folder: Path) -> DataSet:
    """Pages `<file>-<n>.html` with content labels, of every `*.jsonl` below the folder."""
    documents: list[MadeDocument] = []
    bad: list[BadRow] = []
    for path in sorted(folder.rglob("*.jsonl")):
        for line, record in json_lines(path, bad):
            page = record.get("html")
            content = next((record[key] for key in _CONTENT if isinstance(record.get(key), str) and record[key]), None)
            if not isinstance(page, str) or not page or content is None:
                bad.append(BadRow(path.name, line, "is no page with its main content"))
                continue
            # The page is text, so what it says of its bytes no longer holds; the mark says what does.
            data = b"\xef\xbb\xbf" + page.encode()
            documents.append(MadeDocument(f"{path.stem}-{line - 1:03}.html", data, {"content": {"text": content}}))
    return DataSet(tuple(documents), tuple(bad))
