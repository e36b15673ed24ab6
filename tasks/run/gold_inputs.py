"""From labels to what each stage should have been given: gold outputs of a batch, stage by stage."""

from collections.abc import Collection
from dataclasses import dataclass, field

import pyarrow as pa

from schemas.names import StageName
from tasks.document_rows import ids_of, select
from tasks.gold.labels import Labels
from tasks.run.brought_back import load_rows
from tasks.run.context import BatchRef, RunContext
from tasks.run.guarded import run_guarded
from tasks.run.registry import STAGES
from tasks.stage import Batch, StageOutput

CHAIN = (
    StageName.BOILERPLATE,
    StageName.NORMALIZE,
    StageName.LANGUAGE,
    StageName.PII,
    StageName.CHUNK,
    StageName.METADATA,
)
"""Stages that are given gold outputs, in order. What parse reads are bytes, alone as in the cascade."""

_ELEMENTS_FROM = ("structure", "content", "text")


@dataclass(slots=True)
class GoldOutputs:
    """Gold rows by stage, of the documents that have them.

    `reasons` says of each other document why it has none from some stage on. `made_from` is the kind of label that a
    document's elements are; `stands_in` are the stages whose own output on gold inputs had to serve.
    """

    documents: pa.Table
    tables: dict[StageName, pa.Table]
    reasons: dict[str, str] = field(default_factory=dict)
    made_from: dict[str, str] = field(default_factory=dict)
    stands_in: dict[str, list[str]] = field(default_factory=dict)

    def inputs(self, stage: StageName, document_ids: Collection[str] | None = None) -> Batch:
        """What a stage reads, of the documents (of these) that have all of it."""
        have = [set(ids_of(self.tables[read])) for read in STAGES[stage].reads]
        ids = [i for i in ids_of(self.documents) if all(i in held for held in have)]
        if document_ids is not None:
            ids = [i for i in ids if i in document_ids]
        tables = {read: select(self.tables[read], ids) for read in STAGES[stage].reads}
        return Batch(select(self.documents, ids), tables)


def gold_elements(context: RunContext, batch: BatchRef, documents: pa.Table, labels: Labels) -> GoldOutputs:
    """The gold output of parse, and of fetch, which is as it is: bytes are nobody's opinion."""
    parsed = batch.survivors(StageName.PARSE) if StageName.PARSE in batch.locations else {}
    ids = [i for i in ids_of(documents) if i in parsed]
    own = {stage: load_rows(context, stage, batch, ids) for stage in (StageName.FETCH, StageName.PARSE)}
    rows = _by_labels(context, StageName.PARSE, Batch(select(documents, ids), own), labels)
    gold = GoldOutputs(documents, {StageName.FETCH: own[StageName.FETCH], StageName.PARSE: rows})
    gold.made_from = dict(zip(ids_of(rows), rows.column("parser_version").to_pylist(), strict=True))
    for document_id in ids_of(documents):
        if document_id in gold.made_from:
            gold.stands_in[document_id] = []
        elif document_id not in parsed:
            gold.reasons[document_id] = "not_parsed"
        elif any(labels.is_stale(document_id, kind) for kind in _ELEMENTS_FROM):
            gold.reasons[document_id] = "stale_label"
        else:
            gold.reasons[document_id] = "no_parse_label"
    return gold


def run_on_gold(
    context: RunContext, stage: StageName, gold: GoldOutputs, labels: Labels, scored: Collection[str]
) -> StageOutput:
    """Runs a stage on gold inputs and adds its gold output; returns what it made of the documents to be scored.

    Where labels give the output, they do. Else what the stage itself makes of its gold inputs stands in, of every
    document that a later stage is to be told of.
    """
    record = STAGES[stage]
    inputs = gold.inputs(stage)
    labelled = _by_labels(context, stage, inputs, labels)
    told = set(ids_of(labelled))
    read_later = any(stage in STAGES[later].reads for later in CHAIN)
    silent = [i for i in ids_of(inputs.documents) if i not in told] if read_later else []
    wanted = {*silent, *scored}
    made = StageOutput(record.writes.empty_table())
    if wanted:
        made = run_guarded(record, gold.inputs(stage, wanted), context)
    stood_in = [i for i in ids_of(made.table) if i in set(silent)]
    gold.tables[stage] = pa.concat_tables([labelled, select(made.table, stood_in)])
    for document_id in stood_in:
        gold.stands_in[document_id].append(stage.value)
    for failure in made.failures:
        if failure.document_id not in told:
            gold.reasons.setdefault(failure.document_id, f"{stage}: {failure.error_class}")
    return made


def _by_labels(context: RunContext, stage: StageName, inputs: Batch, labels: Labels) -> pa.Table:
    record = STAGES[stage]
    if record.gold is None:
        return record.writes.empty_table()
    return record.gold(inputs, labels, context.settings(stage))
