"""The first stage: what is known is not fetched again, and what is fetched completes the batch's document rows."""

from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS
from schemas.names import Cohort, Outcome, StageName
from tasks.lake.files import write_table
from tasks.lake.raw import raw_missing
from tasks.run.brought_back import load_rows
from tasks.run.context import BatchRef, RunContext
from tasks.run.execute import in_parts, part_name
from tasks.run.forced import chained_key
from tasks.run.guarded import run_guarded
from tasks.run.held import standing_rows
from tasks.run.keys import document_key, fetch_key
from tasks.run.registry import STAGES
from tasks.run.stored import location, read_places, reworked, store, write_locations
from tasks.stage import Batch, Failure, StageOutput, ids_of


def run_fetch(context: RunContext, batch: BatchRef) -> BatchRef:
    """The first stage: its key follows from the bytes it finds, and it completes the batch's document rows."""
    name = StageName.FETCH
    documents = batch.read_documents()
    standing = standing_rows(context, name, batch, {})
    documents = documents.filter(pa.array([i not in standing for i in ids_of(documents)], pa.bool_()))
    version = STAGES[name].version
    described = {row["document_id"]: (row["content_sha"], row["media_type_declared"]) for row in documents.to_pylist()}
    done, fetched_before = fetched_rows(context, documents)
    forced = name in context.options.force and context.options.asks_sources
    pending = documents.filter(pa.array([forced or i not in done for i in ids_of(documents)], pa.bool_()))
    rows = list(standing.values())
    rows += [location(name, i, chained_key(row), row, computed=False) for i, row in done.items() if not forced]
    for part, some in enumerate(in_parts(context, pending)):
        if not context.options.asks_sources:
            rows += _without_bytes(context, part_name(batch, part), some)
            continue
        previous = {} if forced else {name: previous_fetches(context, some)}
        output = run_guarded(STAGES[name], Batch(some, previous), context)
        keys = {
            i: document_key(context.bases[name], fetch_key(version, described[i][0] or "", described[i][1]), {})
            for i in ids_of(some)
        }
        for row in output.table.select(["document_id", "content_sha", "media_type_declared"]).to_pylist():
            keys[row["document_id"]] = fetch_key(version, row["content_sha"], row["media_type_declared"])
        same = {i: row for i, row in fetched_before.items() if row["stage_key"] == keys.get(i)}
        marks = reworked(context, name, same, output, STAGES[name].writes)
        rows += store(context, name, part_name(batch, part), some, keys, output, marks=marks)
    context.progress.advance(name, len(rows), pending.num_rows)
    fetched = batch.with_stage(name, write_locations(context, name, batch.number, rows))
    return _complete_documents(context, fetched)


def fetched_rows(
    context: RunContext, documents: pa.Table
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """The ledger's rows of documents that `fetch` need not take again, and all that it has of the same bytes."""
    name = StageName.FETCH
    shas = dict(zip(ids_of(documents), documents.column("content_sha").to_pylist(), strict=True))
    declared = dict(zip(ids_of(documents), documents.column("media_type_declared").to_pylist(), strict=True))
    known = {i: fetch_key(STAGES[name].version, sha, declared[i]) for i, sha in shas.items() if sha}
    # What cannot be fetched under these settings may be under others (a size limit).
    refused = {i: document_key(context.bases[name], key, {}) for i, key in known.items()}
    done = context.ledger.find("output", name, list(refused), list(refused.values()))
    fetched_before = context.ledger.find("output", name, list(known), list(known.values()))
    done |= {i: row for i, row in fetched_before.items() if _needs_no_bytes(context, shas[i])}
    return done, fetched_before


def _without_bytes(context: RunContext, part: str, documents: pa.Table) -> list[dict[str, Any]]:
    """Location rows of documents whose bytes the lake has not, in a run that asks no source: what failed before has
    still failed, and is not another attempt."""
    name = StageName.FETCH
    failed = context.quarantine.newest(name, ids_of(documents))
    rows = []
    for document_id, row in failed.items():
        still = {"outcome": Outcome.QUARANTINED, "reason": row["error_class"]}
        rows.append(location(name, document_id, row["stage_key"], still, computed=False))
    lost = documents.filter(pa.array([i not in failed for i in ids_of(documents)], pa.bool_()))
    if lost.num_rows:
        error = raw_missing()
        failures = tuple(Failure(i, error.error_class, str(error), error.remedy, error.transient) for i in ids_of(lost))
        keys = {i: document_key(context.bases[name], "", {}) for i in ids_of(lost)}
        rows += store(context, name, part, lost, keys, StageOutput(STAGES[name].writes.empty_table(), failures))
    return rows


def previous_fetches(context: RunContext, documents: pa.Table) -> pa.Table:
    """The newest `FETCH` row of each of these documents whose bytes need not be fetched again to be had."""
    schema = STAGES[StageName.FETCH].writes
    newest = context.ledger.select(
        """SELECT document_id, arg_max(file, recorded_at) AS file FROM ledger
           WHERE kind = 'output' AND stage = 'fetch' AND outcome = 'ok'
             AND document_id IN (SELECT document_id FROM wanted) GROUP BY document_id""",
        wanted=documents.select(["document_id"]),
    ).to_pylist()
    rows = read_places(context, {row["document_id"]: row["file"] for row in newest}, schema)
    # Of bytes that the lake has lost a server must not answer that they are still the same.
    shas = rows.column("content_sha").to_pylist()
    return rows.filter(pa.array([_needs_no_bytes(context, sha) for sha in shas], pa.bool_()))


def _needs_no_bytes(context: RunContext, content_sha: str) -> bool:
    """Whether the lake has the bytes, or keeps none: then they are asked for where something is to be made of them."""
    return context.configuration.run.redact_only or (context.lake.raw / content_sha[:2] / content_sha).is_file()


def _complete_documents(context: RunContext, batch: BatchRef) -> BatchRef:
    documents = batch.read_documents()
    fetched = load_rows(context, StageName.FETCH, batch, sorted(batch.survivors(StageName.FETCH)))
    found = {row["document_id"]: row for row in fetched.to_pylist()}
    rows = []
    for row in documents.to_pylist():
        fetch = found.get(row["document_id"])
        if fetch is not None:
            row["content_sha"] = fetch["content_sha"]
            row["size_bytes"] = fetch["size_bytes"]
            # A server says the type only with the bytes; a later plan that asks for none must know it.
            row["media_type_declared"] = fetch["media_type_declared"]
            row["commit_time"] = fetch["commit_time"] or row["commit_time"]
            # A document that live could not fetch has no bytes there: whatever is found now is a change.
            if row["cohort"] in (Cohort.CHANGED, Cohort.UNCHANGED):
                same = row["previous_content_sha"] == fetch["content_sha"]
                row["cohort"] = Cohort.UNCHANGED if same else Cohort.CHANGED
        rows.append(row)
    path = batch.documents.with_name(f"{batch.number:05d}-fetched.parquet")
    write_table(pa.Table.from_pylist(rows, schema=DOCUMENTS), path, DOCUMENTS, durable=False)
    return BatchRef(batch.number, path, batch.locations)
