"""All Lance tables of one index in their folder: opening, restoring and tagging them, and deleting what no tag keeps.

Nothing here knows what is live: the caller says which places (table, version) are to be kept, and how many changes of
live there have been (`number`), for a candidate is judged only against the live that it was made from.
"""

import shutil
from collections.abc import Collection, Set
from pathlib import Path
from typing import Any

from tasks.errors import RunError
from tasks.index.records import Generation
from tasks.index.tables import bytes_on_disk, delete_untagged, open_table, set_tag, tags_of

_HEAD = "head"


class TableFolder:
    """The tables below one folder. Whoever changes them holds the lock for writing."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, table: str) -> Path:
        """The folder of a table."""
        return self._root / f"{table}.lance"

    def open(self, table: str, version: int | None = None, session: Any = None) -> Any:
        """A table as its newest version, or as the one named.

        Raises:
            RunError: there is no such table or version.
        """
        return open_table(self.path(table), version, session)

    def restore(self, table: str, version: int) -> Any:
        """The table as it was then, as a new version: a candidate shares its version with no other generation."""
        dataset = self.open(table, version)
        dataset.restore()
        return dataset

    def tag_candidate(self, dataset: Any, number: int, run_id: str) -> None:
        """Keeps the newest version of a table until it is judged, or live is another."""
        set_tag(dataset, f"candidate.{number}.{run_id}", dataset.version)

    def untag(self, generation: Generation) -> None:
        """Lets go of a generation: no tag keeps its version any more."""
        try:
            dataset = self.open(generation.table)
        except RunError:
            return  # no table is left there that could hold a tag; `sweep` removes what remains of it
        for name, version in tags_of(dataset).items():
            if version == generation.version:
                dataset.tags.delete(name)

    def forget_candidates(self, number: int, retired: Collection[Generation]) -> None:
        """A candidate that a killed run left is judged no more; what could not be cleaned is kept no more."""
        gone = {generation.place for generation in retired}
        for path in self._tables():
            dataset = self.open(path.stem)
            for name, version in tags_of(dataset).items():
                if name.startswith(f"candidate.{number}.") or (path.stem, version) in gone:
                    dataset.tags.delete(name)

    def collect(self, kept: Set[tuple[str, int]], number: int) -> int:
        """Deletes the files of all but the places that are kept and candidates still to be judged; returns the bytes
        freed."""
        before = sum(bytes_on_disk(path) for path in self._tables())
        for path in self._tables():
            self._collect_table(path, kept, number)
        return before - sum(bytes_on_disk(path) for path in self._tables())

    def sweep(self) -> None:
        """Removes what a killed build left: tables without a tag, and versions after the last tagged one."""
        for path in self._tables():
            try:
                dataset = self.open(path.stem)
            except RunError:
                shutil.rmtree(path)  # killed before its first version was whole
                continue
            tagged = tags_of(dataset).values()
            if not tagged:
                shutil.rmtree(path)
            elif dataset.latest_version not in tagged:
                delete_untagged(self.restore(path.stem, max(tagged)))

    def _collect_table(self, path: Path, kept: Set[tuple[str, int]], number: int) -> None:
        dataset = self.open(path.stem)
        head = dataset.latest_version
        for name, version in tags_of(dataset).items():
            judged_yet = name.startswith(f"candidate.{number}.")
            if not (judged_yet or (path.stem, version) in kept or (name == _HEAD and version == head)):
                dataset.tags.delete(name)
        alive = tags_of(dataset)
        versions = [version for name, version in alive.items() if name != _HEAD]
        if not versions:
            shutil.rmtree(path)
            return
        if head not in alive.values():
            # The newest version is never cleaned; it must not be the one that was given up.
            dataset = self.restore(path.stem, max(versions))
            set_tag(dataset, _HEAD, dataset.version)
        delete_untagged(dataset)

    def _tables(self) -> list[Path]:
        return sorted(self._root.glob("*.lance"))
