"""The index in LanceDB tables: a candidate beside live, promotion, rollback, and what may be deleted.

A table is a folder of immutable files; a generation is one of its versions, kept alive by a tag. A candidate is made
by restoring live's version as the table's newest and changing that, so bytes written follow the change, and neither
a rejected candidate nor a killed build leaves a row in the next.
"""

import re
import secrets
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.errors import RunError
from tasks.index.generations import Generations
from tasks.index.locks import held
from tasks.index.records import Candidate, Cleaned, Generation, Live, Pending
from tasks.index.search import LanceView, among
from tasks.index.settings import IndexSettings
from tasks.index.table_folder import TableFolder
from tasks.index.tables import flush_written, lance_module, row_schema, set_tag, tags_of
from tasks.index.wholeness import rows_are_whole, torn_indexes_of, torn_is_named
from tasks.index.writing import create_table, extend_indexes, insert_rows, rebuild_indexes
from tasks.memory import give_back_freed_memory

TABLE_FORMAT = 2
"""Raised when the columns or the way of indexing text change: the next build then makes a new table."""

_ANEW = "anew."
"""Begins the tags of generations that hold no row that they do not show, and indexes of these rows alone."""
_REINDEXED = "reindexed."
"""Begins the tags of generations whose indexes were built anew after a file of them was torn."""

_INDEX_CACHE_BYTES = 256 * 2**20
_METADATA_CACHE_BYTES = 64 * 2**20


