"""What is said of a generation of the index: which one, whether it is live, what it was made from."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Generation:
    """One built index: a version of a table. `embedding` is the model that made its vectors, as name@version."""

    table: str
    version: int
    run_id: str
    dimension: int
    embedding: str

    @property
    def place(self) -> tuple[str, int]:
        """Table and version: what tells one generation from another."""
        return self.table, self.version


@dataclass(frozen=True, slots=True)
class Live:
    """The generation that users search, the verdict that let it in, and when it went live."""

    generation: Generation
    verdict_digest: str
    flipped_at: datetime


@dataclass(frozen=True, slots=True)
class Pending:
    """What separates live from a target: documents to write, documents to remove, and whether the table is new."""

    write: tuple[str, ...]
    remove: tuple[str, ...]
    new_table: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A built generation that is not live, and the live generation that it was made from."""

    generation: Generation
    baseline: Live | None
    documents_written: int
    documents_removed: int
    rows: int


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What became of the kept generations when documents were erased: those made anew, and those given up."""

    anew: tuple[Generation, ...]
    retired: tuple[Generation, ...]
