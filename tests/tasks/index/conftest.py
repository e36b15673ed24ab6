"""What the tests of the index share: rows made by hand, and an index that holds them."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from schemas.stages import INDEX_ROWS
from tasks.index.generations import Candidate, Live
from tasks.index.settings import IndexSettings
from tasks.index.store import LanceIndex

DIMENSION = 8
MODEL = "hashing@1"


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """A unit vector that follows from the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    vector = np.random.default_rng(seed).normal(size=dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32).tolist()


def make_rows(
    texts: Mapping[str, list[str]],
    key: str = "k1",
    tenants: Mapping[str, str] | None = None,
    chunk_ids: Callable[[str, int], str] = lambda document_id, n: f"{document_id}/text/{n}",
    dimension: int = DIMENSION,
) -> pa.Table:
    """Index rows of documents, a row per text."""
    rows = [
        {
            "chunk_id": chunk_ids(document_id, n),
            "document_id": document_id,
            "index_key": key,
            "text": text,
            "text_sha": hashlib.sha256(text.encode()).hexdigest(),
            "title": f"Title of {document_id}",
            "authors": [],
            "section_path": [],
            "language": "en",
            "uri": document_id,
            "tenant": (tenants or {}).get(document_id, "default"),
            "groups": [],
        }
        for document_id, parts in texts.items()
        for n, text in enumerate(parts)
    ]
    table = pa.Table.from_pylist(rows, schema=INDEX_ROWS)
    vectors = pa.array([vector_of(row["text"], dimension) for row in rows], pa.list_(pa.float32(), dimension))
    return table.append_column(pa.field("vector", pa.list_(pa.float32(), dimension), nullable=False), vectors)


def make_target(keys: Mapping[str, str]) -> pa.Table:
    """The target of a build."""
    return pa.table(
        {"document_id": pa.array(list(keys), pa.string()), "index_key": pa.array(list(keys.values()), pa.string())}
    )


class Corpus:
    """An index and the texts that it should hold, document by document."""

    def __init__(self, root: Path, settings: IndexSettings | None = None) -> None:
        self.index = LanceIndex(root, settings or IndexSettings())
        self.runs = 0

    def build(self, texts: Mapping[str, list[str]], tenants: Mapping[str, str] | None = None) -> Candidate:
        """A candidate that holds exactly these documents; a document's key follows from its texts and tenant."""
        self.runs += 1
        keys = {
            i: hashlib.sha256(repr((parts, (tenants or {}).get(i))).encode()).hexdigest() for i, parts in texts.items()
        }
        target = make_target(keys)
        pending = self.index.pending(target, dimension=DIMENSION, embedding=MODEL)
        rows = (make_rows({i: texts[i]}, keys[i], tenants) for i in pending.write)
        return self.index.build(f"run-{self.runs:04d}", target, rows, dimension=DIMENSION, embedding=MODEL)

    def promote(self, candidate: Candidate) -> Live:
        """Flips to the candidate with a verdict of its own."""
        return self.index.flip(
            candidate.generation, expected=candidate.baseline, verdict_digest=f"verdict of {candidate.generation}"
        )

    def publish(self, texts: Mapping[str, list[str]], tenants: Mapping[str, str] | None = None) -> Live:
        """Builds and promotes."""
        return self.promote(self.build(texts, tenants))


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """An empty index."""
    return Corpus(tmp_path / "index")
