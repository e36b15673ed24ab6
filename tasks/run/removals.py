"""A run that would take out much of a source stops before its first stage: it is more often a fault than a decision."""

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa

from schemas.names import Cohort
from tasks.errors import RunError
from tasks.run.configuration import RunSettings

AGAINST_LOSS = ("live-kept", "live-kept-by-class")
"""Default rules of the gate against the same fault; they do not apply where the loss is allowed."""


@dataclass(frozen=True, slots=True)
class Removal:
    """How many of the documents that live has of a source a run would take out."""

    source: str
    deleted: int
    live: int


def removals(documents: pa.Table, live: pa.Table) -> list[Removal]:
    """What a plan takes out of each source that live has documents of, by name; a source without a configuration
    loses all. Retained and moved documents are not taken out.
    """
    had = Counter(
        source
        for source, cohort in zip(live.column("source").to_pylist(), live.column("cohort").to_pylist(), strict=True)
        if cohort != Cohort.DELETED
    )
    gone = Counter(
        source
        for source, cohort in zip(
            documents.column("source").to_pylist(), documents.column("cohort").to_pylist(), strict=True
        )
        if cohort == Cohort.DELETED
    )
    return [Removal(source, gone[source], had[source]) for source in sorted(had)]


def mass_removals(found: list[Removal], settings: RunSettings) -> list[Removal]:
    """Those that are over `max_deleted_share` and `max_deleted_least`."""
    return [
        removal
        for removal in found
        if removal.deleted > settings.max_deleted_least and removal.deleted > settings.max_deleted_share * removal.live
    ]


def refuse_mass_removals(found: list[Removal], settings: RunSettings) -> None:
    """Lets a run go on, or not.

    Raises:
        RunError: names every source that would lose more than the settings allow.
    """
    over = mass_removals(found, settings)
    if over:
        told = "; ".join(f"{r.deleted} of the {r.live} live documents of source {r.source!r}" for r in over)
        raise RunError(
            f"this run would delete {told}; at most {settings.max_deleted_share:.0%} of a source may go at once "
            "(run.max_deleted_share). No stage was run and nothing was deleted",
            remedy="check that the source is whole (mounted, complete, right `root`, `include` and name); if they are "
            "meant to go, run again with --allow-mass-delete, or keep them with `on_source_removed: retain`",
        )
