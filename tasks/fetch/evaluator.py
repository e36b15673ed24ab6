"""Measures of the fetch stage. All are free: they need no labels."""

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import Cohort, MetricStatus, Outcome, StageName
from tasks.documents.sniff import types_agree
from tasks.fetch.settings import FetchSettings
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence, Evidence

FEWEST_LIVE = 10
"""Of fewer live documents half may well go at once."""


def evaluate(evidence: Evidence, _: FetchSettings) -> pa.Table:
    """`latency_seconds` and `media_type_mismatch` of each document that was fetched."""
    rows = MetricRows(StageName.FETCH)
    for fetched in evidence.output.select(["document_id", "media_type", "media_type_declared"]).to_pylist():
        document_id, declared = fetched["document_id"], fetched["media_type_declared"]
        cost = evidence.costs.get(document_id)
        if cost is None:
            rows.without_value("latency_seconds", document_id, MetricStatus.MISSING)
        else:
            rows.value("latency_seconds", document_id, cost.seconds)
        if declared is None:
            rows.without_value("media_type_mismatch", document_id, MetricStatus.NOT_APPLICABLE)
        else:
            rows.ratio("media_type_mismatch", document_id, float(not types_agree(declared, fetched["media_type"])), 1)
    return rows.table()


def facts(evidence: CorpusEvidence, _: FetchSettings) -> pa.Table:
    """`success_rate`, `unchanged_rate`, `commit_time_known` of the documents that a run planned to fetch, `live_kept`.

    A planned document that has no fetch outcome at all scores 0 in `success_rate`, with status `missing`. A
    document that was not fetched has no row of `unchanged_rate`. Deleted documents count in `live_kept` alone,
    which has a row for each document that is live.
    """
    rows = MetricRows(StageName.FETCH)
    here = evidence.locations.filter(pc.field("stage") == StageName.FETCH.value)
    outcomes = dict(zip(here.column("document_id").to_pylist(), here.column("outcome").to_pylist(), strict=True))
    fetched = {
        row["document_id"]: row
        for table in evidence.outputs(StageName.FETCH)
        for row in table.select(["document_id", "content_sha", "commit_time"]).to_pylist()
    }
    live = sum(cohort != Cohort.NEW for cohort in evidence.documents.column("cohort").to_pylist())
    columns = ["document_id", "cohort", "commit_time", "previous_content_sha"]
    for document in evidence.documents.select(columns).to_pylist():
        deleted = document["cohort"] == Cohort.DELETED
        if document["cohort"] != Cohort.NEW:
            if live < FEWEST_LIVE:
                rows.without_value("live_kept", document["document_id"], MetricStatus.NOT_APPLICABLE)
            else:
                rows.ratio("live_kept", document["document_id"], float(not deleted), 1)
        if deleted:
            continue
        document_id = document["document_id"]
        outcome, row = outcomes.get(document_id), fetched.get(document_id)
        status = MetricStatus.MISSING if outcome is None else MetricStatus.OK
        rows.ratio("success_rate", document_id, float(outcome == Outcome.OK), 1, status=status)
        if row is not None:
            # A 304 keeps the previous hash, so one comparison covers both ways of being unchanged.
            same = row["content_sha"] == document["previous_content_sha"]
            rows.ratio("unchanged_rate", document_id, float(same), 1)
        known = document["commit_time"] is not None or (row is not None and row["commit_time"] is not None)
        rows.ratio("commit_time_known", document_id, float(known), 1)
    return rows.table()
