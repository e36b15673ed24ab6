"""What was erased from a lake, by digests alone: so that the next run does not take it in again from its source."""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tasks.lake.files import write_json
from tasks.lake.layout import Lake


@dataclass(frozen=True, slots=True)
class Tombstone:
    """An erased document: its opaque id, digests of the places it had and of its versions, the runs that held it.

    `finished_at` is null while something of it may still lie in the lake.
    """

    document_id: str
    places: tuple[str, ...]
    contents: tuple[str, ...]
    runs: tuple[str, ...]
    requested_at: str
    finished_at: str | None = None


@dataclass(frozen=True, slots=True)
class Erased:
    """All tombstones of a lake, oldest first."""

    tombstones: tuple[Tombstone, ...] = ()

    @property
    def unfinished(self) -> tuple[Tombstone, ...]:
        """Those whose erasure was begun and not ended."""
        return tuple(stone for stone in self.tombstones if stone.finished_at is None)

    def withholds(self, source: str, uri: str, content_sha: str | None, *, known: bool) -> bool:
        """Whether a document that a source shows is an erased one: it lies where that lay, whatever it holds now, or
        it has its bytes in a place that nobody knew (it was moved). Other documents with the same bytes are `known`.
        """
        place = place_digest(source, uri)
        content = None if known or content_sha is None else content_digest(content_sha)
        return any(place in stone.places or content in stone.contents for stone in self.tombstones)

    def with_stone(self, stone: Tombstone) -> "Erased":
        """These tombstones, with this one in the place of an earlier one of the same document."""
        others = tuple(other for other in self.tombstones if other.document_id != stone.document_id)
        return Erased((*others, stone))

    def finished(self, document_id: str, at: str) -> "Erased":
        """These tombstones, of which one is done."""
        return Erased(
            tuple(
                replace(stone, finished_at=at) if stone.document_id == document_id else stone
                for stone in self.tombstones
            )
        )

    def named(self, name: str, sources: Iterable[str]) -> tuple[Tombstone, ...]:
        """The tombstones of documents with this id, or that lay at this path or URL in one of the sources."""
        places = {place_digest(source, name) for source in sources}
        return tuple(
            stone
            for stone in self.tombstones
            if name in (stone.document_id, stone.document_id.removeprefix("doc-")) or places & set(stone.places)
        )

    def without(self, stones: Collection[Tombstone]) -> "Erased":
        """These tombstones but some."""
        return Erased(tuple(stone for stone in self.tombstones if stone not in stones))


NOTHING_ERASED = Erased()


def read_erased(lake: Lake) -> Erased:
    """The tombstones of a lake; none where nothing was ever erased."""
    path = _path(lake)
    if not path.exists():
        return Erased()
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["documents"]
    return Erased(
        tuple(Tombstone(**row | {name: tuple(row[name]) for name in ("places", "contents", "runs")}) for row in rows)
    )


def write_erased(lake: Lake, erased: Erased) -> None:
    """Stores the tombstones; to be called by whoever holds the lake."""
    write_json(_path(lake), {"documents": [asdict(stone) for stone in erased.tombstones]})


def place_digest(source: str, uri: str) -> str:
    """A place in a source without its name."""
    return hashlib.sha256(f"place:{source}:{uri}".encode("utf-8", "surrogateescape")).hexdigest()


def content_digest(content_sha: str) -> str:
    """A version of a document, by a digest of the digest that it had in the lake."""
    return hashlib.sha256(f"content:{content_sha}".encode()).hexdigest()


def _path(lake: Lake) -> Path:
    return lake.root / "erased.json"
