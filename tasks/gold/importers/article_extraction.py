"""The article-extraction-benchmark (Scrapinghub, MIT): pages and the article bodies that people marked in them.

The pages are stored compressed, so a corpus folder is made of them: `corpus/<id>.html` beside `gold/`.
"""

import gzip
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

from tasks.errors import ConfigurationError
from tasks.gold.importers.summary import ImportSummary
from tasks.gold.writing import write_gold_set

SOURCE = "article-extraction-benchmark"


def import_folder(source_folder: Path, out_folder: Path) -> ImportSummary:
    """Reads `ground-truth.json` and `html/<id>.html.gz`; writes `corpus/` and `gold/` with content labels.

    Raises:
        ConfigurationError: the folder does not hold the benchmark.
    """
    truth = _truth(source_folder / "ground-truth.json")
    corpus = out_folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    skipped: list[str] = []
    for page, entry in sorted(truth.items()):
        packed = source_folder / "html" / f"{page}.html.gz"
        try:
            data = gzip.decompress(packed.read_bytes())
        except (OSError, EOFError, zlib.error) as error:
            skipped.append(f"{packed.name}: the page cannot be read ({type(error).__name__})")
            continue
        (corpus / f"{page}.html").write_bytes(data)
        rows.append(
            {
                "document": f"{SOURCE}:{page}.html",
                "content_sha": hashlib.sha256(data).hexdigest(),
                "label": {"text": entry["articleBody"]},
            }
        )
    gold = out_folder / "gold"
    write_gold_set(
        gold,
        SOURCE,
        "1",
        {"content": rows},
        description="Main text of web pages, marked by people.",
        licence="MIT (labels); the pages are third parties'",
    )
    return ImportSummary(gold, corpus, SOURCE, {"content": len(rows)}, tuple(skipped))


def _truth(path: Path) -> dict[str, dict[str, Any]]:
    try:
        truth: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        bad = [page for page, entry in truth.items() if not isinstance(entry["articleBody"], str)]
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} is not the benchmark's ground truth ({type(error).__name__})",
            remedy="name the folder with ground-truth.json and html/",
        ) from error
    if bad:
        raise ConfigurationError(f"{path}: no articleBody for {', '.join(bad)}", remedy="mend these entries")
    return truth
