"""What the tests of the index share: an index, and rows made by hand to put into it."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from schemas.stages import INDEX_ROWS
from tasks.index.records import Candidate, Live
from tasks.index.search import LanceView
from tasks.index.settings import IndexSettings
from tasks.index.store import LanceIndex

Texts = Mapping[str, list[str]]


class Corpus:
    """An index and the means to put documents, given as lists of chunk texts, into it."""

    dimension = 8
    model = "hashing@1"

    def __init__(self, root: Path, settings: IndexSettings | None = None) -> None:
        self.root = root
        self.settings = settings or IndexSettings()
        self.index = LanceIndex(root, self.settings)

    def vector(self, text: str) -> list[float]:
        """A unit vector that follows from the text alone."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).normal(size=self.dimension)
        return (vector / np.linalg.norm(vector)).astype(np.float32).tolist()

    def key(self, texts: list[str], tenant: str = "default") -> str:
        """An index key that follows from what the document contributes."""
        return hashlib.sha256(repr((texts, tenant)).encode()).hexdigest()[:16]

    def rows(
        self,
        texts: Texts,
        tenants: Mapping[str, str] | None = None,
        same_chunk_ids: bool = False,
        said: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> pa.Table:
        """Index rows of documents, a row per text; `said` are columns of a document that are not as usual."""
        rows = []
        for document_id, parts in texts.items():
            tenant = (tenants or {}).get(document_id, "default")
            for n, text in enumerate(parts):
                rows.append(
                    {
                        "chunk_id": f"{'same' if same_chunk_ids else document_id}/text/{n}",
                        "document_id": document_id,
                        "index_key": self.key(parts, tenant),
                        "text": text,
                        "text_sha": hashlib.sha256(text.encode()).hexdigest(),
                        "title": None,
                        "authors": [],
                        "section_path": [],
                        "language": "en",
                        "uri": document_id,
                        "tenant": tenant,
                        "groups": [],
                    }
                    | dict((said or {}).get(document_id, {}))
                )
        field = pa.field("vector", pa.list_(pa.float32(), self.dimension), nullable=False)
        vectors = pa.array([self.vector(row["text"]) for row in rows], field.type)
        return pa.Table.from_pylist(rows, schema=INDEX_ROWS).append_column(field, vectors)

    def target(self, texts: Texts, tenants: Mapping[str, str] | None = None) -> pa.Table:
        """What an index of these documents should hold."""
        keys = [self.key(parts, (tenants or {}).get(i, "default")) for i, parts in texts.items()]
        return pa.table({"document_id": pa.array(list(texts), pa.string()), "index_key": pa.array(keys, pa.string())})

    def build(
        self,
        run_id: str,
        texts: Texts,
        tenants: Mapping[str, str] | None = None,
        same_chunk_ids: bool = False,
        said: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Candidate:
        """A candidate that holds exactly these documents."""
        target = self.target(texts, tenants)
        pending = self.index.pending(target, dimension=self.dimension, embedding=self.model)
        rows = (self.rows({i: texts[i]}, tenants, same_chunk_ids, said) for i in pending.write)
        return self.index.build(run_id, target, rows, dimension=self.dimension, embedding=self.model)

    def promote(self, candidate: Candidate) -> Live:
        """Flips to the candidate with a verdict of its own."""
        return self.index.flip(
            candidate.generation, expected=candidate.baseline, verdict_digest=f"verdict-{candidate.generation.run_id}"
        )

    def publish(self, run_id: str, texts: Texts, tenants: Mapping[str, str] | None = None) -> Live:
        """Builds and promotes."""
        return self.promote(self.build(run_id, texts, tenants))

    def texts(self, view: LanceView | None) -> dict[str, list[str]]:
        """The documents that a view holds."""
        assert view is not None
        found: dict[str, list[str]] = {}
        for table in view.rows(["document_id", "text"]):
            for row in table.to_pylist():
                found.setdefault(row["document_id"], []).append(row["text"])
        return found


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """An empty index."""
    return Corpus(tmp_path / "index")


def rows_of_vectors(vectors: "np.ndarray[Any, Any]", first: int = 0) -> tuple[pa.Table, pa.Table]:
    """A target of as many documents as vectors, numbered from `first`, and their rows: one for each, without text."""
    ids = [f"d{n:05d}" for n in range(first, first + len(vectors))]
    columns = dict.fromkeys(("chunk_id", "document_id", "index_key", "text", "text_sha", "uri"), ids)
    rows = pa.table(
        {
            field.name: columns.get(field.name)
            or ([[]] * len(ids) if pa.types.is_list(field.type) else ["x" if not field.nullable else None] * len(ids))
            for field in INDEX_ROWS
        }
    ).cast(INDEX_ROWS)
    flat = pa.array(vectors.astype(np.float32).ravel())
    vector = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table({"document_id": ids, "index_key": ids}), rows.append_column("vector", vector)
