"""Which documents a run takes in. What it does not take stays as live has it: a partial run never deletes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS
from schemas.names import Cohort
from tasks.errors import ConfigurationError
from tasks.fetch.listed import Skips
from tasks.lake.erased import read_erased
from tasks.lake.runs import Runs
from tasks.run.configuration import Configuration
from tasks.run.options import RunOptions
from tasks.run.planning import as_in_live, make_plan, named_again
from tasks.run.retry import listed_before


@dataclass(frozen=True, slots=True)
class Planned:
    """The documents of a run (`DOCUMENTS` rows, sorted by id), and what a partial run does not take in.

    `held` are ids of documents that go through no stage, since their rows of the run that made live stand. `left_out`
    counts listed documents that live does not have and that are not taken in.
    """

    documents: pa.Table
    held: frozenset[str] = frozenset()
    left_out: int = 0

    @property
    def taken(self) -> int:
        """How many documents the run looks at."""
        deleted = sum(bool(cohort == Cohort.DELETED) for cohort in self.documents.column("cohort").to_pylist())
        return int(self.documents.num_rows) - deleted - len(self.held)


def plan_run(
    configuration: Configuration,
    runs: Runs,
    options: RunOptions,
    *,
    baseline: str | None,
    before: str | None = None,
    skips: Skips | None = None,
) -> Planned:
    """What a run with these options would take in now. Lists the sources; writes nothing.

    Args:
        configuration: sources, class rules and access rules.
        runs: the runs of the lake.
        options: a partial run lists only the sources that it may take documents from; one that tries documents again
            lists none.
        baseline: the run that made live; null where nothing is.
        before: the run that is planned, where it has a folder by now.
        skips: where what the sources hold besides documents is counted.

    Raises:
        ConfigurationError: a source cannot be listed; nothing is then taken for deleted. Or `only` fits no document,
            or there is no scan yet whose documents could be tried again.
    """
    live = runs.plan(baseline)
    known = runs.known_documents(before)
    listed = None if options.asks_sources else listed_before(known)
    names = options.sources([source.name for source in configuration.sources])
    sources = [source for source in configuration.sources if source.name in names]
    erased = read_erased(runs.lake)
    documents = make_plan(configuration, known, live, skips, sources, erased, listed)
    if not options.partial:
        return Planned(documents)
    places = documents.select(["source", "uri", "locator"]).to_pylist()
    named = ((row["source"], row["uri"], row["locator"]) for row in places)
    return take_part(documents, named_again(live, named), options)


def take_part(documents: pa.Table, live: pa.Table, options: RunOptions) -> Planned:
    """The part of a plan that a partial run takes in.

    Of the documents asked for, new and changed ones come first, then those moved, then those whose server must be
    asked, then unchanged ones (which are computed again where settings have changed); each kind in the order of source
    and path.

    Raises:
        ConfigurationError: no document is asked for.
    """
    rows = documents.to_pylist()
    there = [row for row in rows if row["cohort"] not in (Cohort.DELETED, Cohort.RETAINED)]
    wanted = [row for row in there if options.selects(row["source"], row["uri"])]
    if options.only and not wanted:
        raise ConfigurationError(
            f"--only {', '.join(options.only)}: no document of the sources is named so",
            remedy="give the name of a source, `SOURCE:GLOB`, or a glob over paths (`**` crosses folders); "
            "`corpusgate plan` shows the names",
        )
    in_live = {row["document_id"]: row for row in live.to_pylist() if row["cohort"] != Cohort.DELETED}
    wanted.sort(key=lambda row: (_urgency(row, in_live), row["source"], row["uri"]))
    taken = {row["document_id"]: row for row in wanted[: options.limit]}
    held = {document_id: row for document_id, row in in_live.items() if document_id not in taken}
    _free_places(taken, held, {row["document_id"]: row for row in rows})
    found = [*taken.values(), *(as_in_live(row, Cohort.UNCHANGED) for row in held.values())]
    return Planned(
        pa.Table.from_pylist(sorted(found, key=lambda row: row["document_id"]), schema=DOCUMENTS),
        frozenset(held),
        sum(row["document_id"] not in taken and row["document_id"] not in in_live for row in there),
    )


def _free_places(taken: dict[str, Any], held: dict[str, Any], rows: Mapping[str, Any]) -> None:
    """A document that stood where one that is taken in stands now is taken in too: nothing stays of it in its place."""
    places = {(row["source"], row["uri"]) for row in taken.values()}
    while displaced := [i for i, row in held.items() if (row["source"], row["uri"]) in places]:
        for document_id in displaced:
            del held[document_id]
            row = taken[document_id] = rows[document_id]
            if row["cohort"] != Cohort.DELETED:
                places.add((row["source"], row["uri"]))


def _urgency(row: Mapping[str, Any], in_live: Mapping[str, Any]) -> int:
    if row["cohort"] in (Cohort.NEW, Cohort.CHANGED):
        return 0
    if row["cohort"] == Cohort.MOVED:
        return 1
    return 3 if is_known_unchanged(row) or row["document_id"] not in in_live else 2


def is_known_unchanged(row: Mapping[str, Any]) -> bool:
    """Whether the listing itself told that an unchanged document is so; else its server is asked by `fetch`."""
    return bool(row["cohort"] == Cohort.UNCHANGED and row["content_sha"] is not None)
