"""Dedup alone: labelled pairs decided on their gold texts. It is a barrier, so all of them are decided together."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from schemas.measures import ALONE_INPUTS, MEASURES
from schemas.names import MetricStatus, StageName
from schemas.stages import NORMALIZE, SIGNATURE
from tasks.dedup.evaluator import pair_rows
from tasks.dedup.stage import decide
from tasks.document_rows import ids_of, select
from tasks.gold.kinds import PairsLabel
from tasks.gold.labels import Labels
from tasks.gold.naming import NamedDocuments
from tasks.gold.table import label_digest
from tasks.lake.files import read_table, write_table
from tasks.metrics.rows import MetricRows, sort_rows
from tasks.run.context import BatchRef, RunContext
from tasks.run.deduplicate import dedup_settings, precedence
from tasks.run.gold_inputs import gold_elements, run_on_gold
from tasks.run.guarded import run_guarded
from tasks.run.registry import STAGES, labels_read
from tasks.run.scoring import stamp

_DEDUP = StageName.DEDUP
_FILE = "pairs.parquet"


def score_pairs_alone(context: RunContext, batches: Sequence[BatchRef], plan: pa.Table, labels: Labels) -> None:
    """Signs and decides the documents of labelled pairs on gold texts; writes as `score_alone` does, for dedup.

    Only documents of labelled pairs compete, each with the others' gold texts. A pair of which a document has no gold
    text is not applicable.
    """
    labelled = sorted({document_id for document_id, kind in labels.bound if kind == "pairs"})
    if not labelled:
        return
    wanted = set(labelled) | _others(labelled, plan, labels)
    reasons: dict[str, str] = {}
    made: dict[str, tuple[str | None, list[str]]] = {}
    settings = dedup_settings(context)
    context.lake.cache.mkdir(parents=True, exist_ok=True)
    # Texts hold personal data: they do not outlive the decision.
    with TemporaryDirectory(dir=context.lake.cache) as folder:
        texts = _Texts(Path(folder))
        for batch in batches:
            documents = batch.read_documents()
            documents = documents.filter(pa.array([i in wanted for i in ids_of(documents)], pa.bool_()))
            if documents.num_rows:
                _sign(context, batch, documents, labels, texts, reasons, made)
        decisions = decide(
            (read_table(path, SIGNATURE) for path in texts.signatures),
            texts.of,
            settings,
            precedence(context, batches, settings.keeper),
        )
    clusters = dict(zip(ids_of(decisions), decisions.column("cluster_id").to_pylist(), strict=True))
    rows = MetricRows(_DEDUP)
    pair_rows(rows, plan, labels, clusters, set())
    digests = {i: label_digest(labels, i, labels_read(_DEDUP)) for i in labelled}
    table = stamp(_of_documents(rows.table()), {}, labels.version, digests)
    write_table(table, context.lake.alone(context.run_id, _DEDUP) / _FILE, MEASURES)
    for i in labelled:
        if labels.is_stale(i, "pairs"):
            reasons[i] = "stale_label"
        elif i not in clusters:
            reasons.setdefault(i, "not_parsed")
    inputs = [
        {
            "document_id": i,
            "stage": _DEDUP.value,
            "alone_key": "",
            "scored": i not in reasons,
            "reason": reasons.get(i),
            "made_from": made[i][0] if i in made else None,
            "stands_in": made[i][1] if i in made else [],
        }
        for i in labelled
    ]
    path = context.lake.alone(context.run_id, "inputs") / _FILE
    write_table(pa.Table.from_pylist(inputs, schema=ALONE_INPUTS), path, ALONE_INPUTS)


def _others(labelled: Sequence[str], plan: pa.Table, labels: Labels) -> set[str]:
    named = NamedDocuments(plan)
    found = set()
    for document_id in labelled:
        label = labels.of(document_id, PairsLabel, "pairs")
        for pair in label.pairs if label is not None else ():
            found.add(named.by_name(pair.other))
    return {other for other in found if other is not None}


class _Texts:
    """Gold texts and their signatures, by batch, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file_of: dict[str, Path] = {}
        self.signatures: list[Path] = []

    def add(self, number: int, texts: pa.Table, signatures: pa.Table) -> None:
        path = self._folder / f"{number:05d}-texts.parquet"
        write_table(texts, path, NORMALIZE)
        self._file_of |= dict.fromkeys(ids_of(texts), path)
        self.signatures.append(self._folder / f"{number:05d}-signatures.parquet")
        write_table(signatures, self.signatures[-1], SIGNATURE)

    def of(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The texts of some documents."""
        found: dict[str, str] = {}
        for path in sorted({self._file_of[i] for i in document_ids}):
            table = read_table(path, NORMALIZE, document_ids=[i for i in document_ids if self._file_of[i] == path])
            found |= dict(zip(ids_of(table), table.column("text").to_pylist(), strict=True))
        return found


def _sign(
    context: RunContext,
    batch: BatchRef,
    documents: pa.Table,
    labels: Labels,
    texts: _Texts,
    reasons: dict[str, str],
    made: dict[str, tuple[str | None, list[str]]],
) -> None:
    gold = gold_elements(context, batch, documents, labels)
    for stage in (StageName.BOILERPLATE, StageName.NORMALIZE):
        run_on_gold(context, stage, gold, labels, ())
    inputs = gold.inputs(_DEDUP)
    output = run_guarded(STAGES[_DEDUP], inputs, context, SIGNATURE)
    signed = ids_of(output.table)
    if signed:
        texts.add(batch.number, select(gold.tables[StageName.NORMALIZE], signed), output.table)
    reasons |= gold.reasons | {f.document_id: f"{_DEDUP}: {f.error_class}" for f in output.failures}
    made |= {i: (gold.made_from.get(i), gold.stands_in.get(i, [])) for i in ids_of(documents)}


def _of_documents(table: pa.Table) -> pa.Table:
    """Rows of pairs, less the figures of all clusters together; a pair without a gold text is not applicable."""
    rows: list[dict[str, Any]] = []
    for row in table.to_pylist():
        if row["document_id"] is None:
            continue
        if row["status"] == MetricStatus.LOST_UPSTREAM:
            row["status"] = MetricStatus.NOT_APPLICABLE.value
        rows.append(row)
    return sort_rows(pa.Table.from_pylist(rows, schema=MEASURES))
