"""The labels of a run: read from the gold sets, bound to documents, kept in the lake under their digest."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.gold.binding import bind, unbound
from tasks.gold.gold_set import GoldSet, read_gold_set
from tasks.gold.labels import NO_LABELS, Labels
from tasks.gold.table import LABELS, from_batches, to_batches
from tasks.lake.files import read_batches, write_batches
from tasks.lake.layout import Lake


def bind_labels(
    folders: Sequence[Path], plan: pa.Table, lake: Lake, *, former: Labels = NO_LABELS
) -> tuple[Labels, dict[str, Any]]:
    """Reads gold sets and binds them to the run's documents; the labels in use are stored in the lake.

    A label that was made for other bytes than the run's gives way to the `former` one that was made for them.

    Returns:
        The labels, and what the manifest records of them: `gold_digest` (null without labels), `gold_sets`,
        `gold_labels` (how many labels each has), `gold_bad_rows` (how many rows of each were left out knowingly),
        `gold_source` (a digest of the sets as read), `labels_unbound` (labels that name no document of the run, by
        set and kind), `labels_stale` (labels that were made for other bytes than their document has, by kind).

    Raises:
        ConfigurationError: a gold set is wrong.
    """
    gold_sets = [read_gold_set(folder) for folder in folders]
    labels = bind(gold_sets, plan).completed_by(former)
    facts: dict[str, Any] = {
        "gold_sets": [gold_set.version for gold_set in gold_sets],
        "gold_labels": {gold_set.version: len(gold_set.labels) for gold_set in gold_sets},
        "gold_bad_rows": {s.version: s.manifest.bad_rows for s in gold_sets if s.manifest.bad_rows},
        "gold_source": _source(gold_sets),
        "labels_unbound": {
            f"{version} {kind}": count for (version, kind), count in sorted(unbound(gold_sets, plan).items())
        },
        "labels_stale": dict(sorted(Counter(kind for (_, kind), label in labels.bound.items() if label.stale).items())),
        "gold_digest": None,
    }
    if labels.bound:
        digest = labels_digest(to_batches(labels))
        path = lake.gold / f"{digest}.parquet"
        if not path.exists():
            write_batches(to_batches(labels), path, LABELS)
        facts["gold_digest"] = digest
    return labels, facts


def stored_labels(lake: Lake, digest: str | None, plan: pa.Table) -> Labels:
    """The labels that a run used, from the lake; staleness follows from the bytes that run saw."""
    if digest is None:
        return NO_LABELS
    return from_batches(read_batches(lake.gold / f"{digest}.parquet", LABELS), plan)


def _source(gold_sets: Sequence[GoldSet]) -> str:
    manifests = sorted(
        json.dumps(gold_set.manifest.recorded(), ensure_ascii=False, separators=(",", ":")) for gold_set in gold_sets
    )
    return hashlib.sha256(json.dumps(manifests).encode()).hexdigest()[:32]


def labels_digest(batches: Iterable[pa.RecordBatch]) -> str:
    """SHA-256 over the rows, part by part, column by column and value by value."""
    sha = hashlib.sha256()
    for batch in batches:
        sha.update(json.dumps(batch.to_pydict(), ensure_ascii=False, sort_keys=True).encode())
    return sha.hexdigest()[:32]
