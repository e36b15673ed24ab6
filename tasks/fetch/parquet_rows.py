"""Parquet files: rows and their content. Runs in the cage."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.errors import DocumentError
from tasks.fetch.containers import ErrorParts, changed, opened
from tasks.fetch.records import described, taken

_ROWS = 64
"""Rows decoded at a time: a row may be a whole book."""


def scan(path: str, columns: dict[str, Any], _limits: dict[str, Any], out: str, _: Any) -> int:
    """Writes a line for each row of the file; returns how many.

    Raises:
        DocumentError: `corrupt`: it is no whole Parquet file; `no_column`: it lacks a column.
    """
    wanted = [columns[name] for name in ("id", "content", "media_type_column", "url", "modified") if columns[name]]
    number = 0
    with _parquet(path) as file, Path(out).open("w", encoding="utf-8") as made:
        optional = {columns["id"]} if columns["url"] else set()
        missing = sorted(set(wanted) - set(file.schema_arrow.names) - optional)
        if missing:
            raise DocumentError(
                "no_column",
                f"the file has no column {', '.join(map(repr, missing))}",
                remedy="correct the names of columns in the source, or leave the file out with `exclude`",
            )
        for row in _rows(file, [name for name in wanted if name in file.schema_arrow.names]):
            said = described(number + 1, number, row, columns)
            made.write(json.dumps(said) + "\n")
            number += 1
    return number


def take(
    path: str, wanted: list[tuple[int, str]], folder: str, limits: dict[str, Any], _: Any
) -> list[ErrorParts | None]:
    """Writes the content of the wanted rows (by number from 0, ascending) into the folder."""
    said: list[ErrorParts | None] = []
    with _parquet(path) as file:
        values = _values(file, [position for position, _ in wanted], wanted[0][1])
        for number, ((_, column), value) in enumerate(zip(wanted, values, strict=True)):
            said.append(taken({column: value}, column, Path(folder) / str(number), limits["max_bytes"]))
    return said


def _values(file: pq.ParquetFile, positions: list[int], column: str) -> Iterator[Any]:
    """One column's values at ascending positions; row groups without any are passed over."""
    first = 0
    left = list(reversed(positions))
    for group in range(file.num_row_groups):
        end = first + file.metadata.row_group(group).num_rows
        if left and left[-1] < end:
            start = first
            for batch in file.iter_batches(_ROWS, row_groups=[group], columns=[column], use_threads=False):
                while left and left[-1] < start + batch.num_rows:
                    yield batch.column(0)[left.pop() - start].as_py()
                start += batch.num_rows
                if not left:
                    return
        first = end
    if left:
        raise changed()


def _rows(file: pq.ParquetFile, columns: list[str]) -> Iterator[dict[str, Any]]:
    for batch in file.iter_batches(_ROWS, columns=columns, use_threads=False):
        yield from batch.to_pylist()


@contextmanager
def _parquet(path: str) -> Iterator[pq.ParquetFile]:
    """The file; what it raises while it is read becomes an error with a remedy."""
    try:
        with opened(path) as raw, pq.ParquetFile(raw) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _corrupt(error) from error


def _corrupt(error: Exception) -> DocumentError:
    return DocumentError(
        "corrupt",
        f"the Parquet file is damaged or ends early ({type(error).__name__})",
        remedy="fetch or write it anew, or leave it out with `exclude`",
    )
