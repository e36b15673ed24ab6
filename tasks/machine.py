"""Telling faults of the machine (a full or read-only disk, no more open files) from those of documents and of code."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from tasks.errors import CorpusgateError, RunError

_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
)
_NUMBER = re.compile(r"\(os error (\d+)\)")
"""How libraries written in Rust tell the number of an error."""


@contextmanager
def machine_is_named(doing: str) -> Iterator[None]:
    """Makes a fault of the machine a `RunError` that says what could not go on; every other error passes.

    Raises:
        RunError: the machine is at fault.
    """
    try:
        yield
    except CorpusgateError:
        raise
    except Exception as error:
        if cause := machine_fault(error):
            raise RunError(
                f"{doing} could not go on: {cause}",
                remedy="mend what the machine lacks (disk space, limits of the user), then give the same command "
                "again; what is done is kept",
            ) from error
        raise


def machine_fault(error: Exception) -> str | None:
    """What the machine lacks, in the system's words; null where something else is at fault.

    >>> machine_fault(OSError(28, "No space left on device"))
    'No space left on device'
    >>> machine_fault(OSError("LanceError(IO): writing: No space left on device (os error 28)"))
    'No space left on device'
    >>> machine_fault(ValueError("No space left in the box"))
    """
    if isinstance(error, OSError) and error.errno in _ERRORS:
        return error.strerror or os.strerror(error.errno)
    numbers = [int(number) for number in _NUMBER.findall(str(error))]
    found = next((number for number in numbers if number in _ERRORS), None)
    if found is None and os.strerror(errno.ENOSPC) in str(error):  # DuckDB gives the words alone
        found = errno.ENOSPC
    return None if found is None else os.strerror(found)
