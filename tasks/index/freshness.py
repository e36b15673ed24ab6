"""How far what is live lags behind its sources: projected before a candidate goes live, as it was afterwards."""

from collections.abc import Collection
from datetime import datetime

import pyarrow as pa

from schemas.names import Cohort, MetricStatus, StageName
from tasks.metrics.rows import MetricRows

_WAITING = (Cohort.NEW, Cohort.CHANGED)
"""Cohorts whose content is not live yet."""


def freshness(rows: MetricRows, documents: pa.Table, indexed: Collection[str], planned: datetime) -> None:
    """Writes `freshness_lag_seconds` and `stale_share` of the run's `documents` (`DOCUMENTS` rows).

    The lag runs from the source's commit to the time at which the run was planned: the least that it can be. Content
    that waits behind runs which were not promoted is new or changed in each of them, so its lag grows until it is live.
    `indexed` names the documents of the candidate. Without anything live, neither figure applies.
    """
    _lags(rows, "freshness_lag_seconds", documents, indexed, planned, version=2)
    cohorts = documents.column("cohort").to_pylist()
    if not _was_live(documents):
        rows.without_value("stale_share", None, MetricStatus.NOT_APPLICABLE)
        return
    for document_id, cohort in zip(documents.column("document_id").to_pylist(), cohorts, strict=True):
        rows.ratio("stale_share", document_id, float(cohort in (*_WAITING, Cohort.DELETED)), 1.0)


def actual_lags(documents: pa.Table, live: Collection[str], promoted: datetime) -> pa.Table:
    """Rows of `freshness_lag_actual_seconds`: from the source's commit to `promoted`, when the content went live.

    `documents` are the run's (`DOCUMENTS` rows), `live` the ids that were found in the live generation after the swap.
    New and changed documents have a row each: missing where one is not found or has no time of commit, invalid where
    that time is later than the swap. One row says that nothing applies where nothing was live before or nothing is new.

    >>> from datetime import UTC
    >>> from schemas.documents import DOCUMENTS
    >>> actual_lags(DOCUMENTS.empty_table(), set(), datetime(2026, 1, 1, tzinfo=UTC)).column("status").to_pylist()
    ['not_applicable']
    """
    rows = MetricRows(StageName.INDEX)
    _lags(rows, "freshness_lag_actual_seconds", documents, live, promoted)
    return rows.table()


def _lags(
    rows: MetricRows,
    metric: str,
    documents: pa.Table,
    findable: Collection[str],
    findable_at: datetime,
    *,
    version: int = 1,
) -> None:
    columns = ("document_id", "cohort", "commit_time")
    waiting = [
        (document_id, committed)
        for document_id, cohort, committed in zip(
            *(documents.column(name).to_pylist() for name in columns), strict=True
        )
        if cohort in _WAITING
    ]
    if not waiting or not _was_live(documents):
        rows.without_value(metric, None, MetricStatus.NOT_APPLICABLE, version=version)
        return
    for document_id, committed in waiting:
        if committed is not None and committed > findable_at:
            rows.without_value(metric, document_id, MetricStatus.INVALID, version=version)
        elif committed is None or document_id not in findable:
            rows.without_value(metric, document_id, MetricStatus.MISSING, version=version)
        else:
            rows.value(metric, document_id, (findable_at - committed).total_seconds(), version=version)


def _was_live(documents: pa.Table) -> bool:
    """Whether anything was live when the run was planned: cohorts are told against it, and without it all are new."""
    return any(cohort != Cohort.NEW for cohort in documents.column("cohort").to_pylist())
