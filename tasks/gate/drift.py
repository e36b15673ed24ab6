"""Do new and changed documents look like the live ones of their class? Free measures only, so it never goes blind.

Gold figures of unchanged documents are constants; what a source newly sends is what can go wrong between releases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any, TypeAlias

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from schemas.names import Cohort
from schemas.verdict import Finding, FindingOutcome
from tasks.counted import counted
from tasks.gate import wording
from tasks.gate.decide import blank
from tasks.gate.evidence import ALPHA, Demonstration, adjusted
from tasks.gate.features import FEATURES, Feature
from tasks.gate.settings import Rule
from tasks.metrics.rank_sum import rank_sum_test

Values: TypeAlias = Mapping[str, tuple[list[Any], list[Any]]]
"""By class: the values of new and changed documents, and those of the live documents."""

_DRAWS = 9999
_SEED = 20_000


@dataclass(frozen=True, slots=True)
class Shift:
    """How unlike two groups are: an effect from 0 (alike) to 1 (nothing in common), a figure of each, in words."""

    effect: float
    evidence: Demonstration
    new: float
    live: float
    words: str


def feature_values(connection: duckdb.DuckDBPyConnection, feature: Feature, run: str, baseline: str) -> Values:
    """A feature's values by class from the views of two runs, whose names begin with `run` and `baseline`."""
    query = f"""
        SELECT d.doc_class, true AS is_new, f.value FROM ({feature.sql.format(p=run)}) f
        JOIN {run}documents d USING (document_id) WHERE d.cohort IN ('{Cohort.NEW}', '{Cohort.CHANGED}')
        UNION ALL
        SELECT d.doc_class, false, f.value FROM ({feature.sql.format(p=baseline)}) f
        JOIN {baseline}documents d USING (document_id) WHERE d.cohort <> '{Cohort.DELETED}'
        ORDER BY ALL
    """  # noqa: S608
    values: dict[str, tuple[list[Any], list[Any]]] = {}
    for (doc_class, is_new), part in pl.DataFrame(connection.sql(query).to_arrow_table()).group_by(
        ["doc_class", "is_new"], maintain_order=True
    ):
        values.setdefault(str(doc_class), ([], []))[0 if is_new else 1].extend(part.get_column("value").to_list())
    return values


def decide_drift(rules: Sequence[Rule], values: Mapping[str, Values] | None) -> list[Finding]:
    """A finding for each drift rule and class that has new or changed documents.

    `values` holds each rule's values by rule id; null on a first run. Holm over all of them together.
    """
    findings: list[Finding] = []
    tests: list[tuple[int, Shift, Rule]] = []
    for rule in rules:
        finding = replace(blank(rule, "drift"), slice_key="class", against="live")
        if values is None:
            first = replace(finding, slice_key=None, outcome=FindingOutcome.FIRST_RUN, required=False)
            findings.append(replace(first, message="there is no baseline yet"))
            continue
        classes = {name: pair for name, pair in values[rule.id].items() if pair[0]}
        if not classes:
            findings.append(replace(finding, slice_key=None, required=False, message="no new or changed documents"))
        for name, (new, live) in sorted(classes.items()):
            of_class = replace(finding, slice_value=name, items=len(new))
            if min(len(new), len(live)) < rule.min_items:
                message = f"{counted(len(new), 'new and changed document')}, {len(live)} live ones: too few to compare"
                findings.append(replace(of_class, required=False, message=message))
                continue
            feature = FEATURES[rule.stage, rule.metric]
            tests.append((len(findings), shift(feature, new, live), rule))
            findings.append(of_class)
    p_values, _ = adjusted([moved.evidence for _, moved, _ in tests])
    for (i, moved, rule), p_value in zip(tests, p_values, strict=True):
        drifted = p_value < ALPHA and moved.effect >= rule.limit
        findings[i] = replace(
            findings[i],
            outcome=FindingOutcome.DRIFTED if drifted else FindingOutcome.OK,
            value=moved.new,
            baseline_value=moved.live,
            loss=moved.effect,
            p_value=p_value,
            message=f"{moved.words}; effect {wording.number(moved.effect)} (p = {p_value:.2g}), "
            f"bound {wording.number(rule.limit)}",
        )
    return findings


def shift(feature: Feature, new: Sequence[Any], live: Sequence[Any]) -> Shift:
    """How unlike the values of two groups of documents are; both hold at least one."""
    words = f"{feature.title} of {counted(len(new), 'new and changed document')} against {len(live)} live ones: "
    if feature.kind == "number":
        moved = _numbers(np.asarray(new, np.float64), np.asarray(live, np.float64))
        return replace(moved, words=f"{words}median {wording.number(moved.new)} against {wording.number(moved.live)}")
    name, moved = _categories([str(value) for value in new], [str(value) for value in live])
    return replace(moved, words=f"{words}{name} {moved.new:.0%} against {moved.live:.0%}")


def _numbers(new: NDArray[np.float64], live: NDArray[np.float64]) -> Shift:
    """Cliff's delta, absolute, with the rank test; neither minds outliers or scale."""
    medians, found = (float(np.median(new)), float(np.median(live))), rank_sum_test(new, live)
    least = 2 / comb(len(new) + len(live), len(new))
    return Shift(abs(found.delta), Demonstration(found.p_value, least), *medians, words="")


def _categories(new: Sequence[str], live: Sequence[str]) -> tuple[str, Shift]:
    """Total variation distance, with a permutation test; also the category that gained most."""
    names = sorted({*new, *live})
    counts = np.array([[values.count(name) for name in names] for values in (new, live)])
    shares = counts / counts.sum(axis=1, keepdims=True)
    distance = 0.5 * float(np.abs(shares[0] - shares[1]).sum())
    together = counts.sum(axis=0)
    drawn = np.random.default_rng(_SEED).multivariate_hypergeometric(together, len(new), size=_DRAWS)
    distances = 0.5 * np.abs(drawn / len(new) - (together - drawn) / len(live)).sum(axis=1)
    p_value = (1 + int(np.count_nonzero(distances >= distance - 1e-12))) / (1 + _DRAWS)
    gained = int(np.argmax(shares[0] - shares[1]))
    least = max(1 / (1 + _DRAWS), 1 / comb(len(new) + len(live), len(new)))
    moved = Shift(distance, Demonstration(p_value, least), float(shares[0][gained]), float(shares[1][gained]), words="")
    return names[gained], moved
