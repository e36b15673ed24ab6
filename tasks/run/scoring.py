"""Evaluators over a run: rows of documents, kept under their own key, and facts of the run, made anew."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import LOCATIONS
from schemas.measures import MEASURES
from schemas.names import StageName
from tasks.gold.labels import Labels
from tasks.gold.table import label_digest
from tasks.lake.files import write_table
from tasks.metrics.rows import concat_rows
from tasks.run.brought_back import lent, load_or_lose, without
from tasks.run.context import BatchRef, RunContext
from tasks.run.keys import measures_key, measuring_settings
from tasks.run.registry import STAGES, labels_read, scorer
from tasks.run.survival import survival_of_documents
from tasks.stage import Batch, Cost, Evidence, ids_of, select

_FLUSH_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class _Scored:
    """A batch's metric rows of one stage, with the measures key of each document."""

    batch: int
    keys: Mapping[str, str]
    documents: pa.Table
    rows: pa.Table


def score_documents(
    context: RunContext, name: StageName, batches: Sequence[BatchRef], labels: Labels, *, anew: bool = False
) -> None:
    """Scores what a stage made of each document and is not scored yet (`anew`: all of it).

    Location rows that name the measures files are written to `BatchRef.scored`.
    """
    found: dict[int, dict[str, tuple[str, str]]] = {}
    collected: list[_Scored] = []
    for batch in batches:
        keys = _measure_keys(context, name, batch, labels)
        done = {} if anew else context.ledger.find("measures", name, list(keys), list(keys.values()))
        found[batch.number] = {i: (row["file"], keys[i]) for i, row in done.items()}
        pending = {i: key for i, key in keys.items() if i not in done}
        for some in _parts(pending, context.configuration.run.batch_size):
            collected.append(_score_batch(context, name, batch, labels, some))
            if sum(part.rows.num_rows for part in collected) > _FLUSH_ROWS:
                _flush(context, name, collected, found)
                collected = []
    _flush(context, name, collected, found)
    for batch in batches:
        _with_measures(name, batch, found[batch.number])


def _parts(keys: Mapping[str, str], size: int) -> Iterator[dict[str, str]]:
    items = iter(keys.items())
    while some := dict(islice(items, size)):
        yield some


def costs(context: RunContext, locations: pa.Table) -> dict[str, Cost]:
    """What the making of these rows (`LOCATIONS` of one stage) cost, by document id.

    The same bytes may have been fetched in several runs under one key: each run has the cost of its own file. Where
    there is none, since the stage failed, it is that of the last try up to this run.
    """
    if not locations.num_rows:
        return {}
    (stage,) = pc.unique(locations.column("stage")).to_pylist()
    rows = context.ledger.select(
        """SELECT l.document_id, l.seconds, l.peak_rss_bytes
           FROM ledger l JOIN wanted w USING (document_id, stage_key)
           WHERE l.kind = 'output' AND l.stage = ?
             AND (l.file = w.file OR (l.file IS NULL AND w.file IS NULL AND l.run_id <= ?))
           QUALIFY row_number() OVER (PARTITION BY l.document_id ORDER BY l.recorded_at DESC) = 1""",
        [stage, context.run_id],
        wanted=locations.select(["document_id", "stage_key", "file"]),
    )
    return {row["document_id"]: Cost(row["seconds"] or 0.0, row["peak_rss_bytes"]) for row in rows.to_pylist()}


def stage_outputs(
    context: RunContext, stage: StageName, batches: Sequence[BatchRef], wanted: Collection[str] | None = None
) -> Iterator[pa.Table]:
    """A stage's rows of the run's documents (of those `wanted`), batch by batch; those dropped by it are included, and
    those whose text cannot be had are not."""
    for batch in batches:
        there = [row["document_id"] for row in batch.read_locations(stage).to_pylist() if row["file"] is not None]
        if ids := sorted(i for i in there if wanted is None or i in wanted):
            yield load_or_lose(context, (stage,), batch, ids)[0][stage]


def score_nothing(
    context: RunContext, name: StageName, batch: BatchRef, document_ids: Sequence[str], labels: Labels
) -> pa.Table:
    """What the evaluator says of documents that failed at this stage, taken as an output that holds nothing."""
    stage = STAGES[name]
    tables, lost = load_or_lose(context, stage.reads, batch, document_ids)
    documents = without(select(batch.read_documents(), document_ids), lost)
    document_ids = ids_of(documents)
    empty = pa.Table.from_pylist([{"document_id": i} | nothing(stage.writes) for i in document_ids], stage.writes)
    settings = {read: context.settings(read) for read in stage.reads}
    evidence = Evidence(Batch(documents, tables), empty, labels, {}, lent(context, documents).raw, settings)
    return stage.evaluate(evidence, context.settings(name))


