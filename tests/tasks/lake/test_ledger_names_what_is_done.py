"""The ledger finds what is done under a key, newest first, from any number of files."""

from pathlib import Path
from typing import Any

from tasks.lake.ledger import Ledger


def row(document_id: str, key: str, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "output",
        "document_id": document_id,
        "content_sha": "sha",
        "stage": "parse",
        "stage_key": key,
        "outcome": "ok",
        "reason": None,
        "file": "f.parquet",
        "seconds": 0.5,
        "peak_rss_bytes": None,
        "attempt": 1,
        "run_id": "r",
    } | changes


def test_only_the_same_document_stage_and_key_count_as_done(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.record([row("a", "1"), row("b", "1"), row("c", "1", stage="chunk")], "one")
    found = ledger.find("output", "parse", ["a", "b", "c", "d"], ["1", "2", "1", "1"])
    assert set(found) == {"a"}


def test_a_new_process_reads_what_another_wrote(tmp_path: Path) -> None:
    Ledger(tmp_path).record([row("a", "1")], "one")
    assert Ledger(tmp_path).find("output", "parse", ["a"], ["1"])["a"]["file"] == "f.parquet"


def test_the_newest_row_of_a_key_wins(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.record([row("a", "1", file="old.parquet")], "one")
    ledger.record([row("a", "1", file="new.parquet")], "two")
    assert ledger.find("output", "parse", ["a"], ["1"])["a"]["file"] == "new.parquet"
    ledger.rewrite()
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    assert Ledger(tmp_path).find("output", "parse", ["a"], ["1"])["a"]["file"] == "new.parquet"


def test_compaction_keeps_what_each_file_and_each_failed_try_cost(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for run, seconds in (("r1", 0.5), ("r2", 2.5)):
        tries = [row("a", "1", file=f"{run}.parquet"), row("b", "1", file=None), row("a", "m", kind="measures")]
        ledger.record([made | {"run_id": run, "seconds": seconds} for made in tries], run)
    ledger.rewrite()
    kept = Ledger(tmp_path).select("SELECT document_id, kind, seconds FROM ledger ORDER BY ALL").to_pylist()
    assert [tuple(made.values()) for made in kept] == [
        ("a", "measures", 2.5),
        ("a", "output", 0.5),
        ("a", "output", 2.5),
        ("b", "output", 0.5),
        ("b", "output", 2.5),
    ]


def test_forgetting_survives_a_new_process(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.record([row("a", "1"), row("b", "1")], "one")
    assert ledger.forget("document_id = ?", ["a"]) == 1
    assert set(Ledger(tmp_path).find("output", "parse", ["a", "b"], ["1", "1"])) == {"b"}


def test_a_half_written_file_is_not_seen(tmp_path: Path) -> None:
    (tmp_path / ".x.parquet.abc.tmp").write_bytes(b"PAR1")
    assert Ledger(tmp_path).find("output", "parse", ["a"], ["1"]) == {}
