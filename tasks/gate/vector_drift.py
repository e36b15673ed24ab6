"""Are the vectors of new and changed documents unlike those of their class in live, or in the anchor?

The samples were drawn and compared when the run was measured (`tasks.embed.drift`); here the figures are judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from schemas.verdict import Finding, FindingOutcome
from tasks.gate import wording
from tasks.gate.decide import blank
from tasks.gate.evidence import ALPHA, Demonstration, adjusted
from tasks.gate.settings import Rule

_P_VALUE = "drift_mmd_p"


def decide_vector_drift(
    rules: Sequence[Rule], figures: pa.Table, baselines: Mapping[str, object | None]
) -> list[Finding]:
    """A finding for each rule, baseline and class with new or changed documents.

    `figures` are the run's (`FIGURES`); `baselines` names what it was compared with: null under `live` on a first run.
    A class has drifted where the permutation test says so (Holm over the classes) and the effect is shown to be as
    large as the rule's threshold: twice the lower end of the interval of the AUC, less 1, which is the scale of Cliff's
    delta.
    """
    rows = figures.to_pylist()
    return [
        finding for rule in rules for name, base in baselines.items() for finding in _decide(rule, rows, name, base)
    ]


def _decide(rule: Rule, figures: list[dict[str, Any]], against: str, baseline: object | None) -> list[Finding]:
    blank_finding = replace(blank(rule, "drift"), against=against, required=False)
    if baseline is None:
        return [replace(blank_finding, outcome=FindingOutcome.FIRST_RUN, message="there is no baseline yet")]
    of_stage = [figure for figure in figures if figure["stage"] == rule.stage]
    areas = _by_class(of_stage, rule.metric, f"class_since_{against}")
    p_values = _by_class(of_stage, _P_VALUE, f"class_since_{against}")
    reasons = sorted(_by_class(of_stage, rule.metric, f"not_compared_with_{against}"))
    if not areas:
        return [replace(blank_finding, message="; ".join(reasons) or "no new or changed documents")]
    findings: list[Finding] = []
    tests: list[tuple[int, Demonstration]] = []
    for name, figure in areas.items():
        finding = replace(blank_finding, slice_key="class", slice_value=name, items=figure["items"])
        p_value = p_values[name]["value"] if name in p_values else None
        if figure["value"] is None or p_value is None or figure["items"] < rule.min_items:
            message = "; ".join(reasons) or f"too few new and changed documents, or documents in {against}, to compare"
            findings.append(replace(finding, message=message))
            continue
        tests.append((len(findings), Demonstration(p_value, 0.0)))
        effect = max(0.0, 2 * figure["low"] - 1)
        findings.append(replace(finding, value=figure["value"], low=figure["low"], high=figure["high"], loss=effect))
    for (i, _), p_value in zip(tests, adjusted([test for _, test in tests])[0], strict=True):
        findings[i] = _judge(rule, findings[i], p_value)
    return findings


def _judge(rule: Rule, finding: Finding, p_value: float) -> Finding:
    effect = finding.loss or 0.0
    drifted = p_value < ALPHA and effect >= rule.limit
    return replace(
        finding,
        outcome=FindingOutcome.DRIFTED if drifted else FindingOutcome.OK,
        p_value=p_value,
        message=f"vectors of new and changed documents are told from those of {finding.against} with an AUC of "
        f"{wording.number(finding.value or 0.0)}{wording.interval(finding.low, finding.high)} ({finding.items} "
        f"documents on the smaller side); effect of at least {wording.number(effect)} (p = {p_value:.2g}), "
        f"bound {wording.number(rule.limit)}",
    )


def _by_class(figures: list[dict[str, Any]], metric: str, slice_key: str) -> dict[str, dict[str, Any]]:
    return {
        figure["slice_value"]: figure
        for figure in figures
        if figure["metric"] == metric and figure["slice_key"] == slice_key and figure["doc_class"] is None
        if figure["cohort"] is None
    }
