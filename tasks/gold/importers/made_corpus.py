"""A corpus folder and a gold set made of documents that a data set holds as records."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.gold.importers.summary import ImportSummary
from tasks.gold.writing import write_gold_set


@dataclass(frozen=True, slots=True)
class MadeDocument:
    """A file to write: its path below the corpus folder, its bytes, and a label of each kind."""

    path: str
    data: bytes
    labels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def write_corpus(
    out_folder: Path,
    source: str,
    documents: Iterable[MadeDocument],
    *,
    description: str,
    licence: str,
    skipped: Sequence[str] = (),
) -> ImportSummary:
    """Writes the documents to `corpus/` and their labels, bound to these bytes, to `gold/`."""
    corpus = out_folder / "corpus"
    rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in documents:
        target = corpus / document.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(document.data)
        sha = hashlib.sha256(document.data).hexdigest()
        for kind, label in document.labels.items():
            rows[kind].append({"document": f"{source}:{document.path}", "content_sha": sha, "label": label})
    gold = out_folder / "gold"
    write_gold_set(gold, source, "1", dict(rows), description=description, licence=licence)
    return ImportSummary(gold, corpus, source, {kind: len(found) for kind, found in rows.items()}, tuple(skipped))
