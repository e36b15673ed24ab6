"""What a stage made: written to the lake first, then named in the ledger; and read again."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import LOCATIONS
from schemas.names import Outcome, StageName
from tasks.document_rows import ids_of
from tasks.errors import RunError
from tasks.lake import packed
from tasks.lake.files import write_table
from tasks.lake.layout import SIGNATURES
from tasks.run.context import RunContext
from tasks.run.forced import chained_key, chained_keys, changed_outputs
from tasks.run.keys import digest
from tasks.run.registry import STAGES
from tasks.stage import Cost, StageOutput

_FORCED_WITH = MappingProxyType({SIGNATURES: StageName.DEDUP})


def store(
    context: RunContext,
    name: StageName | str,
    part: str,
    documents: pa.Table,
    keys: Mapping[str, str],
    output: StageOutput,
    schema: pa.Schema | None = None,
    marks: Mapping[str, str | None] = MappingProxyType({}),
) -> pa.Table:
    """Writes a stage's output and then the ledger; returns `LOCATIONS` rows. Every document must be accounted for.

    `marks` are those of documents whose key has stood for another output before.
    """
    stage = STAGES[StageName(name)] if name in STAGES else STAGES[StageName.DEDUP]
    shape = schema if schema is not None else stage.writes
    _account_for(name, documents, output)
    keys = stored_keys(keys, output.partial)
    path = context.lake.stage(name) / f"{context.run_id}-{part}.parquet"
    if output.table.num_rows:
        write_table(output.table.sort_by("document_id"), path, shape)
    shas = dict(zip(ids_of(documents), documents.column("content_sha").to_pylist(), strict=True))
    if name == StageName.FETCH:
        shas |= dict(zip(ids_of(output.table), output.table.column("content_sha").to_pylist(), strict=True))
    file = context.relative(path)
    outcomes: list[dict[str, Any]] = [
        {"document_id": i, "outcome": Outcome.OK, "reason": marks.get(i), "file": file} for i in ids_of(output.table)
    ]
    dropped = {drop.document_id: drop.reason for drop in output.drops}
    outcomes = [
        row | {"outcome": Outcome.DROPPED, "reason": dropped.pop(row["document_id"])}
        if row["document_id"] in dropped
        else row
        for row in outcomes
    ]
    outcomes += [{"document_id": i, "outcome": Outcome.DROPPED, "reason": reason} for i, reason in dropped.items()]
    outcomes += [
        {"document_id": f.document_id, "outcome": Outcome.QUARANTINED, "reason": f.error_class} for f in output.failures
    ]
    attempts = context.quarantine.record(context.run_id, str(name), stage.version, part, output.failures, keys, shas)
    transient = {failure.document_id for failure in output.failures if failure.transient}
    outcomes = [row | {"stage_key": keys[row["document_id"]]} for row in outcomes]
    # The key that the next stage goes on from is in the ledger too: costs are looked up by it.
    again = [
        row | {"stage_key": chained_key(row), "reason": None}
        for row in outcomes
        if chained_key(row) != row["stage_key"]
    ]
    context.ledger.record(
        (
            {
                "kind": "output",
                "content_sha": shas[row["document_id"]] or "",
                "stage": str(name),
                "stage_key": row["stage_key"],
                "reason": row.get("reason"),
                "file": row.get("file"),
                "seconds": (cost := output.costs.get(row["document_id"], Cost(0.0))).seconds,
                "peak_rss_bytes": cost.peak_rss_bytes,
                "attempt": attempts.get(row["document_id"], 1),
                "run_id": context.run_id,
                "document_id": row["document_id"],
                "outcome": row["outcome"],
            }
            for row in [*outcomes, *again]
            if row["document_id"] not in transient
        ),
        f"{context.run_id}-{name}-{part}",
    )
    return location_rows([location(name, row["document_id"], chained_key(row), row, computed=True) for row in outcomes])


def reworked(
    context: RunContext, name: StageName | str, keys: Mapping[str, str], output: StageOutput, schema: pa.Schema
) -> dict[str, str | None]:
    """The marks of what was made though the ledger has an output under the same key: by a forced stage, which are told,
    and of documents that were cut short, which every run tries again. No others are.

    `keys` are those of the stage. What came out as before keeps the mark that it has.
    """
    forced = _FORCED_WITH.get(str(name), name) in context.options.force
    made = set(ids_of(output.table)) if forced else set(ids_of(output.table)) & output.partial.keys()
    if not made:
        return {}
    under = stored_keys(keys, output.partial)
    rows = context.ledger.find_rows("output", str(name), ids := sorted(made), [under[i] for i in ids]).to_pylist()
    rows = [row for row in rows if row["file"] is not None]
    places = {row["document_id"]: row["file"] for row in rows}
    marks: dict[str, str | None] = {row["document_id"]: row["reason"] for row in rows if row["outcome"] == Outcome.OK}
    before = packed.read_places(context.lake, places, schema).to_pylist()
    now = [row for row in output.table.to_pylist() if row["document_id"] in made]
    changed = changed_outputs(name, before, now)
    if forced:
        context.reworked.add(str(name), len(made), changed)
    # What the lake does not hold any more cannot be compared: what follows is made anew.
    lost = [{"document_id": document_id} for document_id in places.keys() - {row["document_id"] for row in before}]
    return marks | changed | changed_outputs(name, lost, now)


def stored_keys(keys: Mapping[str, str], partial: Mapping[str, str]) -> dict[str, str]:
    """The keys under which what a stage made is stored: of what was cut short (`StageOutput.partial`), one that says
    what it lacks."""
    return {**keys, **{i: digest([keys[i], lacks]) for i, lacks in partial.items()}}


def write_locations(context: RunContext, name: StageName | str, number: int, parts: Iterable[pa.Table]) -> Path:
    """Writes a batch's location rows of one stage (`LOCATIONS`, in parts) and returns the path."""
    path = context.folder / "progress" / str(name) / f"{number:05d}.parquet"
    table = pa.concat_tables([LOCATIONS.empty_table(), *parts]).sort_by("document_id")
    write_table(table, path, LOCATIONS, durable=False)
    return path


