"""WebMainBench (Apache-2.0): web pages with their main content as people wrote it down in Markdown."""

import json
from pathlib import Path
from typing import Any

from tasks.errors import ConfigurationError
from tasks.gold.importers.made_corpus import MadeDocument, write_corpus
from tasks.gold.importers.summary import ImportSummary

SOURCE = "webmainbench"
_CONTENT = ("groundtruth_content", "convert_main_content", "groundtruth_llm_webkit_md")


def import_folder(source_folder: Path, out_folder: Path) -> ImportSummary:
    """Reads every `*.jsonl` below the folder; writes `corpus/<file>-<n>.html` and `gold/` with content labels.

    Raises:
        ConfigurationError: no line of any file holds a page with its content.
    """
    documents: list[MadeDocument] = []
    skipped: list[str] = []
    for path in sorted(source_folder.rglob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            page, content = _page(line)
            if page is None or content is None:
                skipped.append(f"{path.name}, line {number + 1}: no page with its main content")
                continue
            # The page is text, so what it says of its bytes no longer holds; the mark says what does.
            data = b"\xef\xbb\xbf" + page.encode()
            documents.append(MadeDocument(f"{path.stem}-{number:03}.html", data, {"content": {"text": content}}))
    if not documents:
        raise ConfigurationError(
            f"{source_folder} holds no pages of WebMainBench", remedy="name the folder that holds its *.jsonl files"
        )
    return write_corpus(
        out_folder,
        SOURCE,
        documents,
        description="Main content of web pages in Markdown, written by people.",
        licence="Apache-2.0 (labels); the pages are third parties'",
        skipped=skipped,
    )


def _page(line: str) -> tuple[str | None, str | None]:
    try:
        record: Any = json.loads(line)
        content = next((record[key] for key in _CONTENT if isinstance(record.get(key), str) and record[key]), None)
        page = record.get("html")
    except (ValueError, AttributeError):
        return None, None
    return (page if isinstance(page, str) and page else None), content
