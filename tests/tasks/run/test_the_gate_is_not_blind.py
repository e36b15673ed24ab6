"""Among many documents that did not change, the few that came damaged are named, with their class and their stage."""

from pathlib import Path

from schemas.names import VerdictStatus
from tests.engine import run_engine
from tests.scans import unreadable_scan
from tests.texts import configured, write_texts

UNCHANGED, DAMAGED = 150, 12


def test_unreadable_scans_among_many_unchanged_documents_are_named(tmp_path: Path) -> None:
    write_texts(tmp_path / "notes", UNCHANGED)
    configuration = configured(
        tmp_path,
        classes=[{"class": "scan", "path": "scans/**"}, {"class": "note", "path": "*.txt"}],
        stages={"dedup": {"near_duplicates": False}},
    )
    first = run_engine(configuration)
    assert first.verdict.allows_promotion, first.verdict.reasons
    live = (configuration.lake / "index" / "live.json").read_bytes()

    (tmp_path / "notes" / "scans").mkdir()
    for number in range(DAMAGED):
        (tmp_path / "notes" / "scans" / f"{number}.pdf").write_bytes(unreadable_scan(number))
    second = run_engine(configuration)
    assert second.verdict.status is VerdictStatus.FAIL
    failed = [reason for reason in second.verdict.reasons if reason.severity == "fail" and reason.outcome == "broken"]
    assert {(reason.stage, reason.slice_value) for reason in failed} == {("parse", "scan")}
    (named,) = [reason for reason in failed if reason.metric == "unexpected_quarantine"]
    assert (named.slice_key, named.items) == ("class", DAMAGED)
    assert (configuration.lake / "index" / "live.json").read_bytes() == live
    assert {second.outcome(path) for path in second.locations if path.endswith(".pdf")} == {("quarantined", "parse")}
    # Nothing of what is unchanged was looked at again.
    made = [p for p, stages in second.locations.items() if any(row["computed"] for row in stages.values())]
    assert all(path.startswith("scans/") for path in made)
