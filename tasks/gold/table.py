"""Bound labels as a table, so that the lake keeps the ones a run was scored with; and their digest."""

import hashlib
import json
from collections.abc import Collection

import pyarrow as pa

from tasks.gold.kinds import LABEL_KINDS
from tasks.gold.labels import BoundLabel, Labels

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
    rows = [
        {
            "document_id": document_id,
            "content_sha": bound.content_sha,
            "kind": kind,
            "payload": _canonical(bound),
            "gold_version": labels.version or "",
        }
        for (document_id, kind), bound in sorted(labels.bound.items())
    ]
    return pa.Table.from_pylist(rows, schema=LABELS)


def from_table(table: pa.Table, documents: pa.Table) -> Labels:
    """Labels from the `LABELS` schema, bound to these documents; labels of other documents are left out."""
    shas = dict(
        zip(documents.column("document_id").to_pylist(), documents.column("content_sha").to_pylist(), strict=True)
    )
    bound: dict[tuple[str, str], BoundLabel] = {}
    version: str | None = None
    for row in table.to_pylist():
        version = row["gold_version"] or None
        document_id, kind = row["document_id"], row["kind"]
        if document_id in shas:
            label = LABEL_KINDS[kind].model_validate_json(row["payload"])
            bound[document_id, kind] = BoundLabel(label, row["content_sha"], shas[document_id] != row["content_sha"])
    return Labels(version, bound)


def label_digest(labels: Labels, document_id: str, kinds: Collection[str]) -> str | None:
    """SHA-256 over a document's labels of these kinds, the bytes they were made for, and whether they are stale.

    Null where it has none of them. The order of the kinds does not matter.
    """
    found = [
        [kind, bound.content_sha, bound.stale, _canonical(bound)]
        for kind in sorted(set(kinds))
        if (bound := labels.bound.get((document_id, kind))) is not None
    ]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest() if found else None


def _canonical(bound: BoundLabel) -> str:
    return json.dumps(bound.label.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
