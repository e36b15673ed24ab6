"""Each document's part in the figures of one stage as a file, of which one measure can be read at a time."""

import hashlib
import json
from functools import cached_property
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.figures import SAMPLES
from tasks.figures.samples import hash_of, samples_by_metric
from tasks.lake.files import replace_file, unreadable

_OF_DOCUMENT = ("document_id", "doc_class", "cohort", "content_hash")
"""What the plan tells of a document: stored samples name its row there instead."""
_STORED = pa.schema([pa.field("row", pa.int32()), *(field for field in SAMPLES if field.name not in _OF_DOCUMENT)])
_METRICS, _PLAN = b"corpusgate.metrics", b"corpusgate.plan"
_ROWS_IN_GROUP = 1 << 20


def store_samples(connection: duckdb.DuckDBPyConnection, path: Path, plan: pa.Table) -> None:
    """Keeps the samples of all measures in the table `detail` of a connection; each measure is a row group or more."""
    ids = plan.column("document_id").combine_chunks()

    def write(temporary: Path) -> None:
        of_groups: list[str] = []
        with pq.ParquetWriter(temporary, _STORED, compression="zstd", compression_level=1) as writer:
            for metric, samples in samples_by_metric(connection):
                rows = pc.index_in(samples.column("document_id"), value_set=ids)
                stored = samples.append_column("row", rows).select(_STORED.names).cast(_STORED).sort_by("row")
                writer.write_table(stored, row_group_size=_ROWS_IN_GROUP)
                of_groups += [metric] * -(-stored.num_rows // _ROWS_IN_GROUP)
            writer.add_key_value_metadata({_METRICS: json.dumps(of_groups), _PLAN: _digest(plan)})

    replace_file(path, write)


class StoredSamples:
    """What `store_samples` kept for the documents of one plan."""

    def __init__(self, plan: pa.Table) -> None:
        self._plan = plan
        self._groups: dict[Path, dict[str, list[int]]] = {}

    def has(self, path: Path) -> bool:
        """Whether the file is there, and was kept for these documents."""
        try:
            told = pq.read_metadata(path).metadata or {}
        except (OSError, pa.ArrowInvalid):
            return False
        if told.get(_PLAN, b"").decode() != self._digest:
            return False
        groups = self._groups[path] = {}
        for i, metric in enumerate(json.loads(told[_METRICS])):
            groups.setdefault(metric, []).append(i)
        return True

    def read(self, path: Path, metric: str) -> pa.Table:
        """The samples (`SAMPLES`) of one measure from a file that is there.

        Raises:
            RunError: the file is torn.
        """
        groups = self._groups[path].get(metric)
        if groups is None:
            return SAMPLES.empty_table()
        try:
            with pq.ParquetFile(path) as file:
                stored = file.read_row_groups(groups, use_threads=False)
        except (OSError, pa.ArrowInvalid) as error:
            raise unreadable(path, error) from error
        named = self._documents.take(stored.column("row"))
        for field in _OF_DOCUMENT:
            stored = stored.append_column(field, named.column(field))
        return stored.select(SAMPLES.names).cast(SAMPLES)

    @cached_property
    def _digest(self) -> str:
        return _digest(self._plan)

    @cached_property
    def _documents(self) -> pa.Table:
        hashes = hash_of(self._plan.column("content_sha"))
        return self._plan.select(["document_id", "doc_class", "cohort"]).append_column("content_hash", hashes)


def _digest(plan: pa.Table) -> str:
    """Of the documents in their order: the rows of one plan mean nothing in another."""
    names = "\n".join(plan.column("document_id").to_pylist())
    return hashlib.sha256(names.encode()).hexdigest()[:32]
