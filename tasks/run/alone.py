"""Each labelled stage alone: run and scored on the gold output of the stages before it, beside the cascade.

Rows and what they were made from are kept in the run's folder; a document whose bytes, labels, settings and scorers are
as they were is not scored again, there or in the next run.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.measures import ALONE_INPUTS, MEASURES
from schemas.names import MetricStatus, StageName
from tasks.document_rows import ids_of, select
from tasks.figures.catalogue import Catalogue, Metric
from tasks.gold.kinds import LABEL_KINDS
from tasks.gold.labels import Labels
from tasks.gold.table import label_digest
from tasks.lake.files import read_table, write_table
from tasks.metrics.rows import MetricRows, concat_rows
from tasks.run.context import BatchRef, RunContext
from tasks.run.facts import as_missing
from tasks.run.gold_inputs import CHAIN, GoldOutputs, gold_elements, run_on_gold
from tasks.run.keys import digest, measuring_settings
from tasks.run.registry import STAGES, labels_read
from tasks.run.scoring import nothing, stamp
from tasks.stage import Batch, Evidence, StageOutput

_VERSION = 1
"""Raised whenever the same labels would give other gold outputs."""

SCORED = tuple(stage for stage in CHAIN if STAGES[stage].labels)
"""Stages that are scored alone, document by document."""

INPUTS = "inputs"

_OF_THE_INDEX = frozenset({"residual_pii"})
"""Labelled measures of these stages that are made of the whole index, not of a document."""


def score_alone(
    context: RunContext, batches: Sequence[BatchRef], labels: Labels, catalogue: Catalogue, former_runs: Iterable[str]
) -> None:
    """Scores every labelled document of a run alone, batch by batch, at each stage that it has labels for.

    Writes `alone/<stage>/<batch>.parquet` (`MEASURES`, of the measures that need labels; `stage_key` is that of the
    gold inputs) and `alone/inputs/<batch>.parquet` (`ALONE_INPUTS`). `former_runs` are those whose rows may serve.
    """
    former = _Former(context, [context.run_id, *former_runs])
    labelled = {document_id for document_id, _ in labels.bound}
    for batch in batches:
        documents = batch.read_documents()
        documents = documents.filter(pa.array([i in labelled for i in ids_of(documents)], pa.bool_()))
        scope = _scope(documents, labels, catalogue)
        if not any(scope.values()):
            continue
        keys = _keys(context, batch, documents, labels)
        rows, inputs = former.rows(scope, keys)
        done = {(row["stage"], row["document_id"]) for row in inputs}
        pending = {s: [i for i in ids if (s.value, i) not in done] for s, ids in scope.items()}
        made, told = _score_batch(context, batch, documents, labels, catalogue, pending)
        for stage in SCORED:
            path = context.lake.alone(context.run_id, stage) / f"{batch.number:05d}.parquet"
            # As in the cascade: figures of other labels are not set beside each other.
            digests = {i: label_digest(labels, i, labels_read(stage)) for i in scope[stage]}
            new = stamp(made[stage], keys[stage], labels.version, digests)
            write_table(concat_rows([*rows[stage], new]), path, MEASURES)
        inputs += [row | {"alone_key": keys[StageName(row["stage"])][row["document_id"]]} for row in told]
        inputs.sort(key=lambda row: (row["document_id"], row["stage"]))
        path = context.lake.alone(context.run_id, INPUTS) / f"{batch.number:05d}.parquet"
        write_table(pa.Table.from_pylist(inputs, schema=ALONE_INPUTS), path, ALONE_INPUTS)


def _scope(documents: pa.Table, labels: Labels, catalogue: Catalogue) -> dict[StageName, list[str]]:
    """The documents that have a label which a stage is scored by, fresh or stale."""
    kinds = {stage: leading_labels(catalogue, stage) for stage in SCORED}
    return {
        stage: [i for i in ids_of(documents) if any((i, kind) in labels.bound for kind in kinds[stage])]
        for stage in SCORED
    }


def leading_labels(catalogue: Catalogue, stage: StageName) -> frozenset[str]:
    """The kinds of label without which none of a stage's figures is made; others only add to one."""
    return frozenset(metric.labels[0] for metric in gold_measures(catalogue, stage))


