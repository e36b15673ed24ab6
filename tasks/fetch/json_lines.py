"""JSON Lines, also gzipped: rows and their content. Runs in the cage."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from filelock import FileLock

from tasks.errors import DocumentError
from tasks.fetch.containers import ErrorParts, opened
from tasks.fetch.records import RowError, described, taken

_GZIP = b"\x1f\x8b"
_SMALL = 1 << 20
_CHUNK = 1 << 20
_ESCAPES = 3
"""A letter of two bytes may be written as six (`\\u00e9`)."""


def scan(path: str, columns: dict[str, Any], limits: dict[str, Any], out: str, _: Any) -> int:
    """Writes a line for each row of the file; returns how many.

    Raises:
        DocumentError: `corrupt` or `archive_ratio`: the gzipped file ends early, is damaged, or unpacks to too much.
    """
    count = 0
    with _unpacked(Path(path), limits["max_ratio"]) as file, Path(out).open("w", encoding="utf-8") as made:
        for number, position, line in _lines(file, _ESCAPES * limits["max_bytes"]):
            said = described(number, position, _row(line), columns)
            made.write(json.dumps(said) + "\n")
            count += 1
    return count


def take(
    path: str, wanted: list[tuple[int, str]], folder: str, limits: dict[str, Any], _: Any
) -> list[ErrorParts | None]:
    """Writes the content of the wanted rows (by the offset of their lines) into the folder."""
    longest = _ESCAPES * limits["max_bytes"] + 1
    said: list[ErrorParts | None] = []
    with opened(str(_seekable(Path(path), limits))) as file:
        for number, (position, column) in enumerate(wanted):
            file.seek(position)
            row = _row(file.readline(longest))
            said.append(taken(row, column, Path(folder) / str(number), limits["max_bytes"]))
    return said


def _row(line: bytes | None) -> dict[str, Any] | RowError:
    """The row of a line, or why it is none."""
    if line is None:
        return RowError("too_large", "is longer than max_bytes in the fetch settings allows")
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except MemoryError:
        return RowError("too_large", "needs more memory than the worker has")
    except UnicodeDecodeError:
        return RowError("bad_row", "is not UTF-8")
    except json.JSONDecodeError as error:
        return RowError("bad_row", f"is not JSON (from character {error.pos + 1} on)")
    except (ValueError, RecursionError):
        return RowError("bad_row", "is JSON that is nested too deeply or holds a number of thousands of digits")
    return row if isinstance(row, dict) else RowError("bad_row", "is JSON but no object with columns")


def _lines(file: IO[bytes], longest: int) -> Iterator[tuple[int, int, bytes | None]]:
    """(number from 1, offset, line) of each line that is not blank; null for one that is too long."""
    position = number = 0
    while line := file.readline(longest + 1):
        number += 1
        start, whole = position, len(line) <= longest
        position += len(line)
        while not line.endswith(b"\n") and (rest := file.readline(_CHUNK)):
            line, position = rest, position + len(rest)
        if not whole:
            yield number, start, None
        elif not line.isspace():
            yield number, start, line


@contextmanager
def _unpacked(path: Path, max_ratio: float) -> Iterator[IO[bytes]]:
    """The text of the file; what a damaged or overgrown gzip file raises becomes an error with a remedy."""
    with opened(str(path)) as packed:
        if packed.read(2) != _GZIP:
            packed.seek(0)
            yield packed
            return
        packed.seek(0)
        most = max(_SMALL, int(max_ratio * path.stat().st_size))
        try:
            with gzip.GzipFile(fileobj=packed) as file:
                yield _Bounded(file, most)  # type: ignore[misc]
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            what = "ends early" if isinstance(error, EOFError) else "is damaged"
            raise DocumentError(
                "corrupt",
                f"the gzipped file {what}, near byte {packed.tell():,}",
                remedy="fetch or write it anew, or leave it out with `exclude`",
            ) from error


class _Bounded:
    """Lines of a file that must not grow beyond a size."""

    def __init__(self, file: gzip.GzipFile, most: int) -> None:
        self._file = file
        self._left = most

    def readline(self, limit: int) -> bytes:
        return self._counted(self._file.readline(limit))

    def read(self, limit: int) -> bytes:
        return self._counted(self._file.read(limit))

    def _counted(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise DocumentError(
                "archive_ratio",
                "the gzipped file unpacks to more times its size than max_archive_ratio in the fetch settings",
                remedy="raise max_archive_ratio if the file is to be trusted, or leave it out with `exclude`",
            )
        return data


def _seekable(path: Path, limits: dict[str, Any]) -> Path:
    """The file itself, or where it is gzipped an unpacked copy in the cache, which is made once per version of it."""
    with opened(str(path)) as packed:
        if packed.read(2) != _GZIP:
            return path
    status = path.stat()
    cache = Path(limits["cache"])
    cache.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(str(path).encode()).hexdigest()[:32]
    copy = cache / f"{name}-{status.st_size}-{status.st_mtime_ns}"
    with FileLock(cache / f"{name}.lock"):
        if not copy.is_file():
            for old in cache.glob(f"{name}-*"):
                old.unlink()
            growing = cache / f"{name}-growing"
            with _unpacked(path, limits["max_ratio"]) as file, growing.open("wb") as made:
                while part := file.read(_CHUNK):
                    made.write(part)
            growing.replace(copy)
    return copy
