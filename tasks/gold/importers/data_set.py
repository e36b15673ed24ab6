"""What a reader of a published format gives: documents with labels, rows that are wrong, and what was left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class MadeDocument:
    """A file of the corpus: its path below the corpus folder, its bytes (or the file to copy), a label of each kind."""

    path: str
    data: bytes | Path
    labels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that does not say what its format asks for. `line` counts from 1; null where the whole file is wrong.

    `fault` never holds a value of the row: labels may be personal data.
    """

    file: str
    line: int | None
    fault: str

    def __str__(self) -> str:
        return f"{self.file}: {self.fault}" if self.line is None else f"{self.file}:{self.line}: {self.fault}"


@dataclass(frozen=True, slots=True)
class DataSet:
    """A published data set as read.

    A bad row takes with it the label that would be incomplete without it: a text that lacks a line, personal data of
    which one span is wrong. `skipped` says what is well-formed and was left out nevertheless, and why.
    """

    documents: tuple[MadeDocument, ...]
    bad_rows: tuple[BadRow, ...] = ()
    skipped: tuple[str, ...] = ()