class LanceIndex:
    """All generations of one index under one folder. Readers need no lock; writers exclude one another."""

    def __init__(self, root: Path, settings: IndexSettings) -> None:
        self._root = root
        self._settings = settings
        self._tables = TableFolder(root)
        self._generations = Generations(root, settings.lock_seconds)
        self._session: Any = None

    def live(self) -> Live | None:
        """The generation in use, or null before the first promotion."""
        return self._generations.live()

    def history(self) -> list[Live]:
        """All that was live, oldest first, rollbacks included."""
        return self._generations.history()

    def kept(self, keep: int) -> list[Generation]:
        """Live and the `keep` - 1 generations before it, oldest first."""
        return list(dict.fromkeys(at.generation for at in self._generations.standing()[-keep:]))

    def open(self, generation: Generation) -> LanceView:
        """A view pinned to this generation.

        Raises:
            RunError: its files are gone.
        """
        # The writer's look at the files comes first: what a session remembers may have been collected since.
        self._tables.open(generation.table, generation.version)
        if self._session is None:
            self._session = self._new_session()
        dataset = self._tables.open(generation.table, generation.version, session=self._session)
        return LanceView(dataset, self._settings, generation.embedding)

    def open_live(self) -> LanceView | None:
        """A view of what is live now, or null where nothing is; a promotion in the meantime does no harm."""
        while True:
            live = self.live()
            if live is None:
                return None
            try:
                return self.open(live.generation)
            except RunError:
                if self.live() == live:
                    raise

    def is_whole(self, generation: Generation) -> bool:
        """Whether every row of a generation can be read; of what was collected nothing is left, and it is whole."""
        if not self._tables.path(generation.table).exists():
            live = self.live()
            return live is None or generation != live.generation
        try:
            # Not through a session, which would answer from what it has read before.
            return rows_are_whole(self._tables.open(generation.table, generation.version))
        except RunError:
            return False

    def torn_indexes(self, generation: Generation) -> list[str]:
        """Names of the indexes over a generation's rows with a torn file; reads them all. None of what was collected.

        Raises:
            RunError: the table cannot be opened.
        """
        if not self._tables.path(generation.table).exists():
            return []
        return torn_indexes_of(self._tables.open(generation.table, generation.version, session=self._new_session()))

    def reindex(self, generation: Generation) -> Generation:
        """Puts a generation of the same rows, with indexes built anew, in the place of one whose indexes are torn."""
        with self._writing(), self._generations.lock():
            started = time.time()
            dataset = self._tables.restore(generation.table, generation.version)
            anew = self._indexed_anew(dataset, generation, _REINDEXED, started)
            self._generations.replace({generation: anew})
            self._tables.untag(generation)
            return anew

    def give_up(self, generation: Generation) -> None:
        """Lets go of a generation that is not live: its files go with the next `collect`, unless others need them."""
        with self._writing():
            self._tables.untag(generation)

    def put_in_place(self, old: Generation, anew: Generation) -> None:
        """Puts a generation that holds the same documents in the place of one whose files are torn."""
        with self._writing(), self._generations.lock():
            self._generations.replace({old: anew})
            self._tables.untag(old)

    def pending(self, target: pa.Table, *, dimension: int, embedding: str, anew: bool = False) -> Pending:
        """What separates live from `target` (document_id, index_key of every document that should be indexed).

        Both lists are sorted. Another model, dimension or table format calls for a new table (`anew` asks for one):
        then all documents are to be written and none is to be removed.
        """
        return self._pending(None if anew else self._base(dimension, embedding), target)

    def build(
        self,
        run_id: str,
        target: pa.Table,
        rows: Iterable[pa.Table],
        *,
        dimension: int,
        embedding: str,
        anew: bool = False,
    ) -> Candidate:
        """Makes the generation that holds exactly the documents of `target`, beside live; `anew`: in a new table.

        `rows` are `INDEX_ROWS` with a `vector` column, streamed, for pending documents only.

        Raises:
            RunError: rows of a document that is not pending, rows that break the schema, or another builder at work.
        """
        if not re.fullmatch(r"[A-Za-z0-9_-]+", run_id):
            raise RunError(f"run id {run_id!r} cannot name a table", remedy="use letters, digits, - and _")
        with self._writing():
            self._tables.sweep()
            started = time.time()
            number, baseline = self._generations.number(), self.live()
            base = None if anew else self._base(dimension, embedding)
            pending = self._pending(base, target)
            if base is None:
                # Never a name twice: open views remember what they read by name and version.
                path = self._tables.path(f"chunks-v{TABLE_FORMAT}-{run_id}-{secrets.token_hex(3)}")
                dataset = create_table(path, row_schema(dimension))
            else:
                dataset = self._tables.restore(base.table, base.version)
                with torn_is_named(base.table):
                    for predicate in among("document_id", [*pending.write, *pending.remove]):
                        dataset.delete(predicate)
            written = insert_rows(dataset, rows, set(pending.write), row_schema(dimension))
            give_back_freed_memory()
            with torn_is_named(Path(dataset.uri).stem):
                extend_indexes(dataset, self._settings)
            table = Path(dataset.uri).stem
            generation = Generation(table, dataset.version, run_id, dimension, embedding)
            self._tables.tag_candidate(dataset, number, run_id)
            flush_written(self._tables.path(table), started)
            return Candidate(generation, baseline, written, len(pending.remove), dataset.count_rows())

    def flip(self, candidate_generation: Generation, *, expected: Live | None, verdict_digest: str) -> Live:
        """Makes a candidate live, atomically and durably.

        Raises:
            RunError: live is no longer `expected`, the verdict was used before, or the candidate's files are gone.
        """
        with self._generations.lock():
            self._tables.open(candidate_generation.table, candidate_generation.version)
            return self._generations.promote(candidate_generation, expected=expected, verdict_digest=verdict_digest)

    def rollback(self, *, expected: Live, recorded: Collection[str] | None = None) -> Live:
        """Makes the generation that was live before `expected` live again, with the verdict it once passed with.

        `recorded` are the runs whose records are there: without those of its run no later run could be planned.

        Raises:
            RunError: live is no longer `expected`, nothing was live before it, or that generation, or what its run
                recorded, was collected.
        """
        with self._generations.lock():
            standing = self._generations.standing()
            if len(standing) > 1:
                before = standing[-2].generation
                self._tables.open(before.table, before.version)
                if recorded is not None and before.run_id not in recorded:
                    raise RunError(
                        f"the records of run {before.run_id}, whose generation was live before, were collected",
                        remedy="promote a new run instead; run.keep_runs and run.keep_generations say what is kept",
                    )
            return self._generations.roll_back(expected=expected)

    def drop(self, generation: Generation) -> None:
        """Gives up a rejected candidate: its rows are in no later one, and its files go with the next `collect`.

        Raises:
            RunError: it is live, or a rollback could lead to it.
        """
        with self._writing(), self._generations.lock():
            if any(generation.place == live.generation.place for live in self._generations.standing()):
                raise RunError(
                    f"the generation of run {generation.run_id} is live or was",
                    remedy="roll back first; older generations are deleted by their number, not one by one",
                )
            self._tables.untag(generation)

    def collect(self, keep: int, *, grace_seconds: float = 0.0) -> int:
        """Deletes the files of all but live, the `keep` - 1 generations before it, and candidates still to be judged.

        What was live until `grace_seconds` ago stays too, rolled back or not: whoever began to read it comes to an end.
        A candidate whose baseline is no longer live cannot be promoted any more and goes. Returns the bytes freed.
        """
        with self._cleaning(keep):
            recent = self._generations.live_since(datetime.now(UTC) - timedelta(seconds=grace_seconds))
            kept = self._kept_places(keep) | {at.generation.place for at in recent}
            return self._tables.collect(kept, self._generations.number())

    def erase(self, document_ids: Collection[str], keep: int) -> Cleaned:
        """Makes live and the `keep` - 1 generations before it anew without these documents, and deletes all else.

        No file holds anything of them afterwards: rows are not only marked, and the indexes over them are built anew.
        A generation before live that cannot be made anew is given up. Whoever has one of the old ones open must open
        the index again.

        Raises:
            RunError: live itself cannot be made anew.
        """
        with self._cleaning(keep):
            self._tables.sweep()
            live, replaced, retired = self.live(), {}, []
            for generation in self.kept(keep):
                try:
                    if (anew := self._without(generation, document_ids)) is not None:
                        replaced[generation] = anew
                except (RunError, OSError, ValueError, RuntimeError) as error:
                    if live is not None and generation == live.generation:
                        raise RunError(
                            f"the live generation of run {generation.run_id} cannot be made anew: {error}",
                            remedy="free some space or mend what it names, then give the same command again",
                        ) from error
                    retired.append(generation)
            self._generations.replace(replaced)
            self._tables.forget_candidates(self._generations.number(), retired)
            self._tables.collect(self._kept_places(keep), self._generations.number())
            return Cleaned(tuple(replaced.values()), tuple(retired))

    def _without(self, generation: Generation, document_ids: Collection[str]) -> Generation | None:
        """The generation without these documents, as a version of its own; null where it needs none.

        Rows that an ordinary run took out (of a document that was changed or deleted, or is a copy now) are only marked
        in the files, and their words stay in the indexes. So a generation without rows of the documents is made anew
        as well, unless it was made so before and holds nothing but what it shows.
        """
        dataset = self._tables.open(generation.table, generation.version)
        predicates = list(among("document_id", sorted(document_ids)))
        made_anew = {version for name, version in tags_of(dataset).items() if name.startswith(_ANEW)}
        if generation.version in made_anew and not any(dataset.count_rows(filter=one) for one in predicates):
            return None
        started = time.time()
        dataset = self._tables.restore(generation.table, generation.version)
        for predicate in predicates:
            dataset.delete(predicate)
        dataset.optimize.compact_files(materialize_deletions=True, materialize_deletions_threshold=0.0)
        return self._indexed_anew(dataset, generation, _ANEW, started)

    def _indexed_anew(self, dataset: Any, generation: Generation, kind: str, started: float) -> Generation:
        rebuild_indexes(dataset, self._settings)
        anew = replace(generation, version=dataset.version)
        set_tag(dataset, f"{kind}{dataset.version}.{generation.run_id}", dataset.version)
        flush_written(self._tables.path(generation.table), started)
        return anew

    def _kept_places(self, keep: int) -> set[tuple[str, int]]:
        return {at.generation.place for at in self._generations.standing()[-keep:]}

    def _base(self, dimension: int, embedding: str) -> Generation | None:
        live = self.live()
        if live is None or (live.generation.dimension, live.generation.embedding) != (dimension, embedding):
            return None
        if not live.generation.table.startswith(f"chunks-v{TABLE_FORMAT}-"):
            return None
        return live.generation

    def _pending(self, base: Generation | None, target: pa.Table) -> Pending:
        wanted = dict(
            zip(target.column("document_id").to_pylist(), target.column("index_key").to_pylist(), strict=True)
        )
        if base is None:
            return Pending(tuple(sorted(wanted)), (), new_table=True)
        present = self.open(base).stored_keys()
        return Pending(
            tuple(sorted(i for i, key in wanted.items() if present.get(i) != {key})),
            tuple(sorted(present.keys() - wanted.keys())),
            new_table=False,
        )

    def _new_session(self) -> Any:
        return lance_module().Session(
            index_cache_size_bytes=_INDEX_CACHE_BYTES, metadata_cache_size_bytes=_METADATA_CACHE_BYTES
        )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with held(self._root / "write.lock", self._settings.lock_seconds, "builds or cleans the index"):
            yield

    @contextmanager
    def _cleaning(self, keep: int) -> Iterator[None]:
        if keep < 1:
            raise ValueError("live is always kept: keep must be at least 1")
        with self._writing(), self._generations.lock():
            yield
