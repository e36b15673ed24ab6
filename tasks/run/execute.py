"""One stage over one batch: ask the ledger, load what is pending, run, write the rows, then the ledger."""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import StageName
from tasks.document_rows import ids_of, without
from tasks.run.brought_back import lent, load_or_lose
from tasks.run.context import BatchRef, RunContext
from tasks.run.former_rows import former_rows
from tasks.run.guarded import run_guarded
from tasks.run.held import standing_rows
from tasks.run.registry import PREVIOUS, STAGES
from tasks.run.stage_keys import stage_keys
from tasks.run.stored import done_locations, location_rows, reworked, store, write_locations
from tasks.stage import Batch


def run_stage(context: RunContext, name: StageName, batch: BatchRef) -> BatchRef:
    """Takes a batch through one stage; documents that are done under the same key are not computed again, unless the
    stage is forced. Documents that the run does not take in keep their rows."""
    documents, keys, standing = _expected(context, name, batch)
    found = context.ledger.find_rows("output", name, list(keys), list(keys.values()))
    done = found.slice(0, 0) if name in context.options.force else found
    pending = without(documents, ids_of(done))
    rows = [standing, done_locations(name, done)]
    for part, some in enumerate(in_parts(context, pending)):
        tables, lost = load_or_lose(context, STAGES[name].reads, batch, ids_of(some))
        left = without(some, [failure.document_id for failure in lost])
        output = run_guarded(STAGES[name], Batch(left, tables, former_rows(context, name, left)), context, lend=lent)
        output = replace(output, failures=(*output.failures, *lost))
        marks = reworked(context, name, keys, output, STAGES[name].writes)
        rows.append(store(context, name, part_name(batch, part), some, keys, output, marks=marks))
    context.progress.advance(name, sum(part.num_rows for part in rows), pending.num_rows)
    return batch.with_stage(name, write_locations(context, name, batch.number, rows))


def in_parts(context: RunContext, documents: pa.Table) -> Iterator[pa.Table]:
    """What is to be done of a batch, `run.batch_size` documents at a time: a batch of unchanged ones may be larger."""
    size = context.configuration.run.batch_size
    for start in range(0, documents.num_rows, size):
        yield documents.slice(start, size)


def part_name(batch: BatchRef, part: int) -> str:
    """What the files are called that a part of a batch is stored in."""
    return f"{batch.number:05d}" if part == 0 else f"{batch.number:05d}-{part}"


def _expected(context: RunContext, name: StageName, batch: BatchRef) -> tuple[pa.Table, dict[str, str], pa.Table]:
    """The documents that come to a stage with their keys, and the `LOCATIONS` rows of those that stand as they are."""
    previous = batch.keys_after(PREVIOUS[name])
    standing = standing_rows(context, name, batch, previous)
    documents = batch.read_documents()
    documents = documents.filter(pc.is_in(documents.column("document_id"), pa.array(list(previous), pa.string())))
    documents = without(documents, standing)
    return documents, stage_keys(context, name, documents, previous), location_rows(list(standing.values()))
