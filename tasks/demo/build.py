"""Building the demo: a corpus, its exact labels and a configuration, the same bytes every time."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from tasks.demo import broken
from tasks.demo.authored import Source
from tasks.demo.configuration import CLASSES, EXPECTED_QUARANTINE, FIRST_LINE, SCANS, configuration
from tasks.demo.contracts import render_contract
from tasks.demo.duplicates import pair_labels
from tasks.demo.labels import Rendered, labels_of
from tasks.demo.messages import render_message
from tasks.demo.notes import render_note
from tasks.demo.pages import render_page
from tasks.demo.reports import render_report
from tasks.demo.revisions import Revision, healthy, regressed
from tasks.demo.scans import render_scan
from tasks.demo.variation import Variation
from tasks.demo.workbooks import render_workbook
from tasks.errors import ConfigurationError
from tasks.gold.writing import write_gold_set

State = Literal["healthy", "regressed"]

GOLD_VERSIONS: Mapping[State, str] = MappingProxyType({"healthy": "1", "regressed": "2"})


@dataclass(frozen=True, slots=True)
class DemoDocument:
    """A file of the demo: its path in the corpus, class, version, time of commit, and the kinds of its labels."""

    path: str
    doc_class: str
    content_sha: str
    commit_time: datetime
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DemoCorpus:
    """What `build` wrote. `expected_quarantine` leads from path to (stage, error class)."""

    corpus: Path
    gold: Path
    configuration: Path
    documents: tuple[DemoDocument, ...]
    expected_quarantine: Mapping[str, tuple[str, str]]

    def by_class(self) -> Mapping[str, int]:
        """Documents per class."""
        return Counter(document.doc_class for document in self.documents)


def build(folder: Path, *, state: State = "healthy", copies: int = 1, seed: int = 1) -> DemoCorpus:
    """Writes `corpus/`, `gold/` and `corpusgate.yaml` into the folder, in place of an earlier demo there.

    The state `regressed` is the same corpus some weeks later: documents changed, added, moved and deleted, and
    every report exported with a broken text layer. With `copies` over 1 each copy lies under `copy-0001/` … with
    other names, numbers and dates and a tenant of its own, and no scans: recognizing them would outweigh all else.
    Anything else in the folder (a lake) is left alone.

    Raises:
        ConfigurationError: the folder holds files of the same names that no demo wrote.
    """
    _make_room(folder)
    prefixes = [""] if copies == 1 else [f"copy-{n:04}/" for n in range(1, copies + 1)]
    # First, so that a folder whose building broke off is known as ours.
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpusgate.yaml").write_text(configuration(prefixes), encoding="utf-8")
    documents: list[DemoDocument] = []
    rows: dict[str, list[dict[str, Any]]] = {}
    revisions = healthy() if state == "healthy" else regressed()
    if copies > 1:
        revisions = tuple(revision for revision in revisions if revision.source.folder != SCANS)
    for copy, prefix in enumerate(prefixes, 1):
        for document, document_rows in _write_copy(folder / "corpus", prefix, revisions, Variation(seed, copy)):
            documents.append(document)
            for kind, row in document_rows.items():
                rows.setdefault(kind, []).append(row)
    write_gold_set(
        folder / "gold",
        "demo",
        GOLD_VERSIONS[state],
        rows,
        description="Labels of the corpusgate demo, made from the same sources as its files",
        licence="Apache-2.0",
    )
    expected = {f"{prefix}{path}": error for prefix in prefixes for path, error in EXPECTED_QUARANTINE.items()}
    return DemoCorpus(folder / "corpus", folder / "gold", folder / "corpusgate.yaml", tuple(documents), expected)


def _make_room(folder: Path) -> None:
    """Takes the files of an earlier demo out of the folder."""
    mine = folder / "corpusgate.yaml"
    ours = mine.is_file() and mine.read_text(encoding="utf-8").startswith(FIRST_LINE)
    for path in (mine, folder / "corpus", folder / "gold"):
        if path.exists() and not ours:
            raise ConfigurationError(
                f"{path} exists and was not written by the demo", remedy="name an empty folder for the demo"
            )
        if path.is_dir():
            for file in sorted(path.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()


def _write_copy(
    corpus: Path, prefix: str, revisions: Sequence[Revision], variation: Variation
) -> Iterator[tuple[DemoDocument, dict[str, dict[str, Any]]]]:
    sources = [variation.source(revision.source) for revision in revisions]
    made = [_render(source, damaged=revision.damaged) for source, revision in zip(sources, revisions, strict=True)]
    shas = {
        source.path: hashlib.sha256(rendered.data).hexdigest() for source, rendered in zip(sources, made, strict=True)
    }
    pairs = pair_labels({revision.first_path: revision.source.path for revision in revisions}, shas, f"demo:{prefix}")
    for revision, source, rendered in zip(revisions, sources, made, strict=True):
        sha = shas[source.path]
        commit_time = datetime.fromisoformat(source.committed)
        path = f"{prefix}{source.path}"
        _write(corpus / path, rendered.data, commit_time)
        bound = {kind: (sha, label) for kind, label in labels_of(source, rendered).items()}
        if source.path in pairs:
            bound["pairs"] = (sha, pairs[source.path])
        bound |= _stale(revision, variation)
        rows = {
            kind: {"document": f"demo:{path}", "content_sha": bound_sha, "label": label.model_dump(mode="json")}
            for kind, (bound_sha, label) in bound.items()
        }
        yield (
            DemoDocument(path, CLASSES.get(source.folder, "unclassified"), sha, commit_time, tuple(sorted(rows))),
            rows,
        )


def _stale(revision: Revision, variation: Variation) -> dict[str, tuple[str, Any]]:
    """The label that nobody renewed when the document changed."""
    if revision.previous is None or revision.stale is None:
        return {}
    previous = variation.source(revision.previous)
    rendered = _render(previous)
    return {revision.stale: (hashlib.sha256(rendered.data).hexdigest(), labels_of(previous, rendered)[revision.stale])}


_RENDERERS: Mapping[str, Callable[[Source], Rendered]] = MappingProxyType(
    {
        "corrupt": broken.corrupt,
        "encrypted": broken.encrypted,
        "empty": broken.empty,
        "scan": render_scan,
        ".docx": render_contract,
        ".eml": render_message,
        ".html": render_page,
        ".pdf": render_report,
        ".md": render_note,
        ".txt": render_note,
        ".xlsx": render_workbook,
        ".jpg": render_scan,
        ".png": render_scan,
    }
)


def _render(source: Source, *, damaged: bool = False) -> Rendered:
    renderer = _RENDERERS.get(source.layout) or _RENDERERS[Path(source.path).suffix]
    rendered = renderer(source)
    return replace(rendered, data=broken.break_text_layer(rendered.data)) if damaged else rendered


def _write(path: Path, data: bytes, commit_time: datetime) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (commit_time.timestamp(), commit_time.timestamp()))
