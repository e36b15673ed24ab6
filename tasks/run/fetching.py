"""The first stage: what is known is not fetched again, and what is fetched completes the batch's document rows."""

import os

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import DOCUMENTS
from schemas.names import Cohort, Outcome, StageName
from tasks.document_rows import ids_of, without
from tasks.lake.files import write_table
from tasks.lake.packed import read_places
from tasks.lake.raw import raw_missing
from tasks.run.brought_back import load_rows
from tasks.run.context import BatchRef, RunContext
from tasks.run.execute import in_parts, part_name
from tasks.run.guarded import run_guarded
from tasks.run.held import standing_rows
from tasks.run.keys import document_key, fetch_key
from tasks.run.registry import STAGES
from tasks.run.stored import (
    done_locations,
    location,
    location_rows,
    reworked,
    store,
    write_locations,
)
from tasks.stage import Batch, Failure, StageOutput

_COMPLETED = ("size_bytes", "media_type_declared")


def run_fetch(context: RunContext, batch: BatchRef) -> BatchRef:
    """The first stage: its key follows from the bytes it finds, and it completes the batch's document rows."""
    name = StageName.FETCH
    documents = batch.read_documents()
    standing = standing_rows(context, name, batch, {})
    documents = without(documents, standing)
    version = STAGES[name].version
    done = fetched_rows(context, documents)
    forced = name in context.options.force and context.options.asks_sources
    done = done.slice(0, 0) if forced else done
    pending = without(documents, ids_of(done))
    rows = [location_rows(list(standing.values())), done_locations(name, done)]
    for part, some in enumerate(in_parts(context, pending)):
        if not context.options.asks_sources:
            rows.append(_without_bytes(context, part_name(batch, part), some))
            continue
        previous = {} if forced else {name: previous_fetches(context, some)}
        output = run_guarded(STAGES[name], Batch(some, previous), context)
        described = some.select(["document_id", "content_sha", "media_type_declared"]).to_pylist()
        keys = {
            row["document_id"]: document_key(
                context.bases[name], fetch_key(version, row["content_sha"] or "", row["media_type_declared"]), {}
            )
            for row in described
        }
        for row in output.table.select(["document_id", "content_sha", "media_type_declared"]).to_pylist():
            keys[row["document_id"]] = fetch_key(version, row["content_sha"], row["media_type_declared"])
        marks = reworked(context, name, keys, output, STAGES[name].writes)
        rows.append(store(context, name, part_name(batch, part), some, keys, output, marks=marks))
    context.progress.advance(name, sum(part.num_rows for part in rows), pending.num_rows)
    fetched = batch.with_stage(name, write_locations(context, name, batch.number, rows))
    return _complete_documents(context, fetched)


def fetched_rows(context: RunContext, documents: pa.Table) -> pa.Table:
    """The ledger's rows (`Ledger.find_rows`) of documents that `fetch` need not take again."""
    name = StageName.FETCH
    documents = documents.filter(pc.field("content_sha").is_valid())
    ids, shas, declared = (
        documents.column(column).to_pylist() for column in ("document_id", "content_sha", "media_type_declared")
    )
    known = [fetch_key(STAGES[name].version, sha, told) for sha, told in zip(shas, declared, strict=True)]
    # What cannot be fetched under these settings may be under others (a size limit).
    refused = [document_key(context.bases[name], key, {}) for key in known]
    done = context.ledger.find_rows("output", name, ids, refused)
    fetched_before = context.ledger.find_rows("output", name, ids, known)
    sha_of = dict(zip(ids, shas, strict=True))
    suffice = [_needs_no_bytes(context, sha_of[i]) for i in ids_of(fetched_before)]
    standing = fetched_before.filter(pa.array(suffice, pa.bool_()))
    return pa.concat_tables([without(done, ids_of(standing)), standing])


