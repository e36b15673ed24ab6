"""The dedup barrier: signatures per batch, kept in the lake; one decision over the whole corpus."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from schemas.documents import LOCATIONS
from schemas.names import Outcome, StageName
from schemas.stages import DEDUP, SIGNATURE
from tasks.dedup.settings import DedupSettings
from tasks.dedup.stage import decide
from tasks.lake.files import read_table
from tasks.lake.layout import SIGNATURES
from tasks.run.context import BatchRef, RunContext
from tasks.run.execute import ids_of, load_rows, location, read_places, run_guarded, stage_keys, store, write_locations
from tasks.run.keys import digest
from tasks.run.registry import STAGES
from tasks.stage import Batch, Cost, Drop, StageOutput


def sign_batch(context: RunContext, batch: BatchRef) -> BatchRef:
    """Makes the signatures that a batch still lacks."""
    documents, keys = _expected(context, batch)
    keys = {document_id: digest([SIGNATURES, key]) for document_id, key in keys.items()}
    done = context.ledger.find("output", SIGNATURES, list(keys), list(keys.values()))
    pending = documents.filter(pa.array([i not in done for i in ids_of(documents)], pa.bool_()))
    rows = [location(SIGNATURES, row["document_id"], row["stage_key"], row, computed=False) for row in done.values()]
    if pending.num_rows:
        reads = STAGES[StageName.DEDUP].reads
        tables = {stage: load_rows(context, stage, batch, ids_of(pending)) for stage in reads}
        output = run_guarded(STAGES[StageName.DEDUP], Batch(pending, tables), context, SIGNATURE)
        rows += store(context, SIGNATURES, batch.number, pending, keys, output, SIGNATURE)
    write_locations(context, SIGNATURES, batch.number, rows)
    return batch


def decide_corpus(context: RunContext, batches: Sequence[BatchRef]) -> list[BatchRef]:
    """Decides for every document of the run whether it is kept; a decision that stands is not written again."""
    signed = {batch.number: _signed(context, batch) for batch in batches}
    signatures = pa.concat_tables(
        [
            read_places(context, {row["document_id"]: row["file"] for row in rows if row["file"]}, SIGNATURE)
            for rows in signed.values()
        ]
        or [SIGNATURE.empty_table()]
    )
    settings = context.settings(StageName.DEDUP)
    if not isinstance(settings, DedupSettings):
        raise TypeError(f"settings of the dedup stage are {type(settings).__name__}")
    places = {
        document_id: row["file"]
        for batch in batches
        for document_id, row in batch.survivors(StageName.NORMALIZE).items()
    }
    started = time.perf_counter()
    decisions = decide(signatures, lambda ids: _texts(context, places, ids), settings)
    share = (time.perf_counter() - started) / max(1, decisions.num_rows)
    by_id = {row["document_id"]: row for row in decisions.to_pylist()}
    return [_store_decisions(context, batch, signed[batch.number], by_id, share) for batch in batches]


def _store_decisions(
    context: RunContext,
    batch: BatchRef,
    signed: Sequence[dict[str, Any]],
    decisions: Mapping[str, dict[str, Any]],
    share: float,
) -> BatchRef:
    """Writes what is new. A document's cost is its signature's and an equal share of the decision's."""
    name = StageName.DEDUP
    documents, previous = _expected(context, batch)
    keys = {i: digest([previous[i], decisions.get(i)]) for i in ids_of(documents)}
    done = context.ledger.find("output", name, list(keys), list(keys.values()))
    rows = [location(name, row["document_id"], row["stage_key"], row, computed=False) for row in done.values()]
    failed = {row["document_id"]: row for row in signed if row["outcome"] == Outcome.QUARANTINED}
    rows += [location(name, i, keys[i], row, computed=row["computed"]) for i, row in failed.items()]
    pending = documents.filter(pa.array([i not in done and i not in failed for i in ids_of(documents)], pa.bool_()))
    if pending.num_rows:
        made = [decisions[i] for i in ids_of(pending)]
        drops = tuple(
            Drop(row["document_id"], f"{row['kind']} duplicate of {row['duplicate_of']}")
            for row in made
            if row["decision"] == "dropped"
        )
        keys_signed = {row["document_id"]: row["stage_key"] for row in signed}
        recorded = context.ledger.find("output", SIGNATURES, list(keys_signed), list(keys_signed.values()))
        costs = {i: Cost(share + (recorded[i]["seconds"] or 0.0)) for i in ids_of(pending)}
        output = StageOutput(pa.Table.from_pylist(made, schema=DEDUP), (), drops, costs)
        rows += store(context, name, batch.number, pending, keys, output)
    context.progress.advance(name, len(rows), pending.num_rows)
    return batch.with_stage(name, write_locations(context, name, batch.number, rows))


def _expected(context: RunContext, batch: BatchRef) -> tuple[pa.Table, dict[str, str]]:
    survivors = batch.survivors(StageName.LANGUAGE)
    documents = batch.read_documents()
    documents = documents.filter(pa.array([i in survivors for i in ids_of(documents)], pa.bool_()))
    previous = {i: row["stage_key"] for i, row in survivors.items()}
    return documents, stage_keys(context, StageName.DEDUP, documents, previous)


def _signed(context: RunContext, batch: BatchRef) -> list[dict[str, Any]]:
    path = context.folder / "progress" / SIGNATURES / f"{batch.number:05d}.parquet"
    return list(read_table(path, LOCATIONS).to_pylist())


def _texts(context: RunContext, places: Mapping[str, str], document_ids: Sequence[str]) -> dict[str, str]:
    schema = STAGES[StageName.NORMALIZE].writes
    rows = read_places(context, {document_id: places[document_id] for document_id in document_ids}, schema)
    return dict(zip(document_ids, rows.column("text").to_pylist(), strict=True))
