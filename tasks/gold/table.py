"""Bound labels as a table, so that the lake keeps the ones a run was scored with; and their digest."""

import hashlib
import json
from collections.abc import Collection

import pyarrow as pa

from tasks.gold.labels import BoundLabel, Labels, PackedLabel

LABELS = pa.schema(
    [
        pa.field("document_id", pa.string(), nullable=False),
        pa.field("content_sha", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("payload", pa.string(), nullable=False),
        pa.field("gold_version", pa.string(), nullable=False),
    ]
)
"""One row per label, sorted by (document_id, kind). `payload` is the label as JSON; `content_sha` the SHA-256 of the
bytes it was made for. Whether a label is stale depends on the document's bytes and is found when the table is read."""


def to_table(labels: Labels) -> pa.Table:
    """Labels in the `LABELS` schema."""
    ordered = sorted(labels.bound.items())
    return pa.table(
        [
            [document_id for (document_id, _), _ in ordered],
            [bound.content_sha for _, bound in ordered],
            [kind for (_, kind), _ in ordered],
            pa.array((bound.packed.canonical for _, bound in ordered), pa.string()),
            [labels.version or ""] * len(ordered),
        ],
        schema=LABELS,
    )


def from_table(table: pa.Table, documents: pa.Table) -> Labels:
    """Labels from the `LABELS` schema, bound to these documents; labels of other documents are left out."""
    shas = dict(
        zip(documents.column("document_id").to_pylist(), documents.column("content_sha").to_pylist(), strict=True)
    )
    bound: dict[tuple[str, str], BoundLabel] = {}
    version: str | None = None
    for batch in table.to_batches(max_chunksize=256):
        for row in batch.to_pylist():
            version = row["gold_version"] or None
            document_id, kind, sha = row["document_id"], row["kind"], row["content_sha"]
            if document_id in shas:
                packed = PackedLabel.stored(kind, row["payload"])
                bound[document_id, kind] = BoundLabel(packed, sha, shas[document_id] != sha)
    return Labels(version, bound)


def label_digest(labels: Labels, document_id: str, kinds: Collection[str]) -> str | None:
    """SHA-256 over a document's labels of these kinds, the bytes they were made for, and whether they are stale.

    Null where it has none of them. The order of the kinds does not matter.
    """
    found = [
        [kind, bound.content_sha, bound.stale, bound.packed.digest.hex()]
        for kind in sorted(set(kinds))
        if (bound := labels.bound.get((document_id, kind))) is not None
    ]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest() if found else None