def location_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows that `location` made, as a table."""
    return pa.Table.from_pylist(list(rows), schema=LOCATIONS)


def done_locations(name: StageName | str, done: pa.Table) -> pa.Table:
    """`LOCATIONS` rows of what the ledger says is done (`Ledger.find_rows`)."""
    outcome, count = done.column("outcome"), done.num_rows
    columns = {
        "document_id": done.column("document_id"),
        "stage": pa.repeat(str(name), count),
        "stage_key": chained_keys(done),
        "outcome": outcome,
        "reason": pc.if_else(pc.equal(outcome, Outcome.OK.value), pa.scalar(None, pa.string()), done.column("reason")),
        "file": done.column("file"),
        "computed": pa.repeat(False, count),
    }
    return pa.table([columns.get(field.name, pa.nulls(count, field.type)) for field in LOCATIONS], schema=LOCATIONS)


def location(
    name: StageName | str, document_id: str, key: str, row: Mapping[str, Any], *, computed: bool
) -> dict[str, Any]:
    """A `LOCATIONS` row from a ledger row or from what `store` has just written."""
    return {
        "document_id": document_id,
        "stage": str(name),
        "stage_key": key,
        "outcome": str(row["outcome"]),
        "reason": row.get("reason") if row["outcome"] != Outcome.OK else None,
        "file": row.get("file"),
        "measures_file": None,
        "measures_key": None,
        "computed": computed,
    }


def _account_for(name: str, documents: pa.Table, output: StageOutput) -> None:
    failed = [failure.document_id for failure in output.failures]
    made = ids_of(output.table)
    dropped = [drop.document_id for drop in output.drops if drop.document_id not in set(made)]
    if sorted(made + failed + dropped) != sorted(ids_of(documents)):
        raise RunError(
            f"stage {name} does not account for every document exactly once",
            remedy="a defect of the stage: please report it",
        )
