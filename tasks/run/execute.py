"""One stage over one batch: ask the ledger, load what is pending, run, write the rows, then the ledger."""

import errno
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import Cohort, Outcome, StageName
from tasks.errors import ConfigurationError, RunError
from tasks.lake import packed
from tasks.lake.files import write_table
from tasks.lake.layout import SIGNATURES
from tasks.run.context import BatchRef, RunContext
from tasks.run.forced import chained_key, changed_outputs
from tasks.run.held import standing_rows
from tasks.run.keys import DocumentKeys, digest, document_key, fetch_key
from tasks.run.registry import PREVIOUS, STAGES
from tasks.stage import Batch, Cost, Failure, Stage, StageOutput, select

_FORCED_WITH = MappingProxyType({SIGNATURES: StageName.DEDUP})
_MACHINE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
)


def run_stage(context: RunContext, name: StageName, batch: BatchRef) -> BatchRef:
    """Takes a batch through one stage; documents that are done under the same key are not computed again, unless the
    stage is forced. Documents that the run does not take in keep their rows."""
    documents, keys, rows = _expected(context, name, batch)
    found = context.ledger.find("output", name, list(keys), list(keys.values()))
    done = {} if name in context.options.force else found
    pending = documents.filter(pa.array([i not in done for i in ids_of(documents)], pa.bool_()))
    rows += [location(name, i, chained_key(row), row, computed=False) for i, row in done.items()]
    for part, some in enumerate(in_parts(context, pending)):
        tables = {stage: load_rows(context, stage, batch, ids_of(some)) for stage in STAGES[name].reads}
        output = run_guarded(STAGES[name], Batch(some, tables), context)
        marks = reworked(context, name, found, output, STAGES[name].writes)
        rows += store(context, name, part_name(batch, part), some, keys, output, marks=marks)
    context.progress.advance(name, len(rows), pending.num_rows)
    return batch.with_stage(name, write_locations(context, name, batch.number, rows))


def run_fetch(context: RunContext, batch: BatchRef) -> BatchRef:
    """The first stage: its key follows from the bytes it finds, and it completes the batch's document rows."""
    name = StageName.FETCH
    documents = batch.read_documents()
    standing = standing_rows(context, name, batch, {})
    documents = documents.filter(pa.array([i not in standing for i in ids_of(documents)], pa.bool_()))
    version = STAGES[name].version
    described = {row["document_id"]: (row["content_sha"], row["media_type_declared"]) for row in documents.to_pylist()}
    done, fetched_before = fetched_rows(context, documents)
    forced = name in context.options.force
    pending = documents.filter(pa.array([forced or i not in done for i in ids_of(documents)], pa.bool_()))
    rows = list(standing.values())
    rows += [location(name, i, chained_key(row), row, computed=False) for i, row in done.items() if not forced]
    for part, some in enumerate(in_parts(context, pending)):
        previous = {} if forced else {name: _previous_fetches(context, some)}
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


def in_parts(context: RunContext, documents: pa.Table) -> Iterator[pa.Table]:
    """What is to be done of a batch, `run.batch_size` documents at a time: a batch of unchanged ones may be larger."""
    size = context.configuration.run.batch_size
    for start in range(0, documents.num_rows, size):
        yield documents.slice(start, size)


def part_name(batch: BatchRef, part: int) -> str:
    """What the files are called that a part of a batch is stored in."""
    return f"{batch.number:05d}" if part == 0 else f"{batch.number:05d}-{part}"


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
    done |= {i: row for i, row in fetched_before.items() if _stored(context, shas[i])}
    return done, fetched_before


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
    marks: Mapping[str, str | None] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Writes a stage's output and then the ledger; returns location rows. Every document must be accounted for.

    `marks` are those of documents whose key has stood for another output before.
    """
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
    return [location(name, row["document_id"], chained_key(row), row, computed=True) for row in outcomes]


def reworked(
    context: RunContext,
    name: StageName | str,
    found: Mapping[str, dict[str, Any]],
    output: StageOutput,
    schema: pa.Schema,
) -> dict[str, str | None]:
    """The marks of what a forced stage made, which are told; no others are.

    `found` are the ledger's rows under the same keys. What came out as before keeps the mark that it has.
    """
    if not output.table.num_rows or _FORCED_WITH.get(str(name), name) not in context.options.force:
        return {}
    made = set(ids_of(output.table))
    places = {i: row["file"] for i, row in found.items() if row["file"] is not None and i in made}
    marks: dict[str, str | None] = {i: found[i]["reason"] for i in places if found[i]["outcome"] == Outcome.OK}
    changed = changed_outputs(name, read_places(context, places, schema).to_pylist(), output.table.to_pylist())
    context.reworked.add(str(name), len(made), changed)
    return marks | changed


def write_locations(context: RunContext, name: StageName | str, number: int, rows: Sequence[dict[str, Any]]) -> Path:
    """Writes a batch's location rows of one stage and returns the path."""
    path = context.folder / "progress" / str(name) / f"{number:05d}.parquet"
    ordered = sorted(rows, key=lambda row: row["document_id"])
    write_table(pa.Table.from_pylist(ordered, schema=LOCATIONS), path, LOCATIONS, durable=False)
    return path


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
        "reason": row.get("reason") if row["outcome"] != Outcome.OK else None,
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
