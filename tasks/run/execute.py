"""One stage over one batch: ask the ledger, load what is pending, run, write the rows, then the ledger."""

import errno
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import Cohort, Outcome, StageName
from tasks.errors import ConfigurationError, RunError
from tasks.lake import packed
from tasks.lake.files import write_table
from tasks.run.context import BatchRef, RunContext
from tasks.run.keys import DocumentKeys, digest, document_key, fetch_key
from tasks.run.registry import PREVIOUS, STAGES
from tasks.stage import Batch, Cost, Failure, Stage, StageOutput, select

_MACHINE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
)


def run_stage(context: RunContext, name: StageName, batch: BatchRef) -> BatchRef:
    """Takes a batch through one stage; documents that are done under the same key are not computed again."""
    documents, keys = _expected(context, name, batch)
    done = context.ledger.find("output", name, list(keys), list(keys.values()))
    pending = documents.filter(pa.array([i not in done for i in ids_of(documents)], pa.bool_()))
    rows = [location(name, row["document_id"], row["stage_key"], row, computed=False) for row in done.values()]
    for part, some in enumerate(in_parts(context, pending)):
        tables = {stage: load_rows(context, stage, batch, ids_of(some)) for stage in STAGES[name].reads}
        output = run_guarded(STAGES[name], Batch(some, tables), context)
        rows += store(context, name, part_name(batch, part), some, keys, output)
    context.progress.advance(name, len(rows), pending.num_rows)
    return batch.with_stage(name, write_locations(context, name, batch.number, rows))


def run_fetch(context: RunContext, batch: BatchRef) -> BatchRef:
    """The first stage: its key follows from the bytes it finds, and it completes the batch's document rows."""
    name = StageName.FETCH
    documents = batch.read_documents()
    version = STAGES[name].version
    described = {row["document_id"]: (row["content_sha"], row["media_type_declared"]) for row in documents.to_pylist()}
    known = {i: fetch_key(version, sha, declared) for i, (sha, declared) in described.items() if sha}
    # What cannot be fetched under these settings may be under others (a size limit).
    refused = {i: document_key(context.bases[name], key, {}) for i, key in known.items()}
    done = context.ledger.find("output", name, list(refused), list(refused.values()))
    fetched_before = context.ledger.find("output", name, list(known), list(known.values()))
    done |= {i: row for i, row in fetched_before.items() if _stored(context, described[i][0])}
    pending = documents.filter(pa.array([i not in done for i in ids_of(documents)], pa.bool_()))
    rows = [location(name, row["document_id"], row["stage_key"], row, computed=False) for row in done.values()]
    for part, some in enumerate(in_parts(context, pending)):
        output = run_guarded(STAGES[name], Batch(some, {name: _previous_fetches(context, some)}), context)
        keys = {
            i: document_key(context.bases[name], fetch_key(version, described[i][0] or "", described[i][1]), {})
            for i in ids_of(some)
        }
        for row in output.table.select(["document_id", "content_sha", "media_type_declared"]).to_pylist():
            keys[row["document_id"]] = fetch_key(version, row["content_sha"], row["media_type_declared"])
        rows += store(context, name, part_name(batch, part), some, keys, output)
    context.progress.advance(name, len(rows), pending.num_rows)
    fetched = batch.with_stage(name, write_locations(context, name, batch.number, rows))
    return _complete_documents(context, fetched)


def in_parts(context: RunContext, documents: pa.Table) -> Iterator[pa.Table]:
    """What is to be done of a batch, `run.batch_size` documents at a time: a batch of unchanged ones may be larger."""
    size = context.configuration.run.batch_size
    for start in range(0, documents.num_rows, size):
        yield documents.slice(start, size)


def part_name(batch: BatchRef, part: int) -> str:
    """What the files are called that a part of a batch is stored in."""
    return f"{batch.number:05d}" if part == 0 else f"{batch.number:05d}-{part}"


def load_rows(context: RunContext, stage: StageName, batch: BatchRef, document_ids: Sequence[str]) -> pa.Table:
    """A stage's rows of these documents, in this order.

    Raises:
        KeyError: the stage made no row of a document.
    """
    files = {row["document_id"]: row["file"] for row in batch.read_locations(stage).to_pylist() if row["file"]}
    places = {document_id: files[document_id] for document_id in document_ids}
    return read_places(context, places, STAGES[stage].writes)


