"""Floors, ceilings, equalities and proofs; what is not there never counts as held."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from schemas.names import VerdictStatus
from schemas.verdict import Finding, FindingOutcome
from tasks.figures.catalogue import Catalogue
from tasks.gate.blame import blame_documents, document_losses, mark_consequences
from tasks.gate.decide import Measured, decide, status_of
from tasks.gate.settings import Rule

World = Callable[..., Measured]


def judged(catalogue: Catalogue, run: Measured, **rule: Any) -> Finding:
    (finding,) = decide([Rule.model_validate({"id": "r", "stage": "parse", **rule})], catalogue, run, {"live": None})
    return finding


@pytest.mark.parametrize(
    ("passed", "outcome", "p_value"),
    # P(at most 5 of 10 at 0.9) = 0.00163; P(at most 8 of 10 at 0.9) = 0.26390 (binomial tables).
    [(5, FindingOutcome.BROKEN, 0.00163), (8, FindingOutcome.UNDETERMINED, 0.26390), (9, FindingOutcome.OK, None)],
)
def test_a_floor_is_broken_beyond_chance(
    catalogue: Catalogue, measured: World, passed: int, outcome: FindingOutcome, p_value: float | None
) -> None:
    run = measured({"trial": {"x": [1] * passed + [0] * (10 - passed)}})
    finding = judged(catalogue, run, metric="trial", kind="floor", threshold=0.9)
    assert finding.outcome is outcome
    assert finding.p_value == (None if p_value is None else pytest.approx(p_value, abs=1e-5))


def test_a_bound_at_the_end_of_the_range_is_broken_by_one_case(catalogue: Catalogue, measured: World) -> None:
    run = measured({"trial": {"x": [1] * 99 + [0]}})
    assert judged(catalogue, run, metric="trial", kind="floor", threshold=1).outcome is FindingOutcome.BROKEN


def test_a_census_is_compared_as_it_is(catalogue: Catalogue, measured: World) -> None:
    finding = judged(
        catalogue, measured({"complete": {"x": [1, 1, 0, 1]}}), metric="complete", kind="equal", threshold=1
    )
    assert (finding.outcome, finding.value) == (FindingOutcome.BROKEN, 0.75)
    assert finding.message == "0.75 (3 of 4); must be exactly 1; in document x-2"


@pytest.mark.parametrize(("items", "outcome"), [(10, FindingOutcome.UNDETERMINED), (35, FindingOutcome.OK)])
def test_a_proof_wants_the_whole_interval_beyond_its_floor(
    catalogue: Catalogue, measured: World, items: int, outcome: FindingOutcome
) -> None:
    """All of n pass: Wilson's lower bound is n / (n + 3.8415), which reaches 0.9 at n = 34.6."""
    finding = judged(catalogue, measured({"trial": {"x": [1] * items}}), metric="trial", kind="proof", threshold=0.9)
    assert finding.outcome is outcome
    assert status_of([finding]) is (VerdictStatus.PASS if items == 35 else VerdictStatus.UNDETERMINED)


def test_missing_data_block_only_where_they_are_required(catalogue: Catalogue, measured: World) -> None:
    rule = {"metric": "trial", "kind": "floor", "threshold": 0.9}
    empty = measured({})
    optional = judged(catalogue, empty, **rule)
    assert (optional.outcome, optional.message) == (
        FindingOutcome.NOT_APPLICABLE,
        "nothing to judge: no labels of kind text",
    )
    assert status_of([optional]) is VerdictStatus.PASS
    assert status_of([judged(catalogue, empty, required=True, **rule)]) is VerdictStatus.UNDETERMINED


@pytest.mark.parametrize(
    ("slice_of", "where"),
    [("all", ["all documents"]), ("class", ["class x", "class y"]), ("cohort", ["cohort unchanged"])],
)
def test_a_rule_judges_the_whole_each_class_or_each_cohort(
    catalogue: Catalogue, measured: World, slice_of: str, where: list[str]
) -> None:
    rule = Rule(id="r", stage="parse", metric="complete", kind="equal", threshold=1, slice=slice_of)
    findings = decide([rule], catalogue, measured({"complete": {"x": [1, 1], "y": [0]}}), {"live": None})
    assert sorted(finding.where for finding in findings) == where


def test_fewer_items_than_asked_for_are_undetermined(catalogue: Catalogue, measured: World) -> None:
    rule = {"metric": "trial", "kind": "floor", "threshold": 0.9, "min_items": 5}
    few = measured({"trial": {"x": [1] * 4}})
    finding = judged(catalogue, few, **rule)
    assert finding.outcome is FindingOutcome.UNDETERMINED
    assert status_of([finding]) is VerdictStatus.WARN
    assert status_of([judged(catalogue, few, required=True, **rule)]) is VerdictStatus.UNDETERMINED


def test_a_warning_does_not_block_and_a_failure_outweighs_what_is_undetermined() -> None:
    broken = Finding("r", "parse", "m", "micro", "fail", FindingOutcome.BROKEN, "")
    unknown = replace(broken, outcome=FindingOutcome.UNDETERMINED, required=True)
    assert status_of([replace(broken, severity="warn")]) is VerdictStatus.WARN
    assert status_of([unknown, broken]) is VerdictStatus.FAIL
    assert status_of([replace(broken, severity="warn"), unknown]) is VerdictStatus.UNDETERMINED


def test_the_first_stage_that_broke_is_to_blame_and_what_follows_is_a_consequence() -> None:
    def of(stage: str, doc_class: str, **changes: Any) -> Finding:
        finding = Finding(f"{stage}-rule", stage, "m", "micro", "fail", FindingOutcome.REGRESSED, "", loss=0.1)
        return replace(finding, slice_key="class", slice_value=doc_class, **changes)

    findings = [
        of("chunk", "scan"),
        of("parse", "scan"),
        of("fetch", "scan", outcome=FindingOutcome.OK),
        of("chunk", "web"),
        of("fetch", "web", outcome=FindingOutcome.BROKEN, severity="warn"),
    ]
    marked, blames = mark_consequences(findings)
    assert [(b.doc_class, b.stage, b.consequences) for b in blames] == [
        ("scan", "parse", ("chunk",)),
        ("web", "chunk", ()),
    ]
    assert [f.consequence for f in marked] == [True, False, False, False, False]


def test_documents_are_blamed_on_the_first_stage_at_which_they_lost(catalogue: Catalogue, measured: World) -> None:
    rules = [
        Rule(id="a", stage="parse", metric="quality", kind="guard", max_loss=0.02),
        Rule(id="b", stage="chunk", metric="later_quality", kind="guard", max_loss=0.02),
    ]
    live = measured({"quality": {"x": [0.9, 0.9, 0.9]}, "later_quality": {"x": [0.8, 0.8, 0.8]}})
    run = measured({"quality": {"x": [0.5, 0.89, 0.9]}, "later_quality": {"x": [0.1, 0.5, 0.8]}})
    blames = blame_documents(document_losses(rules, catalogue, run, live))
    assert [(b.document_id, b.stage, b.consequences) for b in blames] == [
        ("x-0", "parse", ("chunk",)),
        ("x-1", "chunk", ()),
    ]
    assert blames[1].loss == pytest.approx(0.3)
