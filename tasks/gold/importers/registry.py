"""The formats that can be imported."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from tasks.errors import ConfigurationError
from tasks.gold.importers import (
    article_extraction,
    chroma_chunking,
    conll,
    docred,
    grobid_header,
    htmldate_eval,
    icdar2013,
    languages,
    olmocr_bench,
    scifact,
    sroie,
    webmainbench,
)
from tasks.gold.importers.summary import ImportSummary

IMPORTERS: Mapping[str, Callable[[Path, Path], ImportSummary]] = MappingProxyType(
    {
        "article-extraction-benchmark": article_extraction.import_folder,
        "chroma-chunking-eval": chroma_chunking.import_folder,
        "conll": conll.import_folder,
        "grobid-header": grobid_header.import_folder,
        "htmldate-eval": htmldate_eval.import_folder,
        "icdar2013": icdar2013.import_folder,
        "languages": languages.import_folder,
        "olmocr-bench": olmocr_bench.import_folder,
        "re-docred": docred.import_folder,
        "scifact": scifact.import_folder,
        "sroie": sroie.import_folder,
        "webmainbench": webmainbench.import_folder,
    }
)


def import_gold(format_name: str, source_folder: Path, out_folder: Path) -> ImportSummary:
    """Reads a published data set and writes it as a gold set, with a corpus where its files cannot be read as they are.

    Raises:
        ConfigurationError: the format is not known, or the folder does not hold it.
    """
    importer = IMPORTERS.get(format_name)
    if importer is None:
        raise ConfigurationError(
            f"gold format {format_name!r} is not known", remedy=f"use one of: {', '.join(sorted(IMPORTERS))}"
        )
    if not source_folder.is_dir():
        raise ConfigurationError(f"{source_folder} is no folder", remedy="name the folder that holds the data set")
    return importer(source_folder, out_folder)
