"""Raw bytes for a stage or an evaluator that is called without a run around it. Any other use than meant fails."""

from collections.abc import Iterable
from pathlib import Path


class NoRaw:
    """For what must not look at raw bytes at all."""

    def path(self, content_sha: str) -> Path:
        """Fails."""
        raise AssertionError("nothing here may ask for raw bytes")

    def read(self, content_sha: str) -> bytes:
        """Fails: foreign bytes are read in the cage, by their path."""
        raise AssertionError("foreign bytes do not enter this process")

    def write(self, data: bytes) -> str:
        """Fails: only fetch writes."""
        raise AssertionError("only fetch writes raw bytes")


class RawFiles(NoRaw):
    """Files that lie anywhere, each known by its name as if that were its hash."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._files = {file.name: file for file in files}

    def path(self, content_sha: str) -> Path:
        """The file of this name."""
        return self._files[content_sha]


class OneRawFile(NoRaw):
    """One file, whatever hash is asked for."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def path(self, content_sha: str) -> Path:
        """The file."""
        return self._file
