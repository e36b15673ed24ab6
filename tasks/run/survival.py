"""Brings what evidence survival reads: documents from their batch, and as facts those without a row of their own."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import LOCATIONS
from schemas.names import Cohort, MetricStatus, Outcome, StageName
from tasks.document_rows import ids_of, narrowed, select
from tasks.gold.labels import Labels
from tasks.lake.packed import read_places
from tasks.metrics.rows import MetricRows
from tasks.run.brought_back import rows_of
from tasks.run.context import BatchRef, RunContext
from tasks.run.registry import STAGES
from tasks.run.source_quotes import QuotesInSources
from tasks.stage import IndexView
from tasks.survival.evaluator import Carried, Lacking, add_survival, add_without_text, asked, nothing_lacks
from tasks.survival.handed_on import COLUMNS, READS

_GROUP = 64
"""Documents whose rows are in memory at once."""

_PLACE = ["document_id", "stage", "outcome", "file"]
_Places = Mapping[tuple[str, str], dict[str, Any]]


def followed(name: StageName, batch: BatchRef, document_ids: Sequence[str], labels: Labels) -> list[str]:
    """The documents that `survival_of_documents` has rows of: those with questions that came out of the stage.

    None at fetch, whose bytes are no text, and none at index: what it holds is read from the candidate, in every run.
    """
    if name in (StageName.FETCH, StageName.INDEX):
        return []
    arrived = batch.survivors(name)
    return asked(labels, (i for i in document_ids if i in arrived))


def survival_of_documents(
    name: StageName,
    tables: Mapping[StageName, pa.Table],
    document_ids: Sequence[str],
    labels: Labels,
    lacking: Lacking = nothing_lacks,
) -> pa.Table:
    """The rows of documents that are `followed`: kept with the stage's other measures. `tables` hold the rows of these
    documents, and may hold those of others."""
    rows = MetricRows(name)
    for group in _groups(document_ids):
        read = {stage: narrowed(select(tables[stage], group), COLUMNS[stage]).to_pylist() for stage in READS[name]}
        for i, document_id in enumerate(group):
            own = {stage: rows_of_stage[i] for stage, rows_of_stage in read.items()}
            add_survival(rows, name, Carried(document_id, own), labels, lacking)
    return rows.table()


def survival_facts(
    context: RunContext,
    name: StageName,
    plan: pa.Table,
    batches: Sequence[BatchRef],
    labels: Labels,
    index: IndexView | None,
) -> pa.Table:
    """The rows that no document's own output gives: evidence that a duplicate carries, that went into quarantine, or
    that must be fetched from the index; at fetch, that there is no text yet.
    """
    rows = MetricRows(name)
    wanted = sorted(asked(labels, ids_of(plan.filter(pc.field("cohort") != Cohort.DELETED.value))))
    if name is StageName.FETCH:
        for document_id in wanted:
            add_without_text(rows, document_id, labels, MetricStatus.NOT_APPLICABLE)
    if name is StageName.FETCH or not wanted:
        return rows.table()
    locations = _locations(batches, {name, StageName.NORMALIZE, StageName.DEDUP, *READS[name]})
    if name is not StageName.INDEX:
        # What came out with a row was scored with its batch.
        came_out = (pc.field("stage") == name.value) & (pc.field("outcome") == Outcome.OK.value)
        scored = set(ids_of(locations.filter(came_out)))
        wanted = [i for i in wanted if i not in scored]
    here = plan.filter(pc.is_in(plan.column("document_id"), pa.array(wanted, pa.string())))
    lacking = QuotesInSources(context, here, batches)
    for group in _groups(wanted):
        places = _places(locations, group)
        copies = _copies(context, batches, places, group)
        places |= _places(locations, list(copies.values()))
        carriers = {i: copies.get(i, i) for i in group if _came_out(places, copies.get(i, i), name)}
        for document_id in group:
            if document_id not in carriers:
                add_without_text(rows, document_id, labels, MetricStatus.MISSING)
        told = set()
        for carried in _carried(context, name, batches, places, carriers, index):
            add_survival(rows, name, carried, labels, lacking)
            told.add(carried.document_id)
        for document_id in sorted(carriers.keys() - told):
            add_without_text(rows, document_id, labels, MetricStatus.INVALID)
    return rows.table()


def _carried(
    context: RunContext,
    name: StageName,
    batches: Sequence[BatchRef],
    places: _Places,
    carriers: Mapping[str, str],
    index: IndexView | None,
) -> Iterator[Carried]:
    """What is carried of each document, less those whose text can be had no more."""
    ids = sorted(set(carriers.values()))
    tables = {stage: _read(context, stage, batches, places, ids) for stage in READS[name]}
    others = [i for i, carrier in carriers.items() if carrier != i]
    own = _read(context, StageName.NORMALIZE, batches, places, others)
    fetched = _fetched(index, ids) if name is StageName.INDEX else {}
    for document_id, carrier in carriers.items():
        there = all(carrier in table for table in tables.values())
        if not there or (carrier != document_id and document_id not in own):
            continue
        yield Carried(
            document_id,
            {stage: table[carrier] for stage, table in tables.items()},
            copy=carrier if carrier != document_id else None,
            own_text=own[document_id]["text"] if document_id in own else None,
            fetched=fetched.get(carrier, {}),
        )


def _fetched(index: IndexView | None, document_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """What the index holds of these documents: document id to chunk id to text."""
    found: dict[str, dict[str, str]] = {}
    if index is not None and document_ids:
        for part in index.rows(["chunk_id", "document_id", "text"], document_ids):
            for row in part.to_pylist():
                found.setdefault(row["document_id"], {})[row["chunk_id"]] = row["text"]
    return found


def _copies(
    context: RunContext, batches: Sequence[BatchRef], places: _Places, document_ids: Sequence[str]
) -> dict[str, str]:
    """Which document was kept in the place of each that dedup dropped."""
    dropped = [
        i
        for i in document_ids
        if (place := places.get((i, StageName.DEDUP))) is not None and place["outcome"] == Outcome.DROPPED
    ]
    decided = _read(context, StageName.DEDUP, batches, places, dropped)
    return {i: row["duplicate_of"] for i, row in decided.items()}


def _read(
    context: RunContext,
    stage: StageName,
    batches: Sequence[BatchRef],
    places: _Places,
    document_ids: Sequence[str],
) -> dict[str, dict[str, Any]]:
    files = {i: places[i, stage]["file"] for i in document_ids}
    rows = _rows(read_places(context.lake, files, STAGES[stage].writes), stage)
    lacking = set(document_ids) - rows.keys()
    for batch in batches if lacking else ():
        here = [i for i in ids_of(batch.read_documents()) if i in lacking]
        made, _ = rows_of(context, stage, batch, here, STAGES[stage].writes)
        rows |= _rows(made, stage)
    return rows


def _rows(table: pa.Table, stage: StageName) -> dict[str, dict[str, Any]]:
    return {row["document_id"]: row for row in narrowed(table, COLUMNS[stage]).to_pylist()}


def _locations(batches: Sequence[BatchRef], stages: Collection[StageName]) -> pa.Table:
    """Where the documents' rows of these stages lie, as far as the batches have come."""
    tables = [
        batch.read_locations(stage).select(_PLACE) for batch in batches for stage in stages if stage in batch.locations
    ]
    return pa.concat_tables(tables) if tables else LOCATIONS.empty_table().select(_PLACE)


def _places(locations: pa.Table, document_ids: Sequence[str]) -> dict[tuple[str, str], dict[str, Any]]:
    wanted = pc.is_in(locations.column("document_id"), value_set=pa.array(document_ids, pa.string()))
    rows = locations.filter(wanted).to_pylist()
    return {(row["document_id"], row["stage"]): row for row in rows}


def _came_out(places: _Places, document_id: str, stage: StageName) -> bool:
    place = places.get((document_id, stage))
    return place is not None and place["outcome"] == Outcome.OK


def _groups(document_ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(document_ids), _GROUP):
        yield list(document_ids[start : start + _GROUP])
