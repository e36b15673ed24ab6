"""Do source manifest, ledger and index agree? What is stored is read back from the index itself."""

import hashlib
import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import Outcome, StageName
from schemas.stages import EMBED, INDEX
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence, IndexView

MISSING, ORPHAN, KEY, ROWS = "missing_in_index", "orphan_in_index", "key_differs", "rows_differ"


_PROMISED = pa.schema([INDEX.field("document_id"), INDEX.field("rows_sha")])
_EMBEDDED = pa.schema(
    [
        EMBED.field("document_id"),
        # How many there are; not the vectors.
        pa.field("embeddings", pa.list_(pa.struct([EMBED.field("embeddings").type.value_type.field("chunk_id")]))),
    ]
)


class RowsDigest:
    """A digest over a document's rows in their order: chunk ids, text hashes, access scope.

    >>> one, other = RowsDigest(), RowsDigest()
    >>> one.add("d/intro/0", "ab12", "acme", ["staff"]); other.add("d/intro/0", "ab12", "rival", ["staff"])
    >>> one.hex() == other.hex()
    False
    """

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add(self, chunk_id: str, text_sha: str, tenant: str, groups: Sequence[str]) -> None:
        """Takes in one row."""
        self._sha.update(json.dumps([chunk_id, text_sha, tenant, list(groups)]).encode())

    def hex(self) -> str:
        """The digest of the rows so far."""
        return self._sha.hexdigest()


@dataclass(slots=True)
class StoredDocument:
    """What the index holds of a document: number of rows, and their digest (null where they are not in one piece)."""

    index_key: str
    rows: int = 0
    rows_sha: str | None = None


@dataclass(slots=True)
class Inventory:
    """One pass over the index: every document in it, and which chunks serve as probes.

    Probes are the chunks with the least hash of (seed, chunk id), so they depend on neither order nor run.
    """

    documents: dict[str, StoredDocument] = field(default_factory=dict)
    rows: int = 0
    probes: list[tuple[str, str]] = field(default_factory=list)
    """(chunk id, document id) from the whole index."""
    scope_probes: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = field(default_factory=dict)
    """The same for each stored tenant with each set of groups, sorted."""


def take_inventory(view: IndexView, *, seed: int, probes: int, scope_probes: int) -> Inventory:
    """Reads every row once; memory grows with documents and not with rows."""
    made = Inventory()
    digest, current = RowsDigest(), None
    sampled = _Least(probes)
    per_scope: dict[tuple[str, tuple[str, ...]], _Least] = {}
    columns = ["chunk_id", "document_id", "index_key", "text_sha", "tenant", "groups"]
    for chunk_id, document_id, index_key, text_sha, tenant, groups in _tuples(view, columns):
        made.rows += 1
        if document_id != current:
            digest, current = RowsDigest(), document_id
            known = made.documents.setdefault(document_id, StoredDocument(index_key))
            scattered = known.rows > 0
        digest.add(chunk_id, text_sha, tenant, groups)
        known.rows += 1
        known.rows_sha = None if scattered else digest.hex()
        if index_key != known.index_key:
            known.index_key = "several"
        order = hashlib.blake2b(f"{seed} {chunk_id}".encode(), digest_size=8).digest()
        sampled.offer(order, chunk_id, document_id)
        scope = tenant, tuple(sorted(groups))
        per_scope.setdefault(scope, _Least(scope_probes)).offer(order, chunk_id, document_id)
    made.probes = sampled.chosen()
    made.scope_probes = {scope: least.chosen() for scope, least in sorted(per_scope.items())}
    return made


def expected_keys(locations: pa.Table) -> dict[str, str | None]:
    """The documents that the index should hold, with their index key (null where the index stage failed on them).

    These are the documents that came out of `embed` and that `index` did not drop on purpose.
    """
    embedded = _of(locations, StageName.EMBED)
    indexed = _of(locations, StageName.INDEX)
    expected: dict[str, str | None] = {}
    for document_id, row in embedded.items():
        own = indexed.get(document_id)
        if row["outcome"] == Outcome.OK and (own is None or own["outcome"] != Outcome.DROPPED):
            expected[document_id] = own["stage_key"] if own and own["outcome"] == Outcome.OK else None
    return expected


def reconcile(
    rows: MetricRows, evidence: CorpusEvidence, inventory: Inventory, expected: dict[str, str | None]
) -> None:
    """Writes `reconciliation`, `completeness` and `orphan_chunks`."""
    promised = {
        i: sha for table in evidence.outputs(StageName.INDEX, _PROMISED) for i, sha in _columns(table, "rows_sha")
    }
    chunks: dict[str, int] = {}
    for table in evidence.outputs(StageName.EMBED, _EMBEDDED):
        chunks |= zip(
            table.column("document_id").to_pylist(),
            pc.list_value_length(table.column("embeddings")).to_pylist(),
            strict=True,
        )
    stored = inventory.documents
    union = sorted(expected.keys() | stored.keys())
    for document_id in union:
        kind = _disagreement(document_id, expected, stored, promised)
        rows.ratio("reconciliation", document_id, float(kind is None), 1.0)
        if kind is not None:
            rows.ratio("reconciliation", document_id, 0.0, 1.0, slice_of=("disagreement", kind))
    if not union:
        rows.ratio("reconciliation", None, 0.0, 0.0)
    for document_id in sorted(expected):
        wanted = chunks.get(document_id, 0)
        present = stored[document_id].rows if document_id in stored else 0
        rows.ratio("completeness", document_id, float(min(present, wanted)), float(wanted))
    if not expected:
        rows.ratio("completeness", None, 0.0, 0.0)
    orphans = sum(found.rows for document_id, found in stored.items() if document_id not in expected)
    rows.value("orphan_chunks", None, float(orphans), numerator=float(orphans), denominator=float(inventory.rows))


def _disagreement(
    document_id: str,
    expected: dict[str, str | None],
    stored: dict[str, StoredDocument],
    promised: dict[str, str],
) -> str | None:
    if document_id not in stored:
        return MISSING
    if document_id not in expected:
        return ORPHAN
    if stored[document_id].index_key != expected[document_id]:
        return KEY
    return None if stored[document_id].rows_sha == promised.get(document_id) else ROWS


class _Least:
    """The `size` offers with the least order, in that order."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[tuple[int, str, str]] = []

    def offer(self, order: bytes, chunk_id: str, document_id: str) -> None:
        item = (-int.from_bytes(order), chunk_id, document_id)
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, item)
        elif item > self._heap[0]:
            heapq.heapreplace(self._heap, item)

    def chosen(self) -> list[tuple[str, str]]:
        return [(chunk_id, document_id) for _, chunk_id, document_id in sorted(self._heap, reverse=True)]


def _of(locations: pa.Table, stage: StageName) -> dict[str, dict[str, Any]]:
    part = locations.filter(pc.equal(locations.column("stage"), stage.value))
    part = part.select(["document_id", "outcome", "stage_key"])
    return {row["document_id"]: row for row in part.to_pylist()}


def _columns(table: pa.Table, name: str) -> Iterator[tuple[str, Any]]:
    return zip(table.column("document_id").to_pylist(), table.column(name).to_pylist(), strict=True)


def _tuples(view: IndexView, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    for table in view.rows(columns):
        yield from zip(*(table.column(name).to_pylist() for name in columns), strict=True)
