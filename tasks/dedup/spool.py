"""Texts by document on disk, for one pass over a corpus that is larger than memory."""

import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType


class TextSpool:
    """Texts by document id in a temporary file, gone when the block ends."""

    def __enter__(self) -> "TextSpool":
        self._folder = tempfile.TemporaryDirectory(prefix="corpusgate-texts-")
        self._connection = sqlite3.connect(Path(self._folder.name) / "texts.sqlite")
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("CREATE TABLE texts (document_id TEXT PRIMARY KEY, text BLOB) WITHOUT ROWID")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._connection.close()
        self._folder.cleanup()

    def write(self, texts: Mapping[str, str]) -> None:
        """Adds texts; an id that is already there is replaced."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO texts VALUES (?, ?)",
            ((document_id, text.encode("utf-8", "surrogatepass")) for document_id, text in texts.items()),
        )

    def read(self, document_ids: Sequence[str]) -> Mapping[str, str]:
        """The texts of these documents; an unknown id is left out."""
        find = "SELECT text FROM texts WHERE document_id = ?"
        found = {d: self._connection.execute(find, [d]).fetchone() for d in document_ids}
        return {d: row[0].decode("utf-8", "surrogatepass") for d, row in found.items() if row is not None}
