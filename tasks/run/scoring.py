"""Evaluators over a run: rows of documents, kept under their own key, and facts of the run, made anew."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import LOCATIONS
from schemas.measures import MEASURES
from schemas.names import StageName
from tasks.document_rows import ids_of, select, without
from tasks.gold.labels import Labels
from tasks.gold.table import label_digest, label_digests
from tasks.lake.files import write_table
from tasks.metrics.rows import concat_rows
from tasks.run.brought_back import TextLostError, lent, load_or_lose, rows_of
from tasks.run.context import BatchRef, RunContext
from tasks.run.keys import measures_key, measuring_settings
from tasks.run.registry import STAGES, labels_read, scorer
from tasks.run.source_quotes import QuotesInSources
from tasks.run.stage_tables import StageTables
from tasks.run.survival import followed, survival_of_documents
from tasks.stage import Batch, Cost, Evidence, Failure
from tasks.survival.handed_on import READS

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
    digests = label_digests(labels, labels_read(name))
    for batch in batches:
        keys = _measure_keys(context, name, batch, digests)
        wanted = {} if anew else keys
        done = context.ledger.find_rows("measures", name, list(wanted), list(wanted.values()))
        files = zip(ids_of(done), done.column("file").to_pylist(), strict=True)
        here = found[batch.number] = {document_id: (file, keys[document_id]) for document_id, file in files}
        pending = {document_id: key for document_id, key in keys.items() if document_id not in here}
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


def costs_of(context: RunContext, locations: pa.Table) -> pa.Table:
    """What the making of these rows (`LOCATIONS` of one stage) cost: `document_id`, `seconds`, `peak_rss_bytes`.

    The same bytes may have been fetched in several runs under one key: each run has the cost of its own file. Where
    there is none, since the stage failed, it is that of the last try up to this run.
    """
    stages = pc.unique(locations.column("stage")).to_pylist()
    wanted = locations.select(["document_id", "stage_key", "file"])
    return context.ledger.costs(stages[0] if stages else "", wanted, up_to=context.run_id)


class _Spent(Mapping[str, Cost]):
    """`costs_of` by document id, looked up where an evaluator asks: few do."""

    def __init__(self, context: RunContext, locations: pa.Table) -> None:
        self._look_up = partial(costs_of, context, locations)

    @cached_property
    def _known(self) -> dict[str, Cost]:
        rows = self._look_up().to_pydict()
        return {i: Cost(seconds or 0.0, peak) for i, seconds, peak in zip(*rows.values(), strict=True)}

    def __getitem__(self, document_id: str) -> Cost:
        return self._known[document_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def stage_outputs(
    context: RunContext,
    stage: StageName,
    batches: Sequence[BatchRef],
    schema: pa.Schema | None = None,
    wanted: Collection[str] | None = None,
) -> Iterator[pa.Table]:
    """A stage's rows of the run's documents (of those `wanted`), batch by batch; those dropped by the stage are
    included, and those whose text cannot be had are not.

    With a `schema`, its columns only.
    """
    names = None if wanted is None else pa.array(sorted(wanted), pa.string())
    for batch in batches:
        here = batch.read_locations(stage).filter(pc.field("file").is_valid())
        if names is not None:
            here = here.filter(pc.is_in(here.column("document_id"), names))
        if here.num_rows:
            shape = STAGES[stage].writes if schema is None else schema
            yield rows_of(context, stage, batch, sorted(ids_of(here)), shape)[0]


def score_nothing(
    context: RunContext, name: StageName, batch: BatchRef, document_ids: Sequence[str], labels: Labels
) -> pa.Table:
    """What the evaluator says of documents that failed at this stage, taken as an output that holds nothing."""
    stage = STAGES[name]
    tables, lost = load_or_lose(context, stage.reads, batch, document_ids)
    documents = without(select(batch.read_documents(), document_ids), _ids(lost))
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
    if not context.configuration.run.redact_only:
        try:
            return _scored(context, name, batch, labels, pending, at_once=False)
        except TextLostError:
            pass  # the lake was one that keeps no text, and is no more
    return _scored(context, name, batch, labels, pending, at_once=True)


def _scored(
    context: RunContext,
    name: StageName,
    batch: BatchRef,
    labels: Labels,
    pending: Mapping[str, str],
    *,
    at_once: bool,
) -> _Scored:
    """Scores documents; rows are read where they are asked for, or `at_once`: then those whose rows cannot be had are
    left to a later run that can have them."""
    stage, reads = STAGES[name], READS.get(name, ())
    documents = batch.read_documents()
    documents = documents.filter(pa.array([i in pending for i in ids_of(documents)], pa.bool_()))
    tables: Mapping[StageName, pa.Table]
    carried: Mapping[StageName, pa.Table]
    if at_once:
        tables, lost = load_or_lose(context, (*stage.reads, name), batch, ids_of(documents))
        documents = without(documents, _ids(lost))
        with_questions = followed(name, batch, ids_of(documents), labels)
        carried, lost = load_or_lose(context, reads, batch, with_questions)
        with_questions = [i for i in with_questions if i not in _ids(lost)]
    else:
        with_questions = followed(name, batch, ids_of(documents), labels)
        tables = carried = StageTables(context, batch, (*stage.reads, name, *reads), ids_of(documents))
    here = batch.read_locations(name)
    stage_keys = dict(zip(ids_of(here), here.column("stage_key").to_pylist(), strict=True))
    spent, settings = _Spent(context, here), {read: context.settings(read) for read in stage.reads}
    raw = lent(context, documents).raw
    evidence = Evidence(Batch(documents, tables), tables[name], labels, spent, raw, settings)
    lacking = QuotesInSources(context, batch.read_documents(), [batch])
    survival = survival_of_documents(name, carried, with_questions, labels, lacking)
    rows = concat_rows([stage.evaluate(evidence, context.settings(name)), survival])
    digests = {i: label_digest(labels, i, labels_read(name)) for i in ids_of(documents)}
    return _Scored(batch.number, pending, documents, stamp(rows, stage_keys, labels.version, digests))


def _ids(failures: Sequence[Failure]) -> set[str]:
    return {failure.document_id for failure in failures}


def stamp(
    rows: pa.Table, stage_keys: Mapping[str, str], gold_version: str | None, digests: Mapping[str, str | None]
) -> pa.Table:
    """Fills in what an evaluator cannot know: the stage key, the gold version, the digest of the labels."""
    labelled = _looked_up(rows.column("document_id"), digests)
    version = pa.scalar(gold_version, pa.string())
    columns = {
        "stage_key": _looked_up(rows.column("document_id"), stage_keys),
        "gold_version": pc.if_else(labelled.is_valid(), version, pa.scalar(None, pa.string())).dictionary_encode(),
        "label_digest": labelled,
    }
    for column, values in columns.items():
        field = MEASURES.field(column)
        rows = rows.set_column(rows.schema.get_field_index(column), field, values.cast(field.type))
    return rows


def _looked_up(ids: pa.ChunkedArray, values: Mapping[str, str | None]) -> pa.Array:
    """The value of each document id; null where there is none."""
    places = pc.index_in(ids.combine_chunks(), value_set=pa.array(list(values), pa.string()))
    return pa.array(list(values.values()), pa.string()).take(places)


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


def _measure_keys(context: RunContext, name: StageName, batch: BatchRef, digests: Mapping[str, str]) -> dict[str, str]:
    """By document that has a row; `digests` are those of its labels, where it has some."""
    version = scorer(name)
    measuring = measuring_settings(context.settings(name))
    here = batch.read_locations(name).filter(pc.field("file").is_valid())
    columns = (here.column(column).to_pylist() for column in ("document_id", "stage_key", "file"))
    return {
        document_id: measures_key(stage_key, file, version, digests.get(document_id), measuring)
        for document_id, stage_key, file in zip(*columns, strict=True)
    }


def _with_measures(name: StageName, batch: BatchRef, found: Mapping[str, tuple[str, str]]) -> None:
    table = batch.read_locations(name)
    ids = ids_of(table)
    for column, part in (("measures_file", 0), ("measures_key", 1)):
        values = pa.array([found[i][part] if i in found else None for i in ids], pa.string())
        table = table.set_column(table.schema.get_field_index(column), LOCATIONS.field(column), values)
    write_table(table, batch.scored(name), LOCATIONS, durable=False)