def _without_bytes(context: RunContext, part: str, documents: pa.Table) -> pa.Table:
    """Location rows of documents whose bytes the lake has not, in a run that asks no source: what failed before has
    still failed, and is not another attempt."""
    name = StageName.FETCH
    failed = context.quarantine.newest(name, ids_of(documents))
    rows = []
    for document_id, row in failed.items():
        still = {"outcome": Outcome.QUARANTINED, "reason": row["error_class"]}
        rows.append(location(name, document_id, row["stage_key"], still, computed=False))
    lost = without(documents, failed)
    if lost.num_rows:
        error = raw_missing()
        failures = tuple(Failure(i, error.error_class, str(error), error.remedy, error.transient) for i in ids_of(lost))
        keys = {i: document_key(context.bases[name], "", {}) for i in ids_of(lost)}
        stored = store(context, name, part, lost, keys, StageOutput(STAGES[name].writes.empty_table(), failures))
        return pa.concat_tables([location_rows(rows), stored])
    return location_rows(rows)


def previous_fetches(context: RunContext, documents: pa.Table) -> pa.Table:
    """The newest `FETCH` row of each of these documents whose bytes need not be fetched again to be had."""
    schema = STAGES[StageName.FETCH].writes
    newest = context.ledger.select(
        """SELECT document_id, arg_max(file, recorded_at) AS file FROM ledger
           WHERE kind = 'output' AND stage = 'fetch' AND outcome = 'ok'
             AND document_id IN (SELECT document_id FROM wanted) GROUP BY document_id""",
        wanted=documents.select(["document_id"]),
    ).to_pylist()
    rows = read_places(context.lake, {row["document_id"]: row["file"] for row in newest}, schema)
    # Of bytes that the lake has lost a server must not answer that they are still the same.
    shas = rows.column("content_sha").to_pylist()
    return rows.filter(pa.array([_needs_no_bytes(context, sha) for sha in shas], pa.bool_()))


def _needs_no_bytes(context: RunContext, content_sha: str) -> bool:
    """Whether the lake has the bytes, or keeps none: then they are asked for where something is to be made of them."""
    if context.configuration.run.redact_only:
        return True
    return os.path.isfile(f"{context.lake.raw}/{content_sha[:2]}/{content_sha}")  # noqa: PTH113 - one for each document


def _complete_documents(context: RunContext, batch: BatchRef) -> BatchRef:
    """The batch's rows of the plan, as what was fetched completes them.

    A server says the type only with the bytes; a later plan that asks for none must know it.
    """
    documents = batch.read_documents()
    ids = documents.column("document_id")
    fetched = load_rows(context, StageName.FETCH, batch, sorted(batch.keys_after(StageName.FETCH)))
    at = pc.index_in(ids, fetched.column("document_id").combine_chunks())
    there = at.is_valid()
    found = {name: fetched.column(name).take(at) for name in ("content_sha", *_COMPLETED, "commit_time")}
    columns = {name: documents.column(name) for name in DOCUMENTS.names}
    for name in ("content_sha", *_COMPLETED):
        columns[name] = pc.if_else(there, found[name], columns[name])
    columns["commit_time"] = pc.coalesce(found["commit_time"], columns["commit_time"])
    # A document that live could not fetch has no bytes there: whatever is found now is a change.
    same = pc.fill_null(pc.equal(documents.column("previous_content_sha"), found["content_sha"]), False)
    told = pc.is_in(documents.column("cohort"), pa.array([Cohort.CHANGED.value, Cohort.UNCHANGED.value]))
    compared = pc.if_else(same, Cohort.UNCHANGED.value, Cohort.CHANGED.value)
    columns["cohort"] = pc.if_else(pc.and_(there, told), compared, documents.column("cohort"))
    path = batch.documents.with_name(f"{batch.number:05d}-fetched.parquet")
    made = pa.table([columns[f.name].cast(f.type) for f in DOCUMENTS], schema=DOCUMENTS)
    write_table(made, path, DOCUMENTS, durable=False)
    return BatchRef(batch.number, path, batch.locations)
