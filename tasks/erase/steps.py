"""Removing a document from a lake, so that no file holds anything of it. Killed anywhere, the same call ends it.

A tombstone comes first: from then on no run takes the document in. What follows may be done twice without harm, and
what the tombstone does not say (paths) is looked for last.
"""

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.documents import LOCATIONS
from schemas.names import StageName
from tasks.embedding.cache import keep_vectors, vector_digest
from tasks.erase.found import Meant, named_contents, plans, tables
from tasks.erase.gold import rewrite_labels
from tasks.erase.tables import remove_rows
from tasks.errors import ConfigurationError, RunError
from tasks.figures.catalogue import Catalogue
from tasks.figures.stored import make_figures
from tasks.index.records import Generation
from tasks.index.store import LanceIndex
from tasks.lake.erased import Tombstone, content_digest, place_digest, read_erased, write_erased
from tasks.lake.files import read_table, write_json
from tasks.lake.layout import TORN, Lake
from tasks.lake.raw import RawStore
from tasks.lake.runs import Runs
from tasks.lake.views import remove_spilled
from tasks.report.write import write_report

_GONE = "(it named a document that was erased since)"


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was done: rows that went, versions whose bytes went, generations made anew and given up, by run."""

    document_id: str
    rows: int
    raw: int
    vectors: int
    anew: tuple[str, ...]
    retired: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Eraser:
    """A lake that this process holds, with what removing a document from it needs."""

    lake: Lake
    index: LanceIndex
    keep_generations: int
    catalogue: Catalogue

    def erase(self, document: Meant) -> Erasure:
        """Removes a document.

        Raises:
            RunError: a file is torn or cannot be written; what is done stays done, and the same call goes on.
        """
        stone = Tombstone(
            document.document_id,
            tuple(place_digest(source, uri) for source, uri in document.places),
            tuple(content_digest(sha) for sha in document.contents),
            document.runs,
            datetime.now(UTC).isoformat(),
        )
        write_erased(self.lake, read_erased(self.lake).with_stone(stone))
        return self._finish(stone, document)

    def go_on(self) -> list[Erasure]:
        """Ends what was begun and not ended."""
        return [self._finish(stone, None) for stone in read_erased(self.lake).unfinished]

    def _finish(self, stone: Tombstone, document: Meant | None) -> Erasure:
        ids = (stone.document_id,)
        document = document or Meant(stone.document_id, self._places_left(ids), (), (), stone.runs)
        self._forget_labels(ids, document.names)
        self._forget_words(stone, document)
        described = {path for path in tables(self.lake) if _describes(path)}
        rows = sum(self._remove(path, ids) for path in tables(self.lake) if path not in described)
        cleaned = self.index.erase(ids, self.keep_generations)
        self._name_generations()
        raw = self._remove_raw(stone)
        vectors = keep_vectors(self.lake.cache, self._vectors())
        for name in ("unpacked", "compared"):
            shutil.rmtree(self.lake.cache / name, ignore_errors=True)
        remove_spilled(self.lake)
        shutil.rmtree(self.lake.root / TORN, ignore_errors=True)  # nobody can tell what is in it
        for trace in self.lake.quarantine.glob(f"tracebacks/*-{stone.document_id}.txt"):
            trace.unlink(missing_ok=True)
        # Paths go last: by them the document is found again if this is killed before it is done.
        rows += sum(self._remove(path, ids) for path in sorted(described))
        for run in stone.runs:
            self._tell_anew(run)
        for path in self.lake.half_written():
            path.unlink(missing_ok=True)
        write_erased(self.lake, read_erased(self.lake).finished(stone.document_id, datetime.now(UTC).isoformat()))
        names = [tuple(generation.run_id for generation in part) for part in (cleaned.anew, cleaned.retired)]
        return Erasure(stone.document_id, rows, raw, vectors, names[0], names[1])

    def _remove(self, path: Path, ids: Collection[str]) -> int:
        # Files of a run stay where they are, empty: its batches are counted by them.
        return remove_rows(path, ids, keep_empty=self.lake.runs in path.parents)

    def _places_left(self, ids: Collection[str]) -> tuple[tuple[str, str], ...]:
        places = set()
        for path in plans(self.lake):
            table = pq.read_table(path, columns=["document_id", "source", "uri"], partitioning=None)
            found = table.filter(pc.is_in(table.column("document_id"), pa.array(sorted(ids))))
            places |= {(row["source"], row["uri"]) for row in found.to_pylist()}
        return tuple(sorted(places))

    def _forget_labels(self, ids: Collection[str], names: Collection[str]) -> None:
        renamed = rewrite_labels(self.lake, ids, names)
        if renamed:
            for manifest in sorted(self.lake.runs.rglob("manifest.json")):
                _edit(manifest, lambda found: _relabelled(found, renamed))
        for old in renamed:
            (self.lake.gold / f"{old}.parquet").unlink(missing_ok=True)

    def _forget_words(self, stone: Tombstone, document: Meant) -> None:
        """What a run wrote down in words: its error may name a file, and a traceback may hold anything."""
        words = {uri for _, uri in document.places} | set(document.locators)
        for path in sorted(self.lake.runs.rglob("manifest.json")):
            _edit(path, lambda found: _without_words(found, words))
        for run in stone.runs:
            (self.lake.run(run) / "error.txt").unlink(missing_ok=True)

    def _name_generations(self) -> None:
        """A run that made a generation which was made anew names the new one."""
        runs = Runs(self.lake)
        for generation in self.index.kept(self.keep_generations):
            recorded = runs.manifest(generation.run_id).get("candidate")
            if recorded is not None and Generation(**recorded) != generation:
                runs.update(generation.run_id, candidate=asdict(generation))

    def _remove_raw(self, stone: Tombstone) -> int:
        """Bytes that no other document has. What nothing names goes too: a killed fetch may have left it there."""
        raw = RawStore(self.lake.raw)
        named = named_contents(self.lake, but=[stone.document_id])
        gone = [sha for sha in raw.stored() if sha not in named]
        for sha in gone:
            raw.remove(sha)
        return sum(content_digest(sha) in stone.contents for sha in gone)

    def _vectors(self) -> set[bytes]:
        """Digests of the vectors that outputs hold. Those of former chunk sizes are nobody's any more."""
        kept: set[bytes] = set()
        for path in sorted(self.lake.stage(StageName.EMBED).glob("*.parquet")):
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=16, columns=["embeddings"], use_threads=False):
                    vectors = pc.struct_field(batch.column("embeddings").flatten(), "vector")
                    kept.update(vector_digest(vector.values.to_numpy()) for vector in vectors if vector.is_valid)
        return kept

    def _tell_anew(self, run_id: str) -> None:
        """Figures and report of a run that held the document, from what is left of it."""
        folder = self.lake.run(run_id)
        shutil.rmtree(folder / "figures", ignore_errors=True)
        if (folder / "locations.parquet").exists():
            locations = read_table(folder / "locations.parquet", LOCATIONS)
            plan = Runs(self.lake).plan(run_id)
            for stage in StageName:
                here = locations.filter(pc.equal(locations.column("stage"), stage.value))
                make_figures(self.lake, run_id, stage, here, plan, self.catalogue)
        reports = [path for path in (folder / "report.md", folder / "report.html") if path.exists()]
        for path in reports:
            path.unlink()
        if reports:
            try:
                write_report(self.lake, run_id, self.catalogue)
            except (ConfigurationError, RunError):
                return  # a run of an older version: it keeps its tables, and has no report any more


def _describes(path: Path) -> bool:
    """Whether a table says where a document lay: the plan, and the batches that were made of it."""
    return path.name == "plan.parquet" or path.parent.name == "batches"


def _edit(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    before = json.loads(path.read_text(encoding="utf-8"))
    after = change(before)
    if after != before:
        write_json(path, after)


def _relabelled(manifest: dict[str, Any], renamed: Mapping[str, str | None]) -> dict[str, Any]:
    digest = manifest.get("gold_digest")
    return manifest | {"gold_digest": renamed[digest]} if isinstance(digest, str) and digest in renamed else manifest


def _without_words(manifest: dict[str, Any], words: Collection[str]) -> dict[str, Any]:
    told = {name: manifest[name] for name in ("error", "not_measured_again") if manifest.get(name)}
    return manifest | {name: _said(value, words) for name, value in told.items()}


def _said(value: Any, words: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {key: _said(item, words) for key, item in value.items()}
    return _GONE if any(word in value for word in words) else value
