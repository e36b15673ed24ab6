"""Which stages would compute which documents now: stage keys held against the ledger, as far as they can be known.

A key is known where every earlier one is: from the bytes on through the stages whose rows the ledger has. The keys
after the dedup barrier hold a decision that falls over the whole corpus. The one that fell last is taken to stand.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import DOCUMENTS
from schemas.names import Cohort, Outcome, StageName
from tasks.run.context import RunContext
from tasks.run.fetching import fetched_rows
from tasks.run.forced import chained_key
from tasks.run.keys import fetch_key
from tasks.run.registry import STAGES
from tasks.run.stage_keys import key_columns, stage_keys

_AT_ONCE = 2_000
_BEFORE_DEDUP = tuple(StageName)[1 : list(StageName).index(StageName.DEDUP)]
_AFTER_DEDUP = tuple(StageName)[list(StageName).index(StageName.DEDUP) + 1 :]


@dataclass(frozen=True, slots=True)
class Decided:
    """What the dedup barrier of a finished run decided, and from what."""

    base: str | None
    arrived: Mapping[str, str]
    """Keys of `language` by document."""
    rows: Mapping[str, dict[str, Any]]
    """Location rows of `dedup` by document."""
    scopes: Mapping[str, tuple[Any, ...]]
    """What of the plan shapes the decision."""


@dataclass(slots=True)
class Work:
    """What stages would compute. `certain` counts documents that come to the stage and have no row of it; `following`
    those that have none and come there if the stages before let them through. `stands` are failures that are not tried
    again: the ledger's row by document. `settled` says that nothing can change what dedup decided.
    """

    certain: dict[StageName, int] = field(default_factory=lambda: dict.fromkeys(StageName, 0))
    following: dict[StageName, int] = field(default_factory=lambda: dict.fromkeys(StageName, 0))
    stands: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: int = 0
    """Documents of live whose server must say whether they have changed."""
    settled: bool = False


@dataclass(slots=True)
class _Way:
    """A document on its way: its key so far, and whether a stage behind it is still to run."""

    row: dict[str, Any]
    key: str
    pending: bool


def walk(context: RunContext, documents: pa.Table, decided: Sequence[Decided], held: Mapping[str, str]) -> Work:
    """Follows documents (`DOCUMENTS` rows of the plan, without those that go through no stage) through all stages.

    `decided` are finished runs whose decisions may stand, the most telling one first. `held` are keys of `language` of
    documents that go through no stage and are decided on all the same.
    """
    work = Work()
    arrived = dict(held)
    anew = False
    for start in range(0, documents.num_rows, _AT_ONCE):
        ways = list(_fetched(context, documents.slice(start, _AT_ONCE), work))
        for name in _BEFORE_DEDUP:
            ways = list(_through(context, name, ways, work))
        arrived |= {way.row["document_id"]: way.key for way in ways}
        anew |= any(way.pending for way in ways)
        ways = list(_deduplicated(context, ways, decided, work))
        for name in _AFTER_DEDUP:
            ways = list(_through(context, name, ways, work))
    base = context.bases[StageName.DEDUP]
    same = any(known.base == base and known.arrived == arrived for known in decided)
    # A decision may also follow from times, which no key holds.
    by_time = getattr(context.settings(StageName.DEDUP), "keeper", None) == "newest"
    work.settled = same and not anew and not work.asked and not by_time
    return work


def _fetched(context: RunContext, documents: pa.Table, work: Work) -> Iterator[_Way]:
    name = StageName.FETCH
    rows = fetched_rows(context, documents)
    done = {row["document_id"]: row | {"stage": name.value} for row in rows.to_pylist()}
    forced = name in context.options.force
    for row in documents.to_pylist():
        document_id = row["document_id"]
        found = done.get(document_id)
        if found is not None and not forced:
            if found["outcome"] == Outcome.OK:
                yield _Way(row, chained_key(found), pending=False)
            else:
                work.stands[document_id] = found
            continue
        work.certain[name] += 1
        if row["content_sha"] is not None:
            key = fetch_key(STAGES[name].version, row["content_sha"], row["media_type_declared"])
            yield _Way(row, key if found is None else chained_key(found), pending=True)
        elif row["previous_content_sha"] is not None and row["cohort"] != Cohort.CHANGED:
            work.asked += 1
        else:
            for later in list(StageName)[1:]:
                work.following[later] += 1


def _through(context: RunContext, name: StageName, ways: Sequence[_Way], work: Work) -> Iterator[_Way]:
    keys = _keys(context, name, ways)
    done = context.ledger.find("output", name, list(keys), list(keys.values()))
    forced = name in context.options.force
    for way in ways:
        document_id = way.row["document_id"]
        found = done.get(document_id)
        if found is None or forced:
            _count(work, name, way)
            key = keys[document_id] if found is None else chained_key(found)
            yield _Way(way.row, key, pending=True)
        elif found["outcome"] == Outcome.OK:
            yield _Way(way.row, chained_key(found), way.pending)
        elif found["outcome"] == Outcome.QUARANTINED and not way.pending:
            work.stands[document_id] = found


def _deduplicated(context: RunContext, ways: Sequence[_Way], decided: Sequence[Decided], work: Work) -> Iterator[_Way]:
    name = StageName.DEDUP
    forced = name in context.options.force
    for way in ways:
        stands = _standing(context, way, decided)
        if stands is None or forced:
            _count(work, name, way)
        if stands is None:
            for later in _AFTER_DEDUP:
                work.following[later] += 1
        elif stands["outcome"] == Outcome.OK:
            yield _Way(way.row, stands["stage_key"], way.pending or forced)
        elif stands["outcome"] == Outcome.QUARANTINED:
            work.stands[way.row["document_id"]] = stands


def _standing(context: RunContext, way: _Way, decided: Sequence[Decided]) -> dict[str, Any] | None:
    document_id = way.row["document_id"]
    for known in decided:
        if (
            known.base == context.bases[StageName.DEDUP]
            and known.arrived.get(document_id) == way.key
            and known.scopes.get(document_id) == scope_of(way.row)
            and document_id in known.rows
        ):
            return known.rows[document_id]
    return None


def scope_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The columns of a document's row that shape its decision."""
    return tuple(row[column] for column in STAGES[StageName.DEDUP].context)


def read_decided(context: RunContext, run_id: str) -> Decided:
    """What a finished run decided."""
    locations = context.runs.locations(run_id)
    language = locations.filter(
        (pc.field("stage") == str(StageName.LANGUAGE)) & (pc.field("outcome") == Outcome.OK.value)
    )
    rows = locations.filter(pc.field("stage") == str(StageName.DEDUP)).to_pylist()
    return Decided(
        base=context.runs.manifest(run_id).get("stage_bases", {}).get(str(StageName.DEDUP)),
        arrived=dict(
            zip(language.column("document_id").to_pylist(), language.column("stage_key").to_pylist(), strict=True)
        ),
        rows={row["document_id"]: row for row in rows},
        scopes={row["document_id"]: scope_of(row) for row in context.runs.plan(run_id).to_pylist()},
    )


def _count(work: Work, name: StageName, way: _Way) -> None:
    counts = work.following if way.pending else work.certain
    counts[name] += 1


def _keys(context: RunContext, name: StageName, ways: Sequence[_Way]) -> dict[str, str]:
    shaping = pa.schema([DOCUMENTS.field(column) for column in dict.fromkeys(key_columns(name))])
    documents = pa.Table.from_pylist([way.row for way in ways], schema=shaping)
    return stage_keys(context, name, documents, {way.row["document_id"]: way.key for way in ways})
