"""Labels that a lake keeps, without those of erased documents and without their names in labels of others."""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.gold.kinds import PairsLabel
from tasks.gold.labels import PackedLabel
from tasks.gold.table import LABELS
from tasks.lake.files import read_batches, write_batches
from tasks.lake.layout import Lake
from tasks.run.labels import labels_digest

_PAIRS = "pairs"


def stored_sets(lake: Lake) -> list[Path]:
    """The files of labels that a lake keeps."""
    return sorted(lake.gold.glob("*.parquet"))


def labels_of(path: Path, document_ids: Collection[str]) -> int:
    """How many labels of these documents a file holds."""
    return sum(row["document_id"] in document_ids for batch in read_batches(path, LABELS) for row in batch.to_pylist())


def rewrite_labels(lake: Lake, document_ids: Collection[str], names: Collection[str]) -> Mapping[str, str | None]:
    """Writes each set of labels that knows these documents anew, under the digest of what it then holds.

    `names` are what pairs of other documents may call them (`<source>:<path>`). The old files stay until the runs that
    name them were told. Returns the new digest by the old one; null where no label is left.
    """
    told = frozenset(document_ids) | frozenset(names)
    renamed: dict[str, str | None] = {}
    for path in stored_sets(lake):
        if not any(_changed(batch, told) for batch in read_batches(path, LABELS)):
            continue
        kept = [part for batch in read_batches(path, LABELS) if (part := _without(batch, told)).num_rows]
        digest = labels_digest(kept) if kept else None
        if digest is not None:
            write_batches(kept, lake.gold / f"{digest}.parquet", LABELS)
        renamed[path.stem] = digest
    return renamed


def _changed(batch: pa.RecordBatch, told: Collection[str]) -> bool:
    return any(_left(row, told) != row for row in batch.to_pylist())


def _without(batch: pa.RecordBatch, told: Collection[str]) -> pa.RecordBatch:
    rows = [left for row in batch.to_pylist() if (left := _left(row, told)) is not None]
    return pa.RecordBatch.from_pylist(rows, schema=LABELS)


def _left(row: dict[str, Any], told: Collection[str]) -> dict[str, Any] | None:
    """What stays of a label: all of it, itself without its pairs with these documents, or nothing."""
    if row["document_id"] in told:
        return None
    if row["kind"] != _PAIRS or not any(name in row["payload"] for name in _escaped(told)):
        return row
    label = PairsLabel.model_validate_json(row["payload"])
    pairs = tuple(pair for pair in label.pairs if pair.other not in told)
    if len(pairs) == len(label.pairs):
        return row
    return row | {"payload": PackedLabel.of(label.model_copy(update={"pairs": pairs})).canonical}


def _escaped(names: Collection[str]) -> Iterator[str]:
    """Names as they stand within JSON."""
    for name in names:
        yield json.dumps(name, ensure_ascii=False)[1:-1]
