"""Measures of the index: is all in it that should be, nothing else, and can it be found by whom it may be found by?"""

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import Cohort, MetricStatus, StageName
from tasks.index.probes import access_violations, ann_recall, deleted_still_found
from tasks.index.reconciliation import Inventory, expected_keys, reconcile, take_inventory
from tasks.index.settings import IndexSettings
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence, Evidence

_FROM_THE_INDEX = (
    "ann_recall_at_k",
    "reconciliation",
    "completeness",
    "orphan_chunks",
    "deleted_still_found",
    "access_violations",
)


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
            rows.without_value(metric, None, MetricStatus.NOT_APPLICABLE)
        freshness(rows, evidence, Inventory())
        return rows.table()
    inventory = take_inventory(
        view, seed=settings.probe_seed, probes=settings.ann_probes, tenant_probes=settings.access_probes
    )
    reconcile(rows, evidence, inventory, expected_keys(evidence.locations))
    ann_recall(rows, view, inventory)
    deleted_still_found(rows, evidence, view, inventory, settings)
    access_violations(rows, evidence, view, inventory, settings)
    freshness(rows, evidence, inventory)
    return rows.table()


def freshness(rows: MetricRows, evidence: CorpusEvidence, inventory: Inventory) -> None:
    """Writes `freshness_lag_seconds`: from source commit to findable, for content committed since the last scan.

    Until the candidate is live, findable is projected as the time at which the run was planned: the least that the
    lag can be. A first run has no scan before it and so no lag of its own. A negative lag is invalid (a clock is
    wrong); content that is not in the index, or without a time of commit, is missing.
    """
    findable = evidence.promoted or evidence.started
    columns = ("document_id", "cohort", "commit_time")
    fresh = [
        (document_id, committed)
        for document_id, cohort, committed in zip(
            *(evidence.documents.column(name).to_pylist() for name in columns), strict=True
        )
        if cohort in (Cohort.NEW, Cohort.CHANGED)
    ]
    if evidence.previous_scan is None or not fresh:
        rows.without_value("freshness_lag_seconds", None, MetricStatus.NOT_APPLICABLE)
        return
    for document_id, committed in fresh:
        if committed is None or document_id not in inventory.documents:
            rows.without_value("freshness_lag_seconds", document_id, MetricStatus.MISSING)
        elif committed <= evidence.previous_scan:
            rows.without_value("freshness_lag_seconds", document_id, MetricStatus.NOT_APPLICABLE)
        elif committed > findable:
            rows.without_value("freshness_lag_seconds", document_id, MetricStatus.INVALID)
        else:
            rows.value("freshness_lag_seconds", document_id, (findable - committed).total_seconds())