def _keys(context: RunContext, batch: BatchRef, documents: pa.Table, labels: Labels) -> dict[StageName, dict[str, str]]:
    """What the rows of a document at a stage follow from: its bytes, all its labels, the stages up to there."""
    parsed = batch.read_locations(StageName.PARSE)
    parse_keys = dict(zip(ids_of(parsed), parsed.column("stage_key").to_pylist(), strict=True))
    keys: dict[StageName, dict[str, str]] = {stage: {} for stage in SCORED}
    for row in documents.to_pylist():
        document_id = row["document_id"]
        chain: list[Any] = [_VERSION, STAGES[StageName.PARSE].version, parse_keys.get(document_id)]
        chain.append(label_digest(labels, document_id, LABEL_KINDS))
        for stage in CHAIN:
            shaping = {column: row[column] for column in STAGES[stage].context}
            chain += [context.base(stage, row["doc_class"]), shaping]
            if stage in keys:
                measuring = measuring_settings(context.settings(stage))
                keys[stage][document_id] = digest([*chain, STAGES[stage].scorer_version, measuring])
    return keys


def _score_batch(
    context: RunContext,
    batch: BatchRef,
    documents: pa.Table,
    labels: Labels,
    catalogue: Catalogue,
    pending: Mapping[StageName, Sequence[str]],
) -> tuple[dict[StageName, pa.Table], list[dict[str, Any]]]:
    """Metric rows by stage, and the `ALONE_INPUTS` rows less their keys, of what is still to be scored."""
    rows = {stage: MEASURES.empty_table() for stage in SCORED}
    told: list[dict[str, Any]] = []
    wanted = {document_id for ids in pending.values() for document_id in ids}
    if not wanted:
        return rows, told
    gold = gold_elements(context, batch, select(documents, [i for i in ids_of(documents) if i in wanted]), labels)
    for stage in CHAIN:
        kinds = leading_labels(catalogue, stage)
        reasons = _unfit(context, stage, gold, labels, kinds, pending.get(stage, ()))
        scored = [i for i in pending.get(stage, ()) if i not in reasons]
        before = {i: tuple(stages) for i, stages in gold.stands_in.items()}
        output = run_on_gold(context, stage, gold, labels, scored)
        if stage not in rows:
            continue
        measures = {metric.id: metric for metric in gold_measures(catalogue, stage)}
        evaluated = _evaluate(context, stage, gold, labels, output, scored, measures)
        rows[stage] = concat_rows([evaluated, _without(stage, reasons, labels, measures)])
        told += [
            {
                "document_id": i,
                "stage": stage.value,
                "scored": i not in reasons,
                "reason": reasons.get(i),
                "made_from": gold.made_from.get(i),
                "stands_in": before.get(i, ()),
            }
            for i in pending[stage]
        ]
    return rows, told


def _unfit(
    context: RunContext,
    stage: StageName,
    gold: GoldOutputs,
    labels: Labels,
    kinds: Collection[str],
    document_ids: Sequence[str],
) -> dict[str, str]:
    """Why documents cannot be scored at a stage: no fresh label, no gold input, or one that it cannot be judged on."""
    record, settings = STAGES[stage], context.settings(stage)
    reasons = {
        i: "stale_label"
        for i in document_ids
        if all(labels.is_stale(i, kind) for kind in kinds if (i, kind) in labels.bound)
    }
    inputs = gold.inputs(stage, set(document_ids) - set(reasons))
    there = set(ids_of(inputs.documents))
    reasons |= {i: gold.reasons[i] for i in document_ids if i not in there and i not in reasons}
    if record.unfit_alone is not None:
        for document, tables in inputs.rows():
            if why := record.unfit_alone(document, tables, settings):
                reasons[document["document_id"]] = why
    return reasons


