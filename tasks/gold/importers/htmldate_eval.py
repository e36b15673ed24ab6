"""htmldate's evaluation set (Apache-2.0): web pages with their date of publication."""

import gzip
import json
from pathlib import Path

from tasks.errors import ConfigurationError
from tasks.gold.importers.made_corpus import MadeDocument, write_corpus
from tasks.gold.importers.summary import ImportSummary

SOURCE = "htmldate-eval"


def import_folder(source_folder: Path, out_folder: Path) -> ImportSummary:
    """Reads `eval_default.json` and `html/<file>.gz`; writes `corpus/` and `gold/`.

    Raises:
        ConfigurationError: the folder does not hold the set.
    """
    path = source_folder / "eval_default.json"
    try:
        pages: dict[str, set[str]] = {}
        for entry in json.loads(path.read_bytes()).values():
            pages.setdefault(entry["file"], set()).add(entry["date"])
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} is not htmldate's evaluation set ({type(error).__name__})",
            remedy="name the folder with eval_default.json and html/",
        ) from error
    documents: list[MadeDocument] = []
    skipped: list[str] = []
    for name, days in sorted(pages.items()):
        if len(days) > 1:
            skipped.append(f"{name}: is labelled twice, with different days")
            continue
        try:
            data = gzip.decompress((source_folder / "html" / f"{name}.gz").read_bytes())
        except (OSError, EOFError) as error:
            skipped.append(f"{name}: the page cannot be read ({type(error).__name__})")
        else:
            documents.append(MadeDocument(name, data, {"metadata": {"published": next(iter(days))}}))
    return write_corpus(
        out_folder,
        SOURCE,
        documents,
        description="Dates of publication of web pages.",
        licence="Apache-2.0 (labels); the pages are third parties'",
        skipped=skipped,
    )
