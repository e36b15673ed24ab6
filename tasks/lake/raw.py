"""Bytes as fetched, stored once by their SHA-256."""

import hashlib
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import DocumentError


@dataclass(frozen=True, slots=True)
class RawStore:
    """Implements `tasks.stage.RawBytes` on a folder."""

    root: Path

    def path(self, content_sha: str) -> Path:
        """Where the bytes lie.

        Raises:
            DocumentError: they are not there.
        """
        path = self._path(content_sha)
        if not path.is_file():
            raise DocumentError(
                "raw_missing",
                f"the bytes {content_sha[:12]}… are not in the lake",
                remedy="run again with --force-stage fetch to read the source anew",
                transient=True,
            )
        return path

    def has(self, content_sha: str) -> bool:
        """Whether the bytes are there."""
        return self._path(content_sha).is_file()

    def stored(self) -> Iterator[str]:
        """The SHA-256 of everything that is there."""
        return (path.name for path in sorted(self.root.glob("*/*")) if not path.name.startswith("."))

    def remove(self, content_sha: str) -> None:
        """Deletes bytes; none where they are not there."""
        self._path(content_sha).unlink(missing_ok=True)

    def read(self, content_sha: str) -> bytes:
        """The bytes."""
        return self.path(content_sha).read_bytes()

    def write(self, data: bytes) -> str:
        """Stores bytes under their SHA-256 and returns it; bytes that are there already are left alone."""
        content_sha = hashlib.sha256(data).hexdigest()
        path = self._path(content_sha)
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{content_sha}.{uuid.uuid4().hex[:8]}.tmp")
            try:
                with temporary.open("wb") as handle:
                    handle.write(data)
                    handle.flush()
                    os.fsync(handle.fileno())
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        return content_sha

    def _path(self, content_sha: str) -> Path:
        return self.root / content_sha[:2] / content_sha
