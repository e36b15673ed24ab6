"""Measures of the index: is all in it that should be, nothing else, and can it be found by whom it may be found by?"""

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import MetricStatus, StageName
from tasks.index.access import access_violations
from tasks.index.freshness import freshness
from tasks.index.probes import ann_recall, deleted_still_found, new_not_found
from tasks.index.reconciliation import expected_keys, reconcile, take_inventory
from tasks.index.settings import IndexSettings
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence, Evidence

_FROM_THE_INDEX = (
    "ann_recall_at_k",
    "reconciliation",
    "completeness",
    "orphan_chunks",
    "deleted_still_found",
    "new_not_found",
    "access_violations",
)
_VERSIONS = {"access_violations": 2}


def evaluate(evidence: Evidence, settings: IndexSettings) -> pa.Table:
    """`indexed_share`: rows that the document contributes / chunks it has (less where vectors are not valid)."""
    rows = MetricRows(StageName.INDEX)
    for document_id, kept, made in zip(
        evidence.output.column("document_id").to_pylist(),
        pc.list_value_length(evidence.output.column("chunk_ids")).to_pylist(),
        pc.list_value_length(evidence.batch.tables[StageName.CHUNK].column("chunks")).to_pylist(),
        strict=True,
    ):
        rows.ratio("indexed_share", document_id, float(kept), float(made))
    return rows.table()


def facts(evidence: CorpusEvidence, settings: IndexSettings) -> pa.Table:
    """Everything that is read back from the candidate: reconciliation, probes, freshness."""
    rows = MetricRows(StageName.INDEX)
    view = evidence.index
    if view is None:
        for metric in _FROM_THE_INDEX:
            rows.without_value(metric, None, MetricStatus.NOT_APPLICABLE, version=_VERSIONS.get(metric, 1))
        freshness(rows, evidence.documents, (), evidence.started)
        return rows.table()
    inventory = take_inventory(
        view, seed=settings.probe_seed, probes=settings.ann_probes, scope_probes=settings.access_probes
    )
    expected = expected_keys(evidence.locations)
    reconcile(rows, evidence, inventory, expected)
    ann_recall(rows, view, inventory)
    deleted_still_found(rows, evidence, view, inventory, settings)
    new_not_found(rows, evidence, view, expected, settings)
    access_violations(rows, evidence, view, inventory, settings)
    freshness(rows, evidence.documents, inventory.documents, evidence.started)
    return rows.table()
