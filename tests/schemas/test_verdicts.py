"""A verdict is bound to what it says."""

from dataclasses import replace

import pytest

from schemas.names import VerdictStatus
from schemas.verdict import Blame, Finding, FindingOutcome, Verdict


@pytest.fixture
def verdict() -> Verdict:
    finding = Finding(
        "teds",
        "parse",
        "teds",
        "macro",
        "fail",
        FindingOutcome.REGRESSED,
        "worse",
        slice_key="class",
        slice_value="scan",
    )
    return Verdict(
        status=VerdictStatus.FAIL,
        run_id="run-2",
        candidate={"table": "chunks", "version": 3},
        baseline="run-1",
        anchor=None,
        digests={"gold": "g", "rules": "r", "code": "c", "candidate": "x", "configuration": None},
        reasons=(finding,),
        blame=(Blame("parse", "teds", 0.2, ("chunk",), doc_class="scan"),),
        created_at="2026-11-30T10:00:00+00:00",
    )


def test_a_verdict_survives_json(verdict: Verdict) -> None:
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_the_digest_follows_the_content_and_not_the_time(verdict: Verdict) -> None:
    assert replace(verdict, created_at="2027-01-01T00:00:00+00:00").digest == verdict.digest
    assert replace(verdict, baseline="run-0").digest != verdict.digest
    assert replace(verdict, digests=dict(verdict.digests) | {"gold": "other"}).digest != verdict.digest
    assert len(verdict.digest) == 64


def test_an_altered_verdict_is_refused(verdict: Verdict) -> None:
    with pytest.raises(ValueError, match="was altered"):
        Verdict.from_json(verdict.to_json() | {"status": "pass"})


@pytest.mark.parametrize(
    ("status", "promotes", "on_fail", "on_warn"),
    [
        (VerdictStatus.PASS, True, 0, 0),
        (VerdictStatus.WARN, True, 0, 1),
        (VerdictStatus.FAIL, False, 1, 1),
        (VerdictStatus.UNDETERMINED, False, 4, 4),
    ],
)
def test_exit_codes(verdict: Verdict, status: VerdictStatus, promotes: bool, on_fail: int, on_warn: int) -> None:
    decided = replace(verdict, status=status)
    assert decided.allows_promotion is promotes
    assert (decided.exit_code("fail"), decided.exit_code("warn")) == (on_fail, on_warn)


def test_only_fail_and_warn_may_be_asked_for(verdict: Verdict) -> None:
    with pytest.raises(ValueError, match="never"):
        verdict.exit_code("never")  # type: ignore[arg-type]
