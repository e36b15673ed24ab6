"""Vectors that were made before, by text and model: a lake's own store, which later runs read.

One SQLite file, which several processes may use at once. A row is never without its vector. The store is bounded: the
vectors that were asked for longest ago go first. A key is a digest, so the store holds no text.
"""

import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tasks.errors import RunError

Counted: TypeAlias = tuple[NDArray[np.float32], int]
"""A vector, and the tokens of its text as the model reads it."""

_WAIT_SECONDS = 60.0
_KEYS_AT_ONCE = 500
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    key BLOB PRIMARY KEY CHECK (length(key) = 32),
    vector BLOB NOT NULL CHECK (length(vector) > 0 AND length(vector) % 4 = 0),
    tokens INTEGER NOT NULL,
    used INTEGER NOT NULL
) WITHOUT ROWID
"""


class VectorCache:
    """The vectors of one model, in a store that it may share with others."""

    def __init__(self, folder: Path, model: str, dimension: int, limit_bytes: int) -> None:
        self._path = folder / "vectors.sqlite"
        self._model = model
        self._dimension = dimension
        self._limit_bytes = limit_bytes

    def get(self, texts: Sequence[str]) -> dict[int, Counted]:
        """The stored vectors with the tokens of their texts, by position in `texts`.

        Raises:
            RunError: the store cannot be read.
        """
        keys = [self._key(text) for text in texts]
        found: dict[bytes, tuple[bytes, int]] = {}
        with self._open() as store:
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                part = keys[start : start + _KEYS_AT_ONCE]
                marks = ", ".join("?" * len(part))
                query = f"SELECT key, vector, tokens FROM vectors WHERE key IN ({marks})"  # noqa: S608
                found |= {key: (vector, tokens) for key, vector, tokens in store.execute(query, part)}
            now = int(time.time())
            store.executemany("UPDATE vectors SET used = ? WHERE key = ?", [(now, key) for key in found])
        return {
            i: (np.frombuffer(found[key][0], np.float32), found[key][1])
            for i, key in enumerate(keys)
            if key in found and len(found[key][0]) == 4 * self._dimension
        }

    def put(self, vectors: Mapping[str, Counted]) -> None:
        """Stores the vectors of texts and their tokens, and deletes those used longest ago where there are too many.

        Raises:
            RunError: the store cannot be written.
        """
        now = int(time.time())
        rows = [
            (self._key(text), vector.astype(np.float32).tobytes(), tokens, now)
            for text, (vector, tokens) in vectors.items()
        ]
        with self._open() as store:
            store.executemany("INSERT OR REPLACE INTO vectors (key, vector, tokens, used) VALUES (?, ?, ?, ?)", rows)
            surplus = _bytes_used(store) - self._limit_bytes
            if surplus > 0:
                # Somewhat more than the surplus, so that not every further row has to look for one to delete.
                surplus += self._limit_bytes // 10
                (count,) = store.execute("SELECT count(*) FROM vectors").fetchone()
                oldest = "SELECT key FROM vectors ORDER BY used, key LIMIT ?"
                share = -(-count * surplus // _bytes_used(store))
                store.execute(f"DELETE FROM vectors WHERE key IN ({oldest})", (share,))  # noqa: S608

    def _key(self, text: str) -> bytes:
        return sha256(f"{self._model}\0{text}".encode("utf-8", "surrogatepass")).digest()

    def _open(self) -> "_Transaction":
        return _Transaction(self._path)


def keep_vectors(folder: Path, kept: Collection[bytes]) -> int:
    """Deletes from the store in a folder every vector that is not among these (`vector_digest`), whatever its model,
    so that no byte of them stays in the file. Returns how many went.

    Raises:
        RunError: the store cannot be written.
    """
    path = folder / "vectors.sqlite"
    if not path.exists():
        return 0
    with _Transaction(path) as store:
        gone = [
            (key,) for key, vector in store.execute("SELECT key, vector FROM vectors") if _digest(vector) not in kept
        ]
        store.executemany("DELETE FROM vectors WHERE key = ?", gone)
    try:
        # Deleted rows lie in the file, and in the log beside it, until both are written anew.
        store = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)
        try:
            store.execute("VACUUM")
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            store.close()
    except sqlite3.Error as error:
        raise _unusable(path, error) from error
    return len(gone)


def vector_digest(vector: NDArray[np.float32]) -> bytes:
    """What tells a vector from others."""
    return _digest(vector.astype(np.float32).tobytes())


def _digest(vector: bytes) -> bytes:
    return sha256(vector).digest()


def _bytes_used(store: sqlite3.Connection) -> int:
    pages, free, size = (
        store.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


class _Transaction:
    """A connection for one transaction, closed after it: threads and processes share the file and nothing else."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._store: sqlite3.Connection | None = None

    def __enter__(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._store = sqlite3.connect(self._path, timeout=_WAIT_SECONDS, isolation_level=None)
            self._store.execute("PRAGMA journal_mode = WAL")
            self._store.execute("PRAGMA synchronous = NORMAL")
            self._store.execute(_SCHEMA)
            self._store.execute("BEGIN IMMEDIATE")
        except (sqlite3.Error, OSError) as error:
            if self._store is not None:
                self._store.close()
            raise _unusable(self._path, error) from error
        return self._store

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        assert self._store is not None  # noqa: S101
        try:
            self._store.execute("COMMIT" if error is None else "ROLLBACK")
        except sqlite3.Error as failure:
            raise _unusable(self._path, failure) from failure
        finally:
            self._store.close()
        if isinstance(error, sqlite3.Error):
            raise _unusable(self._path, error) from error


def _unusable(path: Path, error: BaseException) -> RunError:
    return RunError(
        f"the store of vectors {path} cannot be used: {error}",
        remedy="free disk space, or delete this file: the vectors in it are made again",
    )
