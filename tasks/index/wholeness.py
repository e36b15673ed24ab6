"""Torn files of one index table: told where they are met, and looked for in rows and in the indexes over them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tasks.errors import RunError
from tasks.machine import machine_fault

TEXT_INDEX = "text_idx"
LANCE_ERRORS = (OSError, ValueError, RuntimeError)
"""What the library raises of a file that is torn or missing; `pyarrow.ArrowInvalid` is a `ValueError`."""


@contextmanager
def torn_is_named(table: str) -> Iterator[None]:
    """Makes an error of the library while it reads a table a `RunError`; a fault of the machine passes as it is.

    Raises:
        RunError: a file of the table is torn or missing.
    """
    try:
        yield
    except LANCE_ERRORS as error:
        if machine_fault(error):
            raise
        raise RunError(
            f"the index table {table} has a torn or missing file: {_cause(error)}",
            remedy="`corpusgate doctor --repair` makes what it held anew; then give the same command again",
        ) from error


def rows_are_whole(dataset: Any) -> bool:
    """Whether every row can be read."""
    try:
        for _ in dataset.to_batches(batch_size=1024):
            pass
    except LANCE_ERRORS:
        return False
    return True


def torn_indexes_of(dataset: Any) -> list[str]:
    """Names of the indexes with a file that cannot be read; every one is read to its end."""
    torn = []
    for name in [described.name for described in dataset.describe_indices()]:
        try:
            dataset.prewarm_index(name, with_position=name == TEXT_INDEX)
        except LANCE_ERRORS:
            torn.append(name)
    return torn


def _cause(error: Exception) -> str:
    """The library's words without the places in its own source that it appends."""
    return str(error).partition(", /")[0]
