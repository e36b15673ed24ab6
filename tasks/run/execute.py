"""One stage over one batch: ask the ledger, load what is pending, run, write the rows, then the ledger."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from schemas.names import StageName
from tasks.run.brought_back import lent, load_or_lose, without
from tasks.run.context import BatchRef, RunContext
from tasks.run.forced import chained_key
from tasks.run.guarded import run_guarded
from tasks.run.held import standing_rows
from tasks.run.keys import DocumentKeys
from tasks.run.registry import PREVIOUS, STAGES
from tasks.run.stored import location, reworked, store, write_locations
from tasks.stage import Batch, ids_of


def run_stage(context: RunContext, name: StageName, batch: BatchRef) -> BatchRef:
    """Takes a batch through one stage; documents that are done under the same key are not computed again, unless the
    stage is forced. Documents that the run does not take in keep their rows."""
    documents, keys, rows = _expected(context, name, batch)
    found = context.ledger.find("output", name, list(keys), list(keys.values()))
    done = {} if name in context.options.force else found
    pending = documents.filter(pa.array([i not in done for i in ids_of(documents)], pa.bool_()))
    rows += [location(name, i, chained_key(row), row, computed=False) for i, row in done.items()]
    for part, some in enumerate(in_parts(context, pending)):
        tables, lost = load_or_lose(context, STAGES[name].reads, batch, ids_of(some))
        output = run_guarded(STAGES[name], Batch(without(some, lost), tables), context, lend=lent)
        output = replace(output, failures=(*output.failures, *lost))
        marks = reworked(context, name, found, output, STAGES[name].writes)
        rows += store(context, name, part_name(batch, part), some, keys, output, marks=marks)
    context.progress.advance(name, len(rows), pending.num_rows)
    return batch.with_stage(name, write_locations(context, name, batch.number, rows))


def in_parts(context: RunContext, documents: pa.Table) -> Iterator[pa.Table]:
    """What is to be done of a batch, `run.batch_size` documents at a time: a batch of unchanged ones may be larger."""
    size = context.configuration.run.batch_size
    for start in range(0, documents.num_rows, size):
        yield documents.slice(start, size)


def part_name(batch: BatchRef, part: int) -> str:
    """What the files are called that a part of a batch is stored in."""
    return f"{batch.number:05d}" if part == 0 else f"{batch.number:05d}-{part}"


def stage_keys(
    context: RunContext, name: StageName, documents: Sequence[Mapping[str, Any]], previous: Mapping[str, str]
) -> dict[str, str]:
    """The stage key of each document (rows of `DOCUMENTS`), from its key of the stage before."""
    stage, settings = STAGES[name], context.settings(name)
    keys: dict[str, str] = {}
    named = DocumentKeys()
    for row in documents:
        shaping = {column: row[column] for column in stage.context}
        if stage.attachments:
            shaping |= stage.attachments(row, settings)
        base = context.base(name, row["doc_class"])
        keys[row["document_id"]] = named.of(base, previous[row["document_id"]], shaping)
    return keys


def _expected(
    context: RunContext, name: StageName, batch: BatchRef
) -> tuple[pa.Table, dict[str, str], list[dict[str, Any]]]:
    """The documents that come to a stage with their keys, and the rows of those that stand as they are."""
    previous = {i: row["stage_key"] for i, row in batch.survivors(PREVIOUS[name]).items()}
    standing = standing_rows(context, name, batch, previous)
    documents = batch.read_documents()
    wanted = [i in previous and i not in standing for i in ids_of(documents)]
    documents = documents.filter(pa.array(wanted, pa.bool_()))
    return documents, stage_keys(context, name, documents.to_pylist(), previous), list(standing.values())
