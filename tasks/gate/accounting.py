"""The run's own books: at every stage, documents in = out + quarantined + dropped, and what goes out comes in next;
and every measure that was taken is one that the catalogue explains."""

from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa

from schemas.names import Cohort, Outcome, StageName
from schemas.verdict import Finding, FindingOutcome
from tasks.contracts.check import check_rows
from tasks.contracts.contract import load_contract
from tasks.counted import counted

RULE = "accounting"
"""Always on: figures over documents that got lost on the way would be figures of something else."""

_QUERY = """
    WITH following AS (SELECT unnest($stages) AS stage, unnest($next) AS next),
    here AS MATERIALIZED (SELECT stage, document_id, outcome, file FROM {p}locations),
    expected AS MATERIALIZED (
        SELECT '{first}' AS stage, document_id FROM {p}documents WHERE cohort <> '{deleted}'
        UNION ALL
        SELECT following.next, document_id FROM here JOIN following USING (stage) WHERE outcome = '{ok}'
    ),
    counted AS (
        SELECT 'total' AS kind, stage, count(*) AS n FROM expected GROUP BY stage
        UNION ALL
        SELECT 'lost', stage, count(*) FROM expected ANTI JOIN here USING (stage, document_id) GROUP BY stage
        UNION ALL
        SELECT 'from nowhere', stage, count(*) FROM here ANTI JOIN expected USING (stage, document_id) GROUP BY stage
        UNION ALL
        SELECT 'counted twice', stage, count(*) - count(DISTINCT document_id) FROM here GROUP BY stage
        UNION ALL
        SELECT 'without a clear outcome', stage, count(*) FROM here
        WHERE outcome NOT IN ({outcomes}) OR (outcome = '{ok}' AND file IS NULL) GROUP BY stage
    )
    SELECT stage, kind, n FROM counted
"""


_WRONG = ("lost", "from nowhere", "counted twice", "without a clear outcome")


def account(connection: duckdb.DuckDBPyConnection, prefix: str = "") -> list[Finding]:
    """One finding per stage from the views `documents` and `locations`; `value` counts the documents in disorder."""
    stages = [stage.value for stage in StageName]
    query = _QUERY.format(
        p=prefix,
        first=stages[0],
        deleted=Cohort.DELETED,
        ok=Outcome.OK,
        outcomes=", ".join(f"'{outcome}'" for outcome in Outcome),
    )
    counts: dict[str, dict[str, int]] = {}
    for stage, kind, n in connection.sql(query, params={"stages": stages[:-1], "next": stages[1:]}).fetchall():
        counts.setdefault(stage, {})[kind] = n
    return [
        _of_stage(stage, previous, counts.get(stage, {}))
        for previous, stage in zip(["the plan", *stages], stages, strict=False)
    ]


def uncatalogued(connection: duckdb.DuckDBPyConnection) -> list[Finding]:
    """A broken finding for each measure that has no entry in the table `catalogue` (`add_catalogue`): it would enter
    no figure, and nobody would know.
    """
    unknown = connection.sql(
        "SELECT DISTINCT m.stage::VARCHAR, m.metric::VARCHAR FROM measures m ANTI JOIN catalogue c "
        "ON c.metric = m.metric::VARCHAR AND c.stage IN (m.stage::VARCHAR, 'all') ORDER BY ALL"
    ).fetchall()
    message = "this measure has no entry in data_contracts/metrics.yaml, so that it enters no figure"
    return [
        Finding(
            rule=RULE,
            stage=stage,
            metric=metric,
            aggregation="none",
            severity="fail",
            outcome=FindingOutcome.BROKEN,
            message=message,
        )
        for stage, metric in unknown
    ]


def changed_outputs(manifest: Mapping[str, Any]) -> list[Finding]:
    """A warning for each forced stage of the run's manifest that gave another output under the same key: figures of
    earlier runs are then of something else than their keys say.
    """
    return [
        Finding(
            rule="forced",
            stage=stage,
            metric="output_changed",
            aggregation="sum",
            severity="warn",
            outcome=FindingOutcome.BROKEN,
            value=float(told["changed"]),
            items=told["computed"],
            threshold=0.0,
            message=f"{told['changed']} of {told['computed']} documents came out otherwise under the same version, "
            f"settings and libraries, such as {told['first'][0]}: raise the version of the stage, or find what in it "
            "depends on chance",
        )
        for stage, told in (manifest.get("forced") or {}).items()
        if told["changed"] and stage in set(StageName)
    ]


def contract_breaches(connection: duckdb.DuckDBPyConnection, figures: pa.Table) -> list[Finding]:
    """A broken finding for each rule of the contracts of `documents`, `locations` and `figures` that does not hold."""
    connection.register("judged_figures", figures)
    relations = {"documents": StageName.FETCH, "locations": StageName.INDEX, "figures": StageName.INDEX}
    breaches = [
        (stage, violation)
        for table, stage in relations.items()
        for violation in check_rows(connection, "judged_figures" if table == "figures" else table, load_contract(table))
    ]
    connection.unregister("judged_figures")
    return [
        Finding(
            rule="contract",
            stage=stage.value,
            metric=violation.rule,
            aggregation="sum",
            severity="fail",
            outcome=FindingOutcome.BROKEN,
            message=f"{violation.count} rows break the contract: {violation.description}",
            slice_key="table",
            slice_value=violation.table,
            value=float(violation.count),
            items=violation.count,
            threshold=0.0,
        )
        for stage, violation in breaches
    ]


def _of_stage(stage: str, came_from: str, counts: Mapping[str, int]) -> Finding:
    total = counts.get("total", 0)
    wrong = {kind: counts[kind] for kind in _WRONG if counts.get(kind)}
    told = ", ".join(f"{n} {kind}" for kind, n in wrong.items())
    return Finding(
        rule=RULE,
        stage=stage,
        metric=RULE,
        aggregation="sum",
        severity="fail",
        outcome=FindingOutcome.BROKEN if wrong else FindingOutcome.OK,
        message=told or f"every one of {counted(total, 'document')} that came from {came_from} is accounted for",
        value=float(sum(wrong.values())),
        items=total,
        threshold=0.0,
    )
