"""Rows into one Lance table, and the indexes over them: made with the table, extended, or built anew."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tasks.errors import RunError
from tasks.index.search import VECTOR_INDEX
from tasks.index.settings import IndexSettings
from tasks.index.tables import (
    create_scalar_indexes,
    create_vector_index,
    lance_module,
    outgrown,
    parts_to_merge,
    put_first,
)
from tasks.memory import give_back_freed_memory


def create_table(path: Path, schema: pa.Schema) -> Any:
    """An empty table with the indexes that need no vectors."""
    dataset = lance_module().write_dataset(schema.empty_table(), path, schema=schema)
    create_scalar_indexes(dataset)
    return dataset


def insert_rows(dataset: Any, rows: Iterable[pa.Table], allowed: set[str], schema: pa.Schema) -> int:
    """Writes streamed rows of the `allowed` documents as one version; returns of how many documents there were any.

    Raises:
        RunError: rows of another document, or rows that break the schema.
    """
    written: set[str] = set()

    def batches() -> Iterator[pa.RecordBatch]:
        for table in rows:
            if not table.num_rows:
                continue
            ids = set(pc.unique(table.column("document_id")).to_pylist())
            if not ids <= allowed:
                raise RunError(
                    f"rows of {len(ids - allowed)} documents that are not pending, such as {min(ids - allowed)}",
                    remedy="this is a defect of the caller; please report it with this message",
                )
            written.update(ids)
            try:
                yield from table.select(schema.names).cast(schema).to_batches()
            except (pa.ArrowInvalid, KeyError, ValueError) as error:
                raise RunError(
                    f"index rows of document {min(ids)} break the schema: {error}",
                    remedy="this is a defect of the stage that made them; please report it with this message",
                ) from error
            del table  # so that its memory can go before the next comes
            give_back_freed_memory()

    stream = batches()
    first = next(stream, None)
    if first is not None:
        dataset.insert(pa.RecordBatchReader.from_batches(schema, put_first(first, stream)))
    return len(written)


def extend_indexes(dataset: Any, settings: IndexSettings) -> None:
    """Extends every index over the new rows, and puts small parts together once there are many."""
    if len(dataset.get_fragments()) > settings.compact_after:
        dataset.optimize.compact_files()
    described = [d.name for d in dataset.describe_indices()]
    for name in described:
        told = dataset.stats.index_stats(name)
        if name == VECTOR_INDEX and outgrown(dataset, told["indices"][0]["num_partitions"]):
            create_vector_index(dataset, settings)
            continue
        parts = told["num_indexed_rows_per_delta"]
        dataset.optimize.optimize_indices(
            index_names=[name], num_indices_to_merge=parts_to_merge(parts, settings.merge_after)
        )
    if VECTOR_INDEX not in described and dataset.count_rows() >= settings.ann_min_rows:
        create_vector_index(dataset, settings)


def rebuild_indexes(dataset: Any, settings: IndexSettings) -> None:
    """Builds every index that there is over the rows that are left, and over nothing else."""
    create_scalar_indexes(dataset)
    if any(d.name == VECTOR_INDEX for d in dataset.describe_indices()):
        create_vector_index(dataset, settings)