def read_places(context: RunContext, places: Mapping[str, str], schema: pa.Schema) -> pa.Table:
    """The rows of documents that are stored under the given names (document id to name), in the order of `places`."""
    return select(packed.read_places(context.lake, places, schema), list(places)) if places else schema.empty_table()


def run_guarded(stage: Stage[Any], batch: Batch, context: RunContext, schema: pa.Schema | None = None) -> StageOutput:
    """Runs a stage; when it raises, every document is tried alone, and the one at fault becomes a failure.

    `schema` is that of the output where it is not `stage.writes` (the signatures of dedup).

    Raises:
        RunError: the machine is at fault (a full disk, no more open files, no more processes): every document would
            fail, and none would deserve it.
    """
    shape = schema if schema is not None else stage.writes
    try:
        return stage.run(batch, context.settings(stage.name), context.resources)
    except (ConfigurationError, RunError):
        raise
    except Exception as error:  # the border between a stage's defects and the run
        if isinstance(error, OSError) and error.errno in _MACHINE:
            raise RunError(
                f"stage {stage.name} could not go on: {error.strerror}",
                remedy="mend what the machine lacks (disk space, limits of the user), then give the same command "
                "again; what is done is kept",
            ) from error
        ids = ids_of(batch.documents)
        if len(ids) == 1:
            return StageOutput(shape.empty_table(), (_defect(ids[0], error),))
        return _merge([run_guarded(stage, part, context, schema) for part in _singles(batch)])


def store(
    context: RunContext,
    name: StageName | str,
    part: str,
    documents: pa.Table,
    keys: Mapping[str, str],
    output: StageOutput,
    schema: pa.Schema | None = None,
) -> list[dict[str, Any]]:
    """Writes a stage's output and then the ledger; returns location rows. Every document must be accounted for."""
    stage = STAGES[StageName(name)] if name in STAGES else STAGES[StageName.DEDUP]
    shape = schema if schema is not None else stage.writes
    _account_for(name, documents, output)
    keys = {**keys, **{i: digest([keys[i], lacks]) for i, lacks in output.partial.items()}}
    path = context.lake.stage(name) / f"{context.run_id}-{part}.parquet"
    if output.table.num_rows:
        write_table(output.table.sort_by("document_id"), path, shape)
    shas = dict(zip(ids_of(documents), documents.column("content_sha").to_pylist(), strict=True))
    if name == StageName.FETCH:
        shas |= dict(zip(ids_of(output.table), output.table.column("content_sha").to_pylist(), strict=True))
    outcomes: list[dict[str, Any]] = []
    for document_id in ids_of(output.table):
        outcomes.append({"document_id": document_id, "outcome": Outcome.OK, "file": context.relative(path)})
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
    context.ledger.record(
        (
            {
                "kind": "output",
                "content_sha": shas[row["document_id"]] or "",
                "stage": str(name),
                "stage_key": keys[row["document_id"]],
                "reason": row.get("reason"),
                "file": row.get("file"),
                "seconds": (cost := output.costs.get(row["document_id"], Cost(0.0))).seconds,
                "peak_rss_bytes": cost.peak_rss_bytes,
                "attempt": attempts.get(row["document_id"], 1),
                "run_id": context.run_id,
                "document_id": row["document_id"],
                "outcome": row["outcome"],
            }
            for row in outcomes
            if row["document_id"] not in transient
        ),
        f"{context.run_id}-{name}-{part}",
    )
    return [location(name, row["document_id"], keys[row["document_id"]], row, computed=True) for row in outcomes]


def write_locations(context: RunContext, name: StageName | str, number: int, rows: Sequence[dict[str, Any]]) -> Path:
    """Writes a batch's location rows of one stage and returns the path."""
    path = context.folder / "progress" / str(name) / f"{number:05d}.parquet"
    ordered = sorted(rows, key=lambda row: row["document_id"])
    write_table(pa.Table.from_pylist(ordered, schema=LOCATIONS), path, LOCATIONS, durable=False)
    return path


