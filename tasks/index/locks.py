"""One writer at a time: lock files that end with their process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from tasks.errors import RunError


@contextmanager
def held(path: Path, seconds: float, doing: str) -> Iterator[None]:
    """Holds a lock file; the operating system frees it when the process ends, however it ends.

    Raises:
        RunError: another process holds it for longer than `seconds`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=seconds)
    except Timeout as error:
        raise RunError(
            f"another process {doing} ({path} has been locked for {seconds:g} s)",
            remedy="wait for it to end, or stop it, then give the same command again",
        ) from error
    try:
        yield
    finally:
        lock.release()
