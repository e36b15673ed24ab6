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

RULE = "accounting"
"""Always on: figures over documents that got lost on the way would be figures of something else."""

_QUERY = """
    WITH expected AS ({expected}), here AS (SELECT document_id, outcome, file FROM {p}locations WHERE stage = '{stage}')
    SELECT (SELECT count(*) FROM expected),
           (SELECT count(*) FROM expected ANTI JOIN here USING (document_id)),
           (SELECT count(*) FROM here ANTI JOIN expected USING (document_id)),
           (SELECT count(*) - count(DISTINCT document_id) FROM here),
           (SELECT count(*) FROM here WHERE outcome NOT IN ({outcomes}) OR (outcome = '{ok}' AND file IS NULL))
"""


def account(connection: duckdb.DuckDBPyConnection, prefix: str = "") -> list[Finding]:
    """One finding per stage from the views `documents` and `locations`; `value` counts the documents in disorder."""
    return [_of_stage(connection, stage, previous, prefix) for previous, stage in _steps()]


def uncatalogued(connection: duckdb.DuckDBPyConnection) -> list[Finding]:
    """A broken finding for each measure that has no entry in the table `catalogue` (`details`): it would enter
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


def _steps() -> list[tuple[StageName | None, StageName]]:
    stages = list(StageName)
    return list(zip([None, *stages[:-1]], stages, strict=True))


def _of_stage(
    connection: duckdb.DuckDBPyConnection, stage: StageName, previous: StageName | None, prefix: str
) -> Finding:
    expected = (
        f"SELECT document_id FROM {prefix}documents WHERE cohort <> '{Cohort.DELETED}'"  # noqa: S608
        if previous is None
        else f"SELECT document_id FROM {prefix}locations WHERE stage = '{previous}' AND outcome = '{Outcome.OK}'"  # noqa: S608
    )
    outcomes = ", ".join(f"'{outcome}'" for outcome in Outcome)
    query = _QUERY.format(expected=expected, p=prefix, stage=stage, outcomes=outcomes, ok=Outcome.OK)
    total, lost, extra, twice, unclear = connection.sql(query).fetchall()[0]
    wrong = lost + extra + twice + unclear
    kinds = {"lost": lost, "from nowhere": extra, "counted twice": twice, "without a clear outcome": unclear}
    told = ", ".join(f"{count} {name}" for name, count in kinds.items() if count)
    came_from = "the plan" if previous is None else previous
    return Finding(
        rule=RULE,
        stage=stage.value,
        metric=RULE,
        aggregation="sum",
        severity="fail",
        outcome=FindingOutcome.BROKEN if wrong else FindingOutcome.OK,
        message=told or f"all {total} documents that came from {came_from} are accounted for",
        value=float(wrong),
        items=total,
        threshold=0.0,
    )
