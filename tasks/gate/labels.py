"""What a run's verdict says of its labels: which of them measure nothing, and which comparisons they cost."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import duckdb

from schemas.names import MetricStatus, StageName
from schemas.verdict import Finding, FindingOutcome
from tasks.survival.evaluator import METRIC as EVIDENCE
from tasks.survival.evaluator import UNBOUND

_NAMED = 3
"""How many questions a finding names."""


def idle_gold_sets(manifest: Mapping[str, Any]) -> list[Finding]:
    """A broken finding for each gold set of the run's manifest none of whose labels names a document of the run: what
    it was to measure is not measured, and nothing else would say so. A partial run may have left those documents out.
    """
    if manifest.get("partial"):
        return []
    unbound: Counter[str] = Counter()
    for key, count in (manifest.get("labels_unbound") or {}).items():
        unbound[key.rpartition(" ")[0]] += count
    return [
        Finding(
            rule="gold",
            stage=StageName.FETCH,
            metric="labels_unbound",
            aggregation="sum",
            severity="fail",
            outcome=FindingOutcome.BROKEN,
            value=float(total),
            message=f"none of the {total} labels of gold set {version} names a document of this run; they name them by "
            "`<source>:<path>`: compare with the names of the sources",
        )
        for version, total in (manifest.get("gold_labels") or {}).items()
        if total and unbound[version] == total
    ]


def stale_labels(manifest: Mapping[str, Any]) -> list[Finding]:
    """A note of how many labels of the run's manifest were made for other bytes than their documents have now: they
    score nothing, and who edits a corpus need not know it.
    """
    stale: Mapping[str, int] = manifest.get("labels_stale") or {}
    total, labels = sum(stale.values()), sum((manifest.get("gold_labels") or {}).values())
    if not total:
        return []
    kinds = ", ".join(f"{count} {kind}" for kind, count in stale.items())
    return [
        _about_labels(
            "labels_stale",
            total,
            f"{total} of {labels} labels ({kinds}) were made for other versions of their documents and are not "
            f"counted; `corpusgate sql labels_lost --param status=stale_label --run {manifest['run_id']}` names the "
            "documents",
        )
    ]


def unbound_quotes(connection: duckdb.DuckDBPyConnection, run_id: str) -> list[Finding]:
    """A note of the quotes of questions that stand nowhere in the bytes that they were made for (a row without a value
    at parse, `tasks.survival.evaluator`): no stage has lost them.
    """
    found = connection.sql(
        f"SELECT document_id, unit_id FROM measures WHERE stage = '{StageName.PARSE}' AND metric = '{EVIDENCE}' "  # noqa: S608
        f"AND status = '{MetricStatus.INVALID}' AND contains(unit_id, '{UNBOUND}') ORDER BY ALL"
    ).fetchall()
    if not found:
        return []
    questions = [f"{unit.rpartition(UNBOUND)[0]} of {document_id}" for document_id, unit in found]
    named = ", ".join(dict.fromkeys(questions[:_NAMED]))
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return [
        _about_labels(
            "labels_unbound",
            len(found),
            f"{len(found)} quoted passages of questions stand nowhere in the bytes of their documents, by a reading "
            f"that parse has no part in, and are not counted: a fault of the labels ({named}{more}); "
            f"`corpusgate sql labels_lost --param status=unbound --run {run_id}` names the documents",
        )
    ]


def _about_labels(metric: str, count: int, message: str) -> Finding:
    return Finding(
        rule="gold",
        stage=StageName.FETCH,
        metric=metric,
        aggregation="sum",
        severity="note",
        outcome=FindingOutcome.BROKEN,
        value=float(count),
        message=message,
    )


def unlike_baselines(manifest: Mapping[str, Any]) -> list[Finding]:
    """A note for each baseline of the run's manifest that could not be measured as the run is: figures that other
    labels or scorers shape are then compared with nothing, and this says why.
    """
    return [
        Finding(
            rule="baseline",
            stage=StageName.FETCH,
            metric="measured_alike",
            aggregation="none",
            severity="note",
            outcome=FindingOutcome.BROKEN,
            message=f"run {baseline} could not be measured by the labels and scorers of this run: {why}. What these "
            "shape is compared with nothing",
        )
        for baseline, why in (manifest.get("not_measured_again") or {}).items()
    ]
