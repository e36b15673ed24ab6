"""Atomic files: written under a temporary name, flushed, renamed. A reader sees a whole file or none."""

import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.documents import SCHEMA_VERSION
from tasks.errors import RunError

_ROWS_AT_ONCE = 256
_VERSION_KEY = b"corpusgate.schema_version"


def write_table(table: pa.Table, path: Path, schema: pa.Schema, *, durable: bool = True) -> None:
    """Writes a table as Parquet, after checking it against its contract's schema.

    A file that is not `durable` may be lost or torn when the machine loses its power: for what a run makes anew.

    Raises:
        RunError: the rows break the schema (a defect of the writer), or the disk refuses them.
    """
    check_schema(table, schema, path.name)
    stamped = table.replace_schema_metadata(version_stamp())
    replace_file(
        path, lambda temporary: pq.write_table(stamped, temporary, compression="zstd", compression_level=1), durable
    )


def write_batches(batches: Iterable[pa.RecordBatch], path: Path, schema: pa.Schema) -> None:
    """`write_table` of rows that are made part by part, of which memory never holds all."""

    def write(temporary: Path) -> None:
        stamped = schema.with_metadata(version_stamp())
        with pq.ParquetWriter(temporary, stamped, compression="zstd", compression_level=1) as writer:
            for batch in batches:
                check_schema(pa.Table.from_batches([batch]), schema, path.name)
                writer.write_batch(batch.replace_schema_metadata(stamped.metadata))

    replace_file(path, write)


def write_text(path: Path, text: str) -> None:
    """Writes a text file."""
    replace_file(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Writes JSON with sorted keys."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=str) + "\n")


def read_table(path: Path, schema: pa.Schema, *, document_ids: list[str] | None = None) -> pa.Table:
    """Reads the columns of the schema from Parquet written by this or an older version.

    Columns added since are null, types are cast.

    Raises:
        RunError: the file is missing, torn, or lacks a required column.
    """
    try:
        # Not through the dataset reader of pyarrow: it costs a millisecond more per file, and a run reads thousands.
        with pq.ParquetFile(path) as file:
            table = file.read(columns=columns_in(file, schema), use_threads=False)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(path, error) from error
    if document_ids is not None:
        table = table.filter(pc.is_in(table.column("document_id"), pa.array(document_ids, pa.string())))
    return as_of_now(table, path, schema)


def columns_in(file: pq.ParquetFile, schema: pa.Schema) -> list[str]:
    """The columns of a schema that a file has, as they are asked for.

    Where the schema has a list of structures with some of their fields only, the others are not read.
    """
    there = file.schema_arrow
    wanted = []
    for field in schema:
        if field.name not in there.names:
            continue
        fields, all_fields = _fields_of_items(field.type), _fields_of_items(there.field(field.name).type)
        if fields < all_fields:
            paths = (file.schema.column(i).path for i in range(len(file.schema)))
            wanted += [
                path for path in paths if path.startswith(f"{field.name}.") and path.rpartition(".")[2] in fields
            ]
        else:
            wanted.append(field.name)
    return wanted


def _fields_of_items(kind: pa.DataType) -> frozenset[str]:
    if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        return frozenset()
    return frozenset(field.name for field in kind.value_type)


def read_batches(path: Path, schema: pa.Schema, rows_at_once: int = _ROWS_AT_ONCE) -> Iterator[pa.RecordBatch]:
    """`read_table` part by part, so that memory never holds all.

    Raises:
        RunError: as `read_table`.
    """
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(rows_at_once, columns=columns_in(file, schema), use_threads=False):
                yield from as_of_now(pa.Table.from_batches([batch]), path, schema).to_batches()
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(path, error) from error


def version_stamp() -> dict[bytes, bytes]:
    """What a Parquet file says of the version that wrote it."""
    return {_VERSION_KEY: str(SCHEMA_VERSION).encode()}


def unreadable(path: Path, error: Exception) -> RunError:
    """What is said of a file that is missing or torn."""
    return RunError(
        f"{path} cannot be read: {type(error).__name__}",
        remedy="the file is missing or torn; `corpusgate doctor --repair` mends the lake, then run again",
    )


def as_of_now(table: pa.Table, path: Path, schema: pa.Schema) -> pa.Table:
    """The columns of the schema; those added since the file was written are null, types are cast.

    Raises:
        RunError: a required column is missing.
    """
    found = []
    for field in schema:
        if field.name in table.column_names:
            found.append(table.column(field.name).cast(field.type))
        elif field.nullable:
            found.append(pa.nulls(table.num_rows, field.type))
        else:
            raise RunError(f"{path} lacks the column {field.name!r}", remedy="it was not written by corpusgate")
    return pa.Table.from_arrays(found, schema=schema)


def check_schema(table: pa.Table, schema: pa.Schema, name: str) -> None:
    """The border check: the same columns and types, and no null where the contract forbids it (vectorised).

    Raises:
        RunError: names the table, the column and what is wrong.
    """
    remedy = "this is a defect of the stage that wrote it; please report it with this message"
    if table.column_names != schema.names:
        raise RunError(f"{name}: columns {table.column_names} instead of {schema.names}", remedy=remedy)
    for field in schema:
        column = table.column(field.name)
        if column.type != field.type:
            raise RunError(f"{name}: column {field.name!r} is {column.type} instead of {field.type}", remedy=remedy)
        if not field.nullable and column.null_count:
            raise RunError(f"{name}: {column.null_count} nulls in the required column {field.name!r}", remedy=remedy)


def replace_file(path: Path, write: Callable[[Path], Any], durable: bool = True) -> None:
    """Puts what `write` makes of a temporary name in the place of `path`.

    Raises:
        RunError: the disk refuses it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        write(temporary)
        if durable:
            with temporary.open("rb") as handle:
                os.fsync(handle.fileno())
        temporary.replace(path)
    except OSError as error:
        raise RunError(
            f"{path} cannot be written: {error.strerror or error}",
            remedy="free some space or mend the permissions, then give the same command again; what is done is kept",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Flushes a folder's own entries, without which a rename may be lost with the power."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows flushes the entry with the file
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
