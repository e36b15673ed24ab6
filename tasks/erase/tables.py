"""Parquet files without the rows of certain documents: nothing of these stays, in no page, dictionary or statistic."""

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.errors import RunError
from tasks.lake.files import replace_file

_ID = "document_id"
_UNIT = "unit_id"
"""Units of a metric row are named after their document, and some stand in the rows of another."""


def rows_of(path: Path, document_ids: Collection[str]) -> int:
    """How many rows of a Parquet file belong to these documents; 0 where it has no documents.

    Raises:
        RunError: the file is torn.
    """
    try:
        with pq.ParquetFile(path) as file:
            columns = [name for name in (_ID, _UNIT) if name in file.schema_arrow.names]
            if _ID not in columns:
                return 0
            groups = range(file.num_row_groups)
            return sum(
                int(pc.sum(_belongs(file.read_row_group(n, columns), document_ids)).as_py() or 0) for n in groups
            )
    except (OSError, pa.ArrowInvalid) as error:
        raise RunError(
            f"{path} cannot be read: {type(error).__name__}, so nobody knows what it holds",
            remedy="delete this file (what it held is made again by the next run), then give the same command again",
        ) from error


def remove_rows(path: Path, document_ids: Collection[str], *, keep_empty: bool) -> int:
    """Rewrites a file without the rows of these documents, in one step; returns how many there were.

    What its footer says of it stays. A file that would hold
    no row is deleted, unless `keep_empty`.

    Raises:
        RunError: the file is torn, or the disk refuses it.
    """
    found = rows_of(path, document_ids)
    if not found:
        return 0
    with pq.ParquetFile(path) as file:
        left = file.metadata.num_rows - found
        schema = file.schema_arrow
        kept = {b"ARROW:schema", *(schema.metadata or {})}
        footer = {key: value for key, value in (file.metadata.metadata or {}).items() if key not in kept}

        def groups() -> Iterator[pa.Table]:
            for n in range(file.num_row_groups):
                table = file.read_row_group(n, use_threads=False)
                yield _anew(table.filter(pc.invert(_belongs(table, document_ids))))

        def write(temporary: Path) -> None:
            with pq.ParquetWriter(temporary, schema, compression="zstd", compression_level=1) as writer:
                for table in groups():
                    writer.write_table(table, row_group_size=max(1, table.num_rows))
                writer.add_key_value_metadata(footer)

        if left or keep_empty:
            replace_file(path, write)
    if not left and not keep_empty:
        path.unlink()
    return found


def _belongs(table: pa.Table, document_ids: Collection[str]) -> pa.ChunkedArray:
    found = pc.fill_null(pc.is_in(table.column(_ID), pa.array(sorted(document_ids), pa.string())), False)
    if _UNIT in table.column_names:
        units = table.column(_UNIT)
        for document_id in document_ids:
            found = pc.or_(found, pc.fill_null(pc.match_substring(units, document_id), False))
    return found


def _anew(table: pa.Table) -> pa.Table:
    """Dictionaries would still hold the words of the rows that are gone."""
    for position, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            plain = table.column(position).cast(field.type.value_type)
            coded = plain.combine_chunks().dictionary_encode().cast(field.type)
            table = table.set_column(position, field, coded)
    return table