def _evaluate(
    context: RunContext,
    stage: StageName,
    gold: GoldOutputs,
    labels: Labels,
    output: StageOutput,
    scored: Sequence[str],
    measures: Mapping[str, Metric],
) -> pa.Table:
    """The rows of documents that the stage was run on; one that failed there scores as if it had given nothing."""
    record = STAGES[stage]
    settings = {read: context.settings(read) for read in record.reads}
    made = set(ids_of(output.table))
    failed = [i for i in scored if i not in made]
    empty = pa.Table.from_pylist([{"document_id": i} | nothing(record.writes) for i in failed], record.writes)
    parts = []
    for ids, table in ((list(filter(made.__contains__, scored)), output.table), (failed, empty)):
        if not ids:
            continue
        inputs = gold.inputs(stage, ids)
        here = ids_of(inputs.documents)
        evidence = Evidence(
            Batch(inputs.documents, inputs.tables), select(table, here), labels, {}, context.resources.raw, settings
        )
        rows = record.evaluate(evidence, context.settings(stage))
        parts.append(rows if table is not empty else as_missing(rows, measures))
    rows = concat_rows(parts)
    return rows.filter(pa.array([metric in measures for metric in rows.column("metric").to_pylist()], pa.bool_()))


def _without(stage: StageName, reasons: Mapping[str, str], labels: Labels, measures: Mapping[str, Metric]) -> pa.Table:
    """Rows that count what could not be scored: a stale label as such, all else as not applicable."""
    rows = MetricRows(stage)
    for document_id in reasons:
        for metric in measures.values():
            if (document_id, metric.labels[0]) in labels.bound:
                stale = labels.is_stale(document_id, metric.labels[0])
                status = MetricStatus.STALE_LABEL if stale else MetricStatus.NOT_APPLICABLE
                rows.without_value(metric.id, document_id, status, version=metric.version)
    return rows.table()


def gold_measures(catalogue: Catalogue, stage: StageName) -> list[Metric]:
    """The stage's own measures that need labels and a document's rows alone."""
    return [
        metric
        for metric in catalogue.of_stage(stage)
        if metric.stage == stage and metric.needs == "gold" and metric.per != "run" and metric.id not in _OF_THE_INDEX
    ]


@dataclass(frozen=True, slots=True)
class _Place:
    run_id: str
    file: str


class _Former:
    """Rows of this run, scored before, and of earlier ones, by what they follow from."""

    def __init__(self, context: RunContext, run_ids: Sequence[str]) -> None:
        self._context = context
        self._places: dict[tuple[str, str, str], _Place] = {}
        for run_id in dict.fromkeys(run_ids):
            for path in sorted(context.lake.alone(run_id, INPUTS).glob("*.parquet")):
                for row in read_table(path, ALONE_INPUTS).select(["document_id", "stage", "alone_key"]).to_pylist():
                    place = (row["stage"], row["document_id"], row["alone_key"])
                    self._places.setdefault(place, _Place(run_id, path.name))

    def rows(
        self, scope: Mapping[StageName, Sequence[str]], keys: Mapping[StageName, Mapping[str, str]]
    ) -> tuple[dict[StageName, list[pa.Table]], list[dict[str, Any]]]:
        """Metric rows by stage and `ALONE_INPUTS` rows of the documents that stand as they did."""
        found: defaultdict[_Place, dict[StageName, list[str]]] = defaultdict(dict)
        for stage, ids in scope.items():
            for i in ids:
                if place := self._places.get((stage.value, i, keys[stage][i])):
                    found[place].setdefault(stage, []).append(i)
        rows: dict[StageName, list[pa.Table]] = {stage: [] for stage in scope}
        inputs: list[dict[str, Any]] = []
        for place, by_stage in found.items():
            told = read_table(self._path(place, INPUTS), ALONE_INPUTS).to_pylist()
            for stage, ids in by_stage.items():
                wanted = {keys[stage][i] for i in ids}
                table = read_table(self._path(place, stage), MEASURES, document_ids=ids)
                rows[stage].append(
                    table.filter(pa.array([k in wanted for k in table.column("stage_key").to_pylist()], pa.bool_()))
                )
                inputs += [row for row in told if row["stage"] == stage and row["alone_key"] in wanted]
        return rows, inputs

    def _path(self, place: _Place, what: StageName | str) -> Path:
        return self._context.lake.alone(place.run_id, what) / place.file
