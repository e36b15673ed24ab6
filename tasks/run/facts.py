"""Facts of a run: measures that need the whole corpus, and what every stage did with its documents."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import LOCATIONS
from schemas.measures import MEASURES
from schemas.names import Cohort, MetricStatus, Outcome, StageName
from tasks.document_rows import ids_of
from tasks.figures.catalogue import Catalogue, Metric
from tasks.gold.labels import Labels
from tasks.gold.table import label_digests
from tasks.index.freshness import actual_lags
from tasks.lake.files import read_table, write_table
from tasks.lake.packed import read_stored
from tasks.lake.runs import Runs
from tasks.metrics.rows import MetricRows, concat_rows
from tasks.run.context import BatchRef, RunContext
from tasks.run.deduplicate import signed_documents
from tasks.run.registry import STAGES, labels_read
from tasks.run.scoring import costs_of, score_nothing, stage_outputs, stamp
from tasks.run.survival import survival_facts
from tasks.stage import CorpusEvidence, IndexView, Reference

_PLACE = ["document_id", "source", "uri"]
_OUTCOME = ["document_id", "stage", "stage_key", "outcome", "file"]


def write_facts(
    context: RunContext,
    name: StageName,
    batches: Sequence[BatchRef],
    plan: pa.Table,
    labels: Labels,
    catalogue: Catalogue,
    *,
    index: IndexView | None = None,
    live: IndexView | None = None,
    references: Mapping[str, str] | None = None,
    started: datetime,
    anew: bool = False,
) -> Path:
    """Makes the facts of one stage and stores them as `facts/<stage>.parquet` in the run's folder.

    `references` are the runs to compare with, by what they are (`live`, `anchor`). What an earlier run has found out of
    the same input is taken over, unless it is to be found out `anew`.
    """
    stage = STAGES[name]
    here, outcomes = stage_locations(batches, name), _outcomes(batches)
    parts = [_passage(context, name, plan, here)]
    if stage.facts is not None:
        evidence = CorpusEvidence(
            documents=plan,
            locations=outcomes,
            outputs=lambda wanted, schema=None: stage_outputs(context, wanted, batches, schema),
            labels=labels,
            index=index,
            live=live,
            started=started,
            here=here,
            signed=signed_documents(context, batches, anew=anew) if name == StageName.DEDUP else None,
            references=_references(context, name, references or {}),
            few=lambda wanted, ids: stage_outputs(context, wanted, batches, wanted=ids),
            stored=lambda file, schema, ids: read_stored(context.lake, file, schema, document_ids=ids),
        )
        parts.append(stage.facts(evidence, context.settings(name)))
    parts.append(survival_facts(context, name, plan, batches, labels, index))
    # The stage's own word on a document's measure comes first: none is counted twice.
    dropped = set(ids_of(outcomes.filter(pc.field("outcome") == Outcome.DROPPED.value)))
    unsaid = _without_output(context, name, batches, here, dropped, plan, labels, catalogue)
    if unsaid.num_rows:
        said = {pair for part in parts for pair in _measured(part)}
        unsaid = unsaid.filter(pa.array([pair not in said for pair in _measured(unsaid)], pa.bool_()))
    parts.append(unsaid)
    keys = dict(zip(ids_of(here), here.column("stage_key").to_pylist(), strict=True))
    digests = label_digests(labels, labels_read(name))
    path = context.folder / "facts" / f"{name}.parquet"
    write_table(stamp(concat_rows(parts), keys, labels.version, digests), path, MEASURES)
    return path


def _references(context: RunContext, stage: StageName, run_ids: Mapping[str, str]) -> dict[str, Reference]:
    """The runs whose records are still there."""
    runs = Runs(context.lake)
    return {
        name: Reference(runs.plan(run_id), runs.locations(run_id).filter(pc.field("stage") == stage.value))
        for name, run_id in run_ids.items()
        if (context.lake.run(run_id) / "locations.parquet").exists()
    }


def add_actual_lags(
    context: RunContext, here: pa.Table, plan: pa.Table, labels: Labels, live: Collection[str], promoted: datetime
) -> None:
    """Adds to the facts of `index` how long content waited until it was live.

    `here` are the stage's locations, `live` the ids of the documents that were found in the live generation.
    """
    path = context.folder / "facts" / f"{StageName.INDEX}.parquet"
    keys = dict(zip(ids_of(here), here.column("stage_key").to_pylist(), strict=True))
    digests = label_digests(labels, labels_read(StageName.INDEX))
    lags = stamp(actual_lags(plan, live, promoted), keys, labels.version, digests)
    write_table(concat_rows([read_table(path, MEASURES), lags]), path, MEASURES)


def all_locations(batches: Sequence[BatchRef]) -> pa.Table:
    """The location rows of every stage that the batches have passed so far, with their measures once scored."""
    stages = dict.fromkeys(stage for batch in batches for stage in batch.locations)
    tables = [stage_locations(batches, stage) for stage in stages]
    return pa.concat_tables(tables) if tables else LOCATIONS.empty_table()


def stage_locations(batches: Sequence[BatchRef], stage: StageName) -> pa.Table:
    """`all_locations` of one stage."""
    tables = [
        read_table(scored, LOCATIONS) if (scored := batch.scored(stage)).exists() else batch.read_locations(stage)
        for batch in batches
        if stage in batch.locations
    ]
    return pa.concat_tables(tables) if tables else LOCATIONS.empty_table()


def _outcomes(batches: Sequence[BatchRef]) -> pa.Table:
    """What became of each document at each stage: the part of `all_locations` that facts are made from."""
    stages = dict.fromkeys(stage for batch in batches for stage in batch.locations)
    tables = [
        batch.read_locations(stage).select(_OUTCOME)
        for stage in stages
        for batch in batches
        if stage in batch.locations
    ]
    return pa.concat_tables(tables) if tables else LOCATIONS.empty_table().select(_OUTCOME)


def _passage(context: RunContext, name: StageName, plan: pa.Table, here: pa.Table) -> pa.Table:
    """Rows in and out, and per document whether it was quarantined or dropped here and what it cost."""
    rows = MetricRows(name)
    ids, outcomes = here.column("document_id"), here.column("outcome")
    is_out, is_quarantined, is_dropped = (
        pc.equal(outcomes, outcome.value) for outcome in (Outcome.OK, Outcome.QUARANTINED, Outcome.DROPPED)
    )
    rows.value("rows_in", None, float(here.num_rows))
    rows.value("rows_out", None, float(pc.sum(is_out).as_py() or 0))
    rows.ratios("quarantined", ids, is_quarantined)
    foreseen = pc.is_in(ids, pa.array(sorted(_foreseen(context, name, plan, here)), pa.string()))
    rows.ratios("unexpected_quarantine", ids, pc.and_not(is_quarantined, foreseen))
    rows.ratios("dropped", ids, is_dropped)
    spent = costs_of(context, here)
    rows.values("seconds", spent.column("document_id"), pc.fill_null(spent.column("seconds"), 0.0))
    return rows.table()


def _foreseen(context: RunContext, name: StageName, plan: pa.Table, here: pa.Table) -> set[str]:
    """Documents in quarantine here of which the configuration says that they would be."""
    failed = here.filter(pc.field("outcome") == Outcome.QUARANTINED.value)
    expected = context.configuration.gate.expected_quarantine
    if not expected or not failed.num_rows:
        return set()
    wanted = pc.is_in(plan.column("document_id"), failed.column("document_id").combine_chunks())
    places = {row["document_id"]: row for row in plan.filter(wanted).select(_PLACE).to_pylist()}
    return {
        row["document_id"]
        for row in failed.to_pylist()
        if (place := places[row["document_id"]])
        and any(rule.covers(place["source"], place["uri"], name, row["reason"] or "") for rule in expected)
    }


def _without_output(
    context: RunContext,
    name: StageName,
    batches: Sequence[BatchRef],
    here: pa.Table,
    dropped: set[str],
    plan: pa.Table,
    labels: Labels,
    catalogue: Catalogue,
) -> pa.Table:
    """Labelled documents that have no row of this stage.

    One that failed here is scored as if the stage had given nothing, with status `missing`, so that its labels weigh
    as much as anybody's. One that never reached this stage is `lost_upstream`, or `not_applicable` where it was
    dropped on purpose.
    """
    rows = MetricRows(name)
    bound = pa.array(sorted({document_id for document_id, _ in labels.bound}), pa.string())
    plan = plan.filter(pc.is_in(plan.column("document_id"), bound))
    here = here.filter(pc.is_in(here.column("document_id"), bound))
    made = set(ids_of(here.filter(pc.field("file").is_valid())))
    failed = set(ids_of(here.filter(pc.field("outcome") == Outcome.QUARANTINED.value)))
    metrics = [metric for metric in catalogue.of_stage(name) if metric.needs == "gold" and metric.per != "run"]
    for document_id in ids_of(plan.filter(pc.field("cohort") != Cohort.DELETED.value)):
        if document_id in made or document_id in failed:
            continue
        status = MetricStatus.NOT_APPLICABLE if document_id in dropped else MetricStatus.LOST_UPSTREAM
        for metric in metrics:
            if any((document_id, kind) in labels.bound for kind in metric.labels):
                rows.without_value(metric.id, document_id, status)
    labelled = {document_id for document_id, kind in labels.bound if kind in STAGES[name].labels}
    gold = {metric.id: metric for metric in metrics}
    parts = [rows.table()]
    for batch in batches if failed & labelled else ():
        wanted = sorted(failed & labelled & set(ids_of(batch.read_documents())))
        if wanted:
            parts.append(as_missing(score_nothing(context, name, batch, wanted, labels), gold))
    return concat_rows(parts)


def _measured(rows: pa.Table) -> list[tuple[str, str | None]]:
    """Measure and document of each row."""
    return list(zip(rows.column("metric").to_pylist(), rows.column("document_id").to_pylist(), strict=True))


def as_missing(rows: pa.Table, gold: Mapping[str, Metric]) -> pa.Table:
    """The rows of gold measures, as missing. Where holding nothing is the best there is (nothing flagged wrongly,
    nothing kept that must go), a failure has earned no score: the row is counted without a value.
    """
    made = []
    for row in rows.to_pylist():
        metric = gold.get(row["metric"])
        if metric is None:
            continue
        if row["status"] == MetricStatus.OK:
            row["status"] = MetricStatus.MISSING.value
            if row["value"] == metric.range[1 if metric.direction == "higher" else 0]:
                row |= {"value": None, "numerator": None, "denominator": None}
        made.append(row)
    return pa.Table.from_pylist(made, schema=MEASURES)
