"""What an import did."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The gold set written, the corpus folder its labels speak of, labels by kind, bad rows left out by file (as its
    manifest has them), and what else was left out and why.

    Labels name their documents `<source>:<path below the corpus folder>`: the source of that name in the
    configuration must point at `corpus`.
    """

    gold: Path
    corpus: Path
    source: str
    labels: Mapping[str, int]
    bad_rows: Mapping[str, int]
    skipped: tuple[str, ...] = ()

    def __str__(self) -> str:
        labels = ", ".join(f"{count} of kind {kind}" for kind, count in self.labels.items())
        lines = [f"labels: {labels}, in {self.gold}", f"documents: {self.corpus} (name this source {self.source})"]
        lines += [f"left out: {count} bad rows of {file}" for file, count in self.bad_rows.items()]
        return "\n".join([*lines, *(f"left out: {reason}" for reason in self.skipped)])