def nothing(schema: pa.Schema) -> dict[str, Any]:
    """The columns of an output row that holds nothing."""
    row: dict[str, Any] = {}
    for field in schema:
        if field.name == "document_id" or field.nullable:
            continue
        if pa.types.is_list(field.type):
            row[field.name] = []
        elif pa.types.is_string(field.type):
            row[field.name] = ""
        elif pa.types.is_boolean(field.type):
            row[field.name] = False
        else:
            row[field.name] = 0
    return row


def _score_batch(
    context: RunContext, name: StageName, batch: BatchRef, labels: Labels, pending: Mapping[str, str]
) -> _Scored:
    stage = STAGES[name]
    documents = batch.read_documents()
    documents = documents.filter(pa.array([i in pending for i in ids_of(documents)], pa.bool_()))
    tables, lost = load_or_lose(context, (*stage.reads, name), batch, ids_of(documents))
    # What cannot be had now is not scored: a later run that can have it does so.
    documents = without(documents, lost)
    ids = ids_of(documents)
    output = tables.pop(name)
    here = batch.read_locations(name)
    stage_keys = dict(zip(ids_of(here), here.column("stage_key").to_pylist(), strict=True))
    spent, settings = costs(context, here), {read: context.settings(read) for read in stage.reads}
    evidence = Evidence(Batch(documents, tables), output, labels, spent, lent(context, documents).raw, settings)
    survival = survival_of_documents(context, name, batch, ids, labels)
    rows = concat_rows([stage.evaluate(evidence, context.settings(name)), survival])
    digests = {i: label_digest(labels, i, labels_read(name)) for i in ids}
    return _Scored(batch.number, pending, documents, stamp(rows, stage_keys, labels.version, digests))


def stamp(
    rows: pa.Table, stage_keys: Mapping[str, str], gold_version: str | None, digests: Mapping[str, str | None]
) -> pa.Table:
    """Fills in what an evaluator cannot know: the stage key, the gold version, the digest of the labels."""
    ids = rows.column("document_id").to_pylist()
    labelled = [digests.get(i) if i is not None else None for i in ids]
    columns = {
        "stage_key": pa.array([stage_keys.get(i) if i is not None else None for i in ids], pa.string()),
        "gold_version": pa.array([gold_version if d else None for d in labelled], pa.string()).dictionary_encode(),
        "label_digest": pa.array(labelled, pa.string()),
    }
    for column, values in columns.items():
        field = MEASURES.field(column)
        rows = rows.set_column(rows.schema.get_field_index(column), field, values.cast(field.type))
    return rows


def _flush(
    context: RunContext, name: StageName, collected: Sequence[_Scored], found: Mapping[int, dict[str, tuple[str, str]]]
) -> None:
    if not collected:
        return
    number = collected[0].batch
    stem = f"{context.run_id}-{number:05d}".replace("/", "-")
    path = _unused(context.lake.measures(name) / f"{stem}.parquet")
    write_table(concat_rows([part.rows for part in collected]), path, MEASURES)
    file = context.relative(path)
    entries: list[dict[str, Any]] = []
    for part in collected:
        for row in part.documents.select(["document_id", "content_sha"]).to_pylist():
            key = part.keys[row["document_id"]]
            found[part.batch][row["document_id"]] = (file, key)
            entries.append(
                {
                    "kind": "measures",
                    "document_id": row["document_id"],
                    "content_sha": row["content_sha"],
                    "stage": name.value,
                    "stage_key": key,
                    "outcome": "ok",
                    "reason": f"scorer {scorer(name)}",
                    "file": file,
                    "attempt": 1,
                    "run_id": context.run_id,
                }
            )
    context.ledger.record(entries, f"measures-{name}-{path.stem}")


def _unused(path: Path) -> Path:
    """The path, numbered where it is taken: later runs read the rows of an earlier scoring where they are."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}-{number}")
    return free


def _measure_keys(context: RunContext, name: StageName, batch: BatchRef, labels: Labels) -> dict[str, str]:
    version, kinds = scorer(name), labels_read(name)
    measuring = measuring_settings(context.settings(name))
    return {
        row["document_id"]: measures_key(
            row["stage_key"],
            row["file"],
            version,
            label_digest(labels, row["document_id"], kinds),
            measuring,
        )
        for row in batch.read_locations(name).to_pylist()
        if row["file"] is not None
    }


def _with_measures(name: StageName, batch: BatchRef, found: Mapping[str, tuple[str, str]]) -> None:
    table = batch.read_locations(name)
    ids = ids_of(table)
    for column, part in (("measures_file", 0), ("measures_key", 1)):
        values = pa.array([found[i][part] if i in found else None for i in ids], pa.string())
        table = table.set_column(table.schema.get_field_index(column), LOCATIONS.field(column), values)
    write_table(table, batch.scored(name), LOCATIONS, durable=False)