def stage_keys(
    context: RunContext, name: StageName, documents: pa.Table, previous: Mapping[str, str]
) -> dict[str, str]:
    """The stage key of each document, from its key of the stage before."""
    stage, settings = STAGES[name], context.settings(name)
    keys: dict[str, str] = {}
    named = DocumentKeys()
    needed = (
        documents.column_names if stage.attachments else dict.fromkeys(("document_id", "doc_class", *stage.context))
    )
    for row in documents.select(list(needed)).to_pylist():
        shaping = {column: row[column] for column in stage.context}
        if stage.attachments:
            shaping |= stage.attachments(row, settings)
        base = context.base(name, row["doc_class"])
        keys[row["document_id"]] = named.of(base, previous[row["document_id"]], shaping)
    return keys


def _expected(context: RunContext, name: StageName, batch: BatchRef) -> tuple[pa.Table, dict[str, str]]:
    survivors = batch.survivors(PREVIOUS[name])
    documents = batch.read_documents()
    documents = documents.filter(pa.array([i in survivors for i in ids_of(documents)], pa.bool_()))
    return documents, stage_keys(context, name, documents, {i: row["stage_key"] for i, row in survivors.items()})


def _previous_fetches(context: RunContext, documents: pa.Table) -> pa.Table:
    schema = STAGES[StageName.FETCH].writes
    newest = context.ledger.select(
        """SELECT document_id, arg_max(file, recorded_at) AS file FROM ledger
           WHERE kind = 'output' AND stage = 'fetch' AND outcome = 'ok'
             AND document_id IN (SELECT document_id FROM wanted) GROUP BY document_id""",
        wanted=documents.select(["document_id"]),
    ).to_pylist()
    return read_places(context, {row["document_id"]: row["file"] for row in newest}, schema)


def _stored(context: RunContext, content_sha: str) -> bool:
    return (context.lake.raw / content_sha[:2] / content_sha).is_file()


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


def _account_for(name: str, documents: pa.Table, output: StageOutput) -> None:
    failed = [failure.document_id for failure in output.failures]
    made = ids_of(output.table)
    dropped = [drop.document_id for drop in output.drops if drop.document_id not in set(made)]
    if sorted(made + failed + dropped) != sorted(ids_of(documents)):
        raise RunError(
            f"stage {name} does not account for every document exactly once",
            remedy="a defect of the stage: please report it",
        )


def location(
    name: StageName | str, document_id: str, key: str, row: Mapping[str, Any], *, computed: bool
) -> dict[str, Any]:
    """A `LOCATIONS` row from a ledger row or from what `store` has just written."""
    return {
        "document_id": document_id,
        "stage": str(name),
        "stage_key": key,
        "outcome": str(row["outcome"]),
        "reason": row.get("reason"),
        "file": row.get("file"),
        "measures_file": None,
        "measures_key": None,
        "computed": computed,
    }


def _defect(document_id: str, error: Exception) -> Failure:
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame is not None else "unknown"
    return Failure(
        document_id,
        "defect",
        f"{type(error).__name__} at {where}",
        "a defect of corpusgate or of a library below it: please report it with this line; the next run tries again",
        transient=True,
    )


def _singles(batch: Batch) -> list[Batch]:
    alone = []
    for i, document_id in enumerate(ids_of(batch.documents)):
        tables = {
            name: table.filter(pa.array([x == document_id for x in ids_of(table)], pa.bool_()))
            for name, table in batch.tables.items()
        }
        alone.append(Batch(batch.documents.slice(i, 1), tables))
    return alone


def _merge(outputs: Sequence[StageOutput]) -> StageOutput:
    return StageOutput(
        pa.concat_tables([output.table for output in outputs]),
        tuple(failure for output in outputs for failure in output.failures),
        tuple(drop for output in outputs for drop in output.drops),
        {document_id: cost for output in outputs for document_id, cost in output.costs.items()},
        {document_id: lacks for output in outputs for document_id, lacks in output.partial.items()},
    )


def ids_of(table: pa.Table) -> list[str]:
    """The document ids of a table, in its order."""
    return list(table.column("document_id").to_pylist())
