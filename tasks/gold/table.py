"""Bound labels as a table, so that the lake keeps the ones a run was scored with; and their digest."""

import hashlib
from collections.abc import Collection, Iterable, Iterator

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


_AT_ONCE = 256
"""Labels unpacked at once: those of a whole corpus take many times what they take packed."""


def to_batches(labels: Labels) -> Iterator[pa.RecordBatch]:
    """Labels in the `LABELS` schema, in parts."""
    keys = sorted(labels.bound)
    for start in range(0, len(keys), _AT_ONCE):
        part = keys[start : start + _AT_ONCE]
        yield pa.record_batch(
            [
                [document_id for document_id, _ in part],
                [labels.bound[key].content_sha for key in part],
                [kind for _, kind in part],
                [labels.bound[key].packed.canonical for key in part],
                [labels.version or ""] * len(part),
            ],
            schema=LABELS,
        )


def from_batches(batches: Iterable[pa.RecordBatch], documents: pa.Table) -> Labels:
    """Labels from parts in the `LABELS` schema, bound to these documents; labels of other documents are left out."""
    shas = dict(
        zip(documents.column("document_id").to_pylist(), documents.column("content_sha").to_pylist(), strict=True)
    )
    bound: dict[tuple[str, str], BoundLabel] = {}
    version: str | None = None
    for batch in batches:
        for row in batch.to_pylist():
            version = row["gold_version"] or None
            document_id, kind, sha = row["document_id"], row["kind"], row["content_sha"]
            if document_id in shas:
                packed = PackedLabel.stored(kind, row["payload"])
                stale = shas[document_id] != sha
                bound[document_id, kind] = BoundLabel(packed, sha if stale else shas[document_id], stale)
    return Labels(version, bound)


def label_digest(labels: Labels, document_id: str, kinds: Collection[str]) -> str | None:
    """SHA-256 over a document's labels of these kinds, the bytes they were made for, and whether they are stale.

    Null where it has none of them. The order of the kinds does not matter.
    """
    found = [
        # A row of JSON; none of the four needs quoting, and it is asked for thrice for every stage and document.
        f'["{kind}", "{bound.content_sha}", {"true" if bound.stale else "false"}, "{bound.packed.digest.hex()}"]'
        for kind in sorted(set(kinds))
        if (bound := labels.bound.get((document_id, kind))) is not None
    ]
    return hashlib.sha256(f"[{', '.join(found)}]".encode()).hexdigest() if found else None


def label_digests(labels: Labels, kinds: Collection[str]) -> dict[str, str]:
    """`label_digest` of each document that has a label of these kinds."""
    labelled = {document_id for document_id, kind in labels.bound if kind in kinds}
    found = {document_id: label_digest(labels, document_id, kinds) for document_id in labelled}
    return {document_id: digest for document_id, digest in found.items() if digest is not None}
