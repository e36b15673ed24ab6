"""The dedup barrier: signatures per batch, kept in the lake; one decision over the whole corpus."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import LOCATIONS
from schemas.measures import MEASURES
from schemas.names import MetricStatus, Outcome, StageName
from schemas.stages import DEDUP, SIGNATURE
from tasks.dedup.compared import Compared
from tasks.dedup.settings import DedupSettings, Keeper
from tasks.dedup.stage import decide
from tasks.document_rows import ids_of, without
from tasks.lake.files import read_table
from tasks.lake.layout import SIGNATURES, is_point_of_sweep
from tasks.lake.packed import read_places
from tasks.lake.runs import Runs
from tasks.run.brought_back import load_or_lose, texts_of
from tasks.run.compared_pairs import keep_pairs, known_pairs
from tasks.run.context import BatchRef, RunContext
from tasks.run.execute import in_parts, part_name
from tasks.run.guarded import run_guarded
from tasks.run.keys import DocumentKeys, digest
from tasks.run.recent_texts import RecentTexts
from tasks.run.registry import STAGES
from tasks.run.stage_keys import stage_keys
from tasks.run.standing_decisions import Decision, standing_decisions, that_stand
from tasks.run.stored import (
    done_locations,
    location,
    location_rows,
    reworked,
    store,
    write_locations,
)
from tasks.stage import Batch, Cost, Drop, Signed, StageOutput

_REASONS = {"exact": "exact duplicate of {}", "near": "near duplicate of {}", "contained": "contained_in {}"}


def sign_batch(context: RunContext, batch: BatchRef) -> BatchRef:
    """Makes the signatures that a batch still lacks."""
    documents, previous = _arrived(context, batch)
    keys = _signature_keys(context, documents, previous)
    found = context.ledger.find_rows("output", SIGNATURES, list(keys), list(keys.values()))
    done = found.slice(0, 0) if StageName.DEDUP in context.options.force else found
    rows = [done_locations(SIGNATURES, done)]
    for part, some in enumerate(in_parts(context, without(documents, ids_of(done)))):
        reads = STAGES[StageName.DEDUP].reads
        tables, lost = load_or_lose(context, reads, batch, ids_of(some))
        left = without(some, [failure.document_id for failure in lost])
        output = run_guarded(STAGES[StageName.DEDUP], Batch(left, tables), context, SIGNATURE)
        output = replace(output, failures=(*output.failures, *lost))
        marks = reworked(context, SIGNATURES, keys, output, SIGNATURE)
        rows.append(store(context, SIGNATURES, part_name(batch, part), some, keys, output, SIGNATURE, marks))
    write_locations(context, SIGNATURES, batch.number, rows)
    return batch


def decide_corpus(context: RunContext, batches: Sequence[BatchRef]) -> list[BatchRef]:
    """Decides for every document of the run whether it is kept; a decision that stands is not written again."""
    started = time.perf_counter()
    signed = signed_documents(context, batches)
    decided_from = _decided_from(context, batches, signed.precedence)
    before = _decided_before(context, decided_from)
    taken_over = None if before is None else _decisions_of(context, before)
    if taken_over is not None and not _covers(taken_over, context, batches):
        before, taken_over = None, None
    decisions, lost = _decide(context, signed) if taken_over is None else (taken_over, set[str]())
    by_id = {row["document_id"]: row for row in decisions.to_pylist()}
    former = _former_decisions(context, batches)
    stand = that_stand(former, by_id, signed.text_of)
    by_id |= {i: former[i] for i in stand}
    lost |= stand
    # What was decided without a text that could not be had serves this run: the next one decides anew.
    Runs(context.lake).update(
        context.run_id,
        decided_from=None if lost else decided_from,
        decided_as=before,
        decided_without=sorted(lost),
    )
    share = (time.perf_counter() - started) / max(1, decisions.num_rows)
    return [_store_decisions(context, batch, _signed(context, batch), by_id, share) for batch in batches]


def _former_decisions(context: RunContext, batches: Sequence[BatchRef]) -> dict[str, Decision]:
    found: dict[str, Decision] = {}
    for batch in batches:
        standing = standing_decisions(context, batch, batch.keys_after(StageName.LANGUAGE))
        found |= {i: decision for i, (_, decision) in standing.items()}
    return found


def _decide(context: RunContext, signed: Signed) -> tuple[pa.Table, set[str]]:
    """`DEDUP` rows, and the documents whose text was asked for and could not be had."""
    settings, compared = dedup_settings(context), Compared(signed.compared)
    signatures = (part() for part in signed.signatures)
    lost = set[str]()

    def text_of(document_ids: Sequence[str]) -> Mapping[str, str]:
        texts = signed.text_of(document_ids)
        lost.update(set(document_ids) - texts.keys())
        return texts

    decisions = decide(signatures, text_of, settings, signed.precedence, compared)
    keep_pairs(context.lake, settings.shingle_size, compared, forgets=not is_point_of_sweep(context.run_id))
    return decisions, lost


def _decided_from(context: RunContext, batches: Sequence[BatchRef], precedence: Mapping[str, int]) -> str:
    """A digest of all that the decisions follow from: the signed documents, who comes first, and the stage itself."""
    signed = [_signed(context, batch).filter(pc.field("outcome") == Outcome.OK.value) for batch in batches]
    keys = sorted(
        pair for rows in signed for pair in zip(ids_of(rows), rows.column("stage_key").to_pylist(), strict=True)
    )
    places = sorted({precedence[i] for i, _ in keys if i in precedence})
    ranks = {place: rank for rank, place in enumerate(places)}
    order = [[i, ranks[precedence[i]]] for i, _ in keys if i in precedence]
    return digest([context.bases[StageName.DEDUP], keys, order])


def _decided_before(context: RunContext, decided_from: str) -> str | None:
    """The run of the last whole scan, if it decided from the same: what it decided holds still."""
    runs = Runs(context.lake)
    last: str | None = runs.manifest(context.run_id).get("last_scan_run")
    if (
        last is None
        or StageName.DEDUP in context.options.force
        or runs.manifest(last).get("decided_from") != decided_from
    ):
        return None
    return last if (context.lake.run(last) / "locations.parquet").exists() else None


def _decisions_of(context: RunContext, run_id: str) -> pa.Table:
    here = Runs(context.lake).locations(run_id).filter(pc.field("stage") == StageName.DEDUP.value)
    here = here.filter(pc.field("file").is_valid())
    places = dict(zip(ids_of(here), here.column("file").to_pylist(), strict=True))
    return read_places(context.lake, places, DEDUP).sort_by("document_id")


def _covers(decisions: pa.Table, context: RunContext, batches: Sequence[BatchRef]) -> bool:
    """Whether there is a decision for every signed document: rows may have been erased, or lost with a torn file."""
    decided = set(ids_of(decisions))
    signed = (_signed(context, batch).filter(pc.field("outcome") == Outcome.OK.value) for batch in batches)
    return all(decided.issuperset(ids_of(rows)) for rows in signed)


def signed_documents(context: RunContext, batches: Sequence[BatchRef], *, anew: bool = False) -> Signed:
    """What the decisions of a run are made from; read when asked for, batch by batch.

    Where they were taken over from an earlier run, so is whether they stood when they were made again (not `anew`).
    """
    places: dict[str, str] = {}
    for batch in batches:
        rows = batch.read_locations(StageName.NORMALIZE).filter(pc.field("outcome") == Outcome.OK.value)
        places |= zip(ids_of(rows), rows.column("file").to_pylist(), strict=True)

    def signatures(batch: BatchRef) -> pa.Table:
        rows = _signed(context, batch).filter(pc.field("file").is_valid())
        places = dict(zip(ids_of(rows), rows.column("file").to_pylist(), strict=True))
        return read_places(context.lake, places, SIGNATURE).sort_by("document_id")

    return Signed(
        [partial(signatures, batch) for batch in batches],
        RecentTexts(context.lake, places, partial(texts_of, context, batches)).of,
        precedence(context, batches, dedup_settings(context).keeper),
        None if anew else _stood_before(context),
        known_pairs(context.lake, dedup_settings(context).shingle_size),
        frozenset(context.runs.manifest(context.run_id).get("decided_without") or ()),
    )


def _stood_before(context: RunContext) -> Mapping[str, bool] | None:
    """What the run found out whose decisions this one has: if it has found out all of it, from the same and alike."""
    runs, name = Runs(context.lake), StageName.DEDUP
    manifest = runs.manifest(context.run_id)
    before: str | None = manifest.get("decided_as")
    if before is None or not (context.lake.run(before) / "facts" / f"{name}.parquet").exists():
        return None
    former = runs.manifest(before)
    basis = [(told.get("decided_from"), (told.get("scorers") or {}).get(name.value)) for told in (former, manifest)]
    if None in basis[0] or basis[0] != basis[1]:
        return None
    facts = read_table(context.lake.run(before) / "facts" / f"{name}.parquet", MEASURES)
    facts = facts.filter(pc.field("metric") == "keeper_stability")
    if not pc.all(pc.equal(facts.column("status").cast(pa.string()), MetricStatus.OK.value)).as_py():
        return None
    return dict(zip(ids_of(facts), (value == 1 for value in facts.column("value").to_pylist()), strict=True))


def dedup_settings(context: RunContext) -> DedupSettings:
    """The settings of the stage in this run."""
    settings = context.settings(StageName.DEDUP)
    if not isinstance(settings, DedupSettings):
        raise TypeError(f"settings of the dedup stage are {type(settings).__name__}")
    return settings


def _signature_keys(context: RunContext, documents: pa.Table, previous: Mapping[str, str]) -> dict[str, str]:
    """Of the settings, only those that shape signatures: another threshold or keeper signs nothing anew."""
    stage, settings = STAGES[StageName.DEDUP], dedup_settings(context)
    shape = {name: getattr(settings, name) for name in ("shingle_size", "hashes", "bands")}
    base = digest([SIGNATURES, stage.version, shape, dict(stage.fingerprint(settings))])
    rows = documents.select(["document_id", *stage.context]).to_pylist()
    named = DocumentKeys()
    return {
        row["document_id"]: named.of(
            base, previous[row["document_id"]], {column: row[column] for column in stage.context}
        )
        for row in rows
    }


def precedence(context: RunContext, batches: Sequence[BatchRef], keeper: Keeper) -> dict[str, int]:
    """Who comes first where copies compete, by document id; nobody where length alone decides."""
    if keeper == "longest":
        return {}
    if keeper == "first_seen":
        first = context.ledger.select("SELECT document_id, min(run_id) AS run FROM ledger GROUP BY document_id")
        runs = {run: number for number, run in enumerate(sorted(set(first.column("run").to_pylist())))}
        pairs = zip(ids_of(first), first.column("run").to_pylist(), strict=True)
        return {document_id: runs[run] for document_id, run in pairs}
    rows = [
        row
        for batch in batches
        for row in batch.read_documents().select(["document_id", "source", "uri", "commit_time"]).to_pylist()
    ]
    if keeper == "path":
        rows.sort(key=lambda row: (row["source"], row["uri"]))
        return {row["document_id"]: number for number, row in enumerate(rows)}
    # A document that nobody knows the age of is taken for older than all others.
    return {
        row["document_id"]: -int(row["commit_time"].timestamp() * 1e6) if row["commit_time"] is not None else 1
        for row in rows
    }


def _store_decisions(
    context: RunContext,
    batch: BatchRef,
    signed: pa.Table,
    decisions: Mapping[str, dict[str, Any]],
    share: float,
) -> BatchRef:
    """Writes what is new. A document's cost is its signature's and an equal share of the decision's."""
    name = StageName.DEDUP
    documents, previous = _arrived(context, batch)
    former = standing_decisions(context, batch, previous)
    standing = {i: row for i, (row, decision) in former.items() if decision == decisions.get(i)}
    documents = without(documents, standing)
    stage_key = stage_keys(context, name, documents, previous)
    keys = {i: digest([stage_key[i], decisions.get(i)]) for i in ids_of(documents)}
    forced = name in context.options.force
    wanted = [] if forced else list(keys)
    done = context.ledger.find_rows("output", name, wanted, [keys[i] for i in wanted])
    failed = [
        location(name, row["document_id"], keys[row["document_id"]], row, computed=row["computed"])
        for row in signed.filter(pc.field("outcome") == Outcome.QUARANTINED.value).to_pylist()
        if row["document_id"] not in standing
    ]
    rows = [location_rows(list(standing.values())), done_locations(name, done), location_rows(failed)]
    pending = without(documents, [*ids_of(done), *(row["document_id"] for row in failed)])
    if pending.num_rows:
        made = [decisions[i] for i in ids_of(pending)]
        drops = tuple(
            Drop(row["document_id"], _REASONS[row["kind"]].format(row["duplicate_of"]))
            for row in made
            if row["decision"] == "dropped"
        )
        signed_ids, signed_keys = ids_of(signed), signed.column("stage_key").to_pylist()
        recorded = context.ledger.find_rows("output", SIGNATURES, signed_ids, signed_keys)
        spent = dict(zip(ids_of(recorded), recorded.column("seconds").to_pylist(), strict=True))
        costs = {i: Cost(share + (spent[i] or 0.0)) for i in ids_of(pending)}
        output = StageOutput(pa.Table.from_pylist(made, schema=DEDUP), (), drops, costs)
        rows.append(store(context, name, part_name(batch, 0), pending, keys, output))
    context.progress.advance(name, sum(part.num_rows for part in rows), pending.num_rows)
    return batch.with_stage(name, write_locations(context, name, batch.number, rows))


def _arrived(context: RunContext, batch: BatchRef) -> tuple[pa.Table, dict[str, str]]:
    """The batch's documents that came as far as this stage, and their keys of the stage before."""
    previous = batch.keys_after(StageName.LANGUAGE)
    documents = batch.read_documents()
    arrived = pc.is_in(documents.column("document_id"), pa.array(list(previous), pa.string()))
    return documents.filter(arrived), previous


def _signed(context: RunContext, batch: BatchRef) -> pa.Table:
    path = context.folder / "progress" / SIGNATURES / f"{batch.number:05d}.parquet"
    return read_table(path, LOCATIONS)
