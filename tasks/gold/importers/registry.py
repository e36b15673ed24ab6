"""Who reads each format of labels, and the import itself."""

import hashlib
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tasks.errors import ConfigurationError
from tasks.gold.gold_set import listed
from tasks.gold.importers import (
    article_extraction,
    chroma_chunking,
    conll,
    docred,
    grobid_header,
    htmldate_eval,
    icdar2013,
    languages,
    near_duplicates,
    olmocr_bench,
    presidio_research,
    pubtabnet,
    relevance,
    scifact,
    sroie,
    webmainbench,
)
from tasks.gold.importers.data_set import DataSet
from tasks.gold.importers.formats import FORMATS, GoldFormat
from tasks.gold.importers.summary import ImportSummary
from tasks.gold.writing import write_gold_set

READERS: Mapping[str, Callable[[Path], DataSet]] = MappingProxyType(
    {
        "article-extraction-benchmark": article_extraction.read,
        "beir": relevance.read_beir,
        "chroma-chunking-eval": chroma_chunking.read,
        "conll": conll.read,
        "grobid-header": grobid_header.read,
        "htmldate-eval": htmldate_eval.read,
        "icdar2013": icdar2013.read,
        "languages": languages.read,
        "near-duplicates": near_duplicates.read,
        "olmocr-bench": olmocr_bench.read,
        "presidio-research": presidio_research.read,
        "pubtabnet": pubtabnet.read,
        "re-docred": docred.read,
        "scifact": scifact.read,
        "sroie": sroie.read,
        "trec-qrels": relevance.read_trec,
        "webmainbench": webmainbench.read,
    }
)


def import_gold(
    format_name: str, source_folder: Path, out_folder: Path, *, allow_bad_rows: bool = False
) -> ImportSummary:
    """Reads a published data set; writes its documents to `corpus/` and its labels, bound to their bytes, to `gold/`.

    Where bad rows are allowed they are left out, and the manifest of the gold set says how many of which file.

    Raises:
        ConfigurationError: the format is not known, the folder does not hold it, or rows are wrong (listed by file and
            line) and `allow_bad_rows` is not set; nothing is written then.
    """
    known = {form.name: form for form in FORMATS}
    if format_name not in known:
        raise ConfigurationError(
            f"gold format {format_name!r} is not known", remedy=f"use one of: {', '.join(sorted(known))}"
        )
    if not source_folder.is_dir():
        raise ConfigurationError(f"{source_folder} is no folder", remedy="name the folder that holds the data set")
    form = known[format_name]
    data_set = READERS[format_name](source_folder)
    bad = [str(row) for row in data_set.bad_rows]
    if bad and not allow_bad_rows:
        raise ConfigurationError(
            f"{source_folder} has {len(bad)} bad rows:\n{listed(bad)}",
            remedy="mend them, or leave them out, which the manifest will say: --allow-bad-rows",
        )
    if not data_set.documents:
        why = f"; left out:\n{listed([*bad, *data_set.skipped])}" if bad or data_set.skipped else ""
        raise ConfigurationError(
            f"{source_folder} holds nothing of format {format_name}{why}",
            remedy=f"name the folder with {form.expects}",
        )
    return _write(form, data_set, out_folder)


def _write(form: GoldFormat, data_set: DataSet, out_folder: Path) -> ImportSummary:
    corpus, gold = out_folder / "corpus", out_folder / "gold"
    rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in data_set.documents:
        target = corpus / document.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(document.data, Path):
            shutil.copy2(document.data, target)
            sha = hashlib.sha256(target.read_bytes()).hexdigest()
        else:
            target.write_bytes(document.data)
            sha = hashlib.sha256(document.data).hexdigest()
        for kind, label in document.labels.items():
            rows[kind].append({"document": f"{form.name}:{document.path}", "content_sha": sha, "label": label})
    manifest = write_gold_set(
        gold,
        form.name,
        "1",
        rows,
        description=form.description,
        licence=form.licence,
        left_out=Counter(row.file for row in data_set.bad_rows),
    )
    labels = {kind: len(of_kind) for kind, of_kind in rows.items()}
    return ImportSummary(gold, corpus, form.name, labels, manifest.left_out, data_set.skipped)
