"""What the next run would do, without doing it: nothing is written, no lock is held, no document is fetched."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import Cohort, Outcome, StageName
from tasks.fetch.listed import Skips
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.quarantine import Quarantine
from tasks.run.asking import ask_servers
from tasks.run.configuration import Configuration
from tasks.run.context import RunContext
from tasks.run.indexing import open_index
from tasks.run.options import RunOptions
from tasks.run.removals import Removal, mass_removals, removals
from tasks.run.selection import Planned, is_known_unchanged, plan_run
from tasks.run.walk import Work, read_decided, walk

TO_BE_ASKED = "to_be_asked"
"""Documents of live whose server tells only when asked whether they have changed, and has not said so."""
HELD = "held"
"""Documents that a partial run does not take in: they stay as live has them."""


@dataclass(frozen=True, slots=True)
class FailedBefore:
    """A document in quarantine. `again`: the next run tries it."""

    document_id: str
    source: str
    uri: str
    stage: str
    error_class: str
    again: bool


@dataclass(frozen=True, slots=True)
class StageWork:
    """What one stage would compute: `certain` documents, and `following` more if the stages before let them through.

    `exact` says that these are all. They are not where servers must be asked first, or where dedup may decide otherwise
    than before; where it may, the stage is not `settled`, and copies that it decides on otherwise come on top.
    """

    stage: StageName
    certain: int
    following: int
    exact: bool
    settled: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would take in. Kinds of document are the cohorts, `to_be_asked` and `held`."""

    documents: Mapping[str, int]
    by_source: Mapping[str, Mapping[str, int]]
    by_class: Mapping[str, Mapping[str, int]]
    names: Mapping[str, Sequence[str]]
    left_out: int
    failed: Sequence[FailedBefore]
    stages: Sequence[StageWork]
    stopped_by: Sequence[Removal]
    skipped: Mapping[str, Mapping[str, int]]
    live_run: str | None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def preview(configuration: Configuration, options: RunOptions, *, names: int, ask: bool = False) -> Preview:
    """Plans a run with these options.

    Files are listed and hashed, stores and sitemaps listed. No page is asked for, unless servers are asked (`ask`)
    whether what live has of them has changed. `names` is how many documents of each kind are named.

    Raises:
        ConfigurationError: a source cannot be listed, or `only` fits no document.
    """
    lake = Lake(configuration.lake)
    ledger = Ledger.beside_a_run(lake.ledger, Path(tempfile.gettempdir()))
    context = RunContext("plan", configuration, lake, ledger, Quarantine(lake.quarantine), options=options)
    live = open_index(context).live()
    baseline = live.generation.run_id if live else None
    skips = Skips()
    planned = plan_run(configuration, context.runs, options, baseline=baseline, skips=skips)
    if ask:
        planned = replace(planned, documents=ask_servers(context, planned.documents))
    rows = planned.documents.to_pylist()
    kinds = {row["document_id"]: _kind(row, planned) for row in rows}
    on_their_way = pa.array([kinds[row["document_id"]] not in (Cohort.DELETED, HELD) for row in rows], pa.bool_())
    finished = _newest_finished(context)
    decided = [read_decided(context, run_id) for run_id in dict.fromkeys((finished, baseline)) if run_id is not None]
    of_live = decided[-1].arrived if baseline is not None else {}
    held = {document_id: of_live[document_id] for document_id in planned.held if document_id in of_live}
    on_way = planned.documents.filter(on_their_way)
    work = walk(context, on_way, decided, held)
    lost = removals(planned.documents, context.runs.plan(baseline))
    return Preview(
        documents=_counted(kinds.values()),
        by_source=_grouped(rows, kinds, "source"),
        by_class=_grouped(rows, kinds, "doc_class"),
        names={kind: _names(rows, kinds, kind, names) for kind in sorted(set(kinds.values()))},
        left_out=planned.left_out,
        failed=sorted(_failed(context, rows, kinds, work, finished), key=lambda f: (f.again, f.source, f.uri)),
        stages=[_work_of(stage, work, on_way.num_rows) for stage in StageName],
        stopped_by=[] if options.allow_mass_delete else mass_removals(lost, configuration.run),
        skipped=skips.by_source(),
        live_run=baseline,
    )


def _kind(row: Mapping[str, Any], planned: Planned) -> str:
    if row["document_id"] in planned.held:
        return HELD
    if row["cohort"] == Cohort.UNCHANGED and not is_known_unchanged(row):
        return TO_BE_ASKED
    return str(row["cohort"])


def _counted(kinds: Any) -> dict[str, int]:
    found = Counter(kinds)
    return {kind: found[kind] for kind in (*(str(cohort) for cohort in Cohort), TO_BE_ASKED, HELD) if found[kind]}


def _grouped(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str], column: str) -> dict[str, dict[str, int]]:
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(kinds[row["document_id"]])
    return {name: _counted(groups[name]) for name in sorted(groups)}


def _names(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str], kind: str, limit: int) -> list[str]:
    chosen = sorted(
        (row["source"], row["uri"], row["previous_uri"]) for row in rows if kinds[row["document_id"]] == kind
    )
    moved = kind == Cohort.MOVED
    return [f"{source}:{f'{before} -> {uri}' if moved else uri}" for source, uri, before in chosen[:limit]]


def _newest_finished(context: RunContext) -> str | None:
    runs = context.runs
    return next((i for i in reversed(runs.ids()) if (context.lake.run(i) / "locations.parquet").exists()), None)


def _failed(
    context: RunContext, rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str], work: Work, finished: str | None
) -> Iterator[FailedBefore]:
    """Documents of the plan whose last outcome is a failure."""
    last: dict[str, tuple[str, str]] = {}
    if finished is not None:
        locations = context.runs.locations(finished)
        for row in locations.filter(pc.field("outcome") == Outcome.QUARANTINED.value).to_pylist():
            last[row["document_id"]] = row["stage"], row["reason"]
    # A run that came to no end names its failures in quarantine alone.
    for row in context.quarantine.read().select(["document_id", "stage", "error_class", "run_id"]).to_pylist():
        if finished is None or row["run_id"] > finished:
            last[row["document_id"]] = row["stage"], row["error_class"]
    for row in rows:
        document_id = row["document_id"]
        stands = work.stands.get(document_id)
        stage, error_class = (stands["stage"], stands["reason"]) if stands else last.get(document_id, (None, None))
        if stage is None or row["cohort"] == Cohort.DELETED:
            continue
        again = stands is None and kinds[document_id] != HELD
        yield FailedBefore(document_id, row["source"], row["uri"], stage, error_class or "", again)


def _work_of(stage: StageName, work: Work, documents: int) -> StageWork:
    order = list(StageName)
    settled = work.settled or order.index(stage) < order.index(StageName.DEDUP)
    exact = settled and (stage is StageName.FETCH or not (work.following[stage] or work.asked))
    all_of_them = work.certain[stage] + work.following[stage] == documents
    return StageWork(stage, work.certain[stage], work.following[stage], exact, settled or all_of_them)
