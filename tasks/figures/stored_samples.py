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
from tasks.lake.files import replace_file

_OF_PLAN = ("doc_class", "cohort", "content_hash")
"""What the plan tells of a document: stored samples name its row there instead. One that the plan does not have, such
as a leftover in the index, is named by its id."""
_STORED = pa.schema([pa.field("row", pa.int32()), *(field for field in SAMPLES if field.name not in _OF_PLAN)])
_METRICS, _PLAN = b"corpusgate.metrics", b"corpusgate.plan"
_ROWS_IN_GROUP = 1 << 20


def store_samples(connection: duckdb.DuckDBPyConnection, path: Path, plan: pa.Table) -> None:
    """Keeps the samples of all measures in the table `detail` of a connection; each measure is a row group or more."""
    ids = plan.column("document_id").combine_chunks()

    def write(temporary: Path) -> None:
        of_groups: list[str] = []
        with pq.ParquetWriter(temporary, _STORED, compression="zstd", compression_level=1) as writer:
            for metric, samples in samples_by_metric(connection):
                if samples.num_rows:  # of a table without rows a group is written too
                    writer.write_table(_by_row(samples, ids), row_group_size=_ROWS_IN_GROUP)
                of_groups += [metric] * -(-samples.num_rows // _ROWS_IN_GROUP)
            writer.add_key_value_metadata({_METRICS: json.dumps(of_groups), _PLAN: _digest(plan)})

    replace_file(path, write)


def _by_row(samples: pa.Table, ids: pa.Array) -> pa.Table:
    rows = pc.index_in(samples.column("document_id"), value_set=ids)
    nothing = pa.nulls(samples.num_rows, pa.string())
    unknown = pc.if_else(rows.is_valid(), nothing, samples.column("document_id"))
    place = samples.schema.get_field_index("document_id")
    return (
        samples.set_column(place, "document_id", unknown).append_column("row", rows).select(_STORED.names).cast(_STORED)
    )


class StoredSamples:
    """What `store_samples` kept for the documents of one plan."""

    def __init__(self, plan: pa.Table) -> None:
        self._plan = plan
        self._groups: dict[Path, dict[str, list[int]] | None] = {}

    def read(self, path: Path, metric: str) -> pa.Table | None:
        """The samples (`SAMPLES`) of one measure; null where the file is not there, is torn, or was kept for others."""
        groups = self._groups_in(path)
        if groups is None:
            return None
        if metric not in groups:
            return SAMPLES.empty_table()
        try:
            with pq.ParquetFile(path) as file:
                stored = file.read_row_groups(groups[metric], use_threads=False)
        except (OSError, pa.ArrowInvalid):
            return None
        if pc.unique(stored.column("metric")).to_pylist() != [metric]:
            return None
        named = self._documents.take(stored.column("row"))
        known = pc.coalesce(stored.column("document_id"), named.column("document_id"))
        stored = stored.set_column(stored.schema.get_field_index("document_id"), "document_id", known)
        for field in _OF_PLAN:
            stored = stored.append_column(field, named.column(field))
        return stored.select(SAMPLES.names).cast(SAMPLES)

    def _groups_in(self, path: Path) -> dict[str, list[int]] | None:
        """The row groups of each measure."""
        if path not in self._groups:
            self._groups[path] = _groups_in(path, self._digest)
        return self._groups[path]

    @cached_property
    def _digest(self) -> str:
        return _digest(self._plan)

    @cached_property
    def _documents(self) -> pa.Table:
        hashes = hash_of(self._plan.column("content_sha"))
        return self._plan.select(["document_id", "doc_class", "cohort"]).append_column("content_hash", hashes)


def _groups_in(path: Path, plan_digest: str) -> dict[str, list[int]] | None:
    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowInvalid):
        return None
    told = footer.metadata or {}
    names = json.loads(told.get(_METRICS, b"[]"))
    if told.get(_PLAN, b"").decode() != plan_digest or len(names) != footer.num_row_groups:
        return None
    found: dict[str, list[int]] = {}
    for i, metric in enumerate(names):
        found.setdefault(metric, []).append(i)
    return found


def _digest(plan: pa.Table) -> str:
    """Of the documents in their order: the rows of one plan mean nothing in another."""
    names = "\n".join(plan.column("document_id").to_pylist())
    return hashlib.sha256(names.encode()).hexdigest()[:32]
