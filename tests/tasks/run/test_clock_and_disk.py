"""A clock that jumps back and a disk that is full cost no document, and the cause is named."""

import doctest
import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import flows.launch
from tasks import machine
from tasks.errors import RunError
from tasks.lake.ledger import Ledger
from tasks.lake.runs import Runs
from tests.engine import run_engine
from tests.texts import configured, text, write_texts


def test_a_run_id_sorts_after_all_others_whatever_the_clock_says(tmp_path: Path) -> None:
    configuration = configured(tmp_path)
    runs = Runs(flows.launch.Lake(configuration.lake))
    noon = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)
    made = []
    for at in (noon, noon, noon - timedelta(days=1), noon + timedelta(hours=1)):
        made.append(runs.new_id(at))
        runs.update(made[-1], status="finished")
    stamps = ["20261231t235959", "20270101t000000", "20270101t000001", "20270101t005959"]
    assert [run_id[:15] for run_id in made] == stamps
    assert runs.ids() == made


def test_a_run_whose_clock_is_a_day_back_follows_the_last_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = configured(tmp_path)
    write_texts(tmp_path / "notes", 3)
    first = run_engine(configuration, measured=False)

    class Yesterday(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) - timedelta(days=1)

    monkeypatch.setattr(flows.launch, "datetime", Yesterday)
    (tmp_path / "notes" / "note-000.txt").rename(tmp_path / "notes" / "renamed.txt")
    (tmp_path / "notes" / "note-001.txt").write_text(text(9), encoding="utf-8")
    second = run_engine(configuration)
    plan = second.session.runs.plan(second.session.context.run_id).to_pylist()
    assert {row["uri"]: row["cohort"] for row in plan} == {
        "renamed.txt": "moved",
        "note-001.txt": "changed",
        "note-002.txt": "unchanged",
    }
    assert second.session.runs.last_scan() == second.session.runs.resolve("last") == second.session.context.run_id
    assert second.session.runs.manifest(second.session.context.run_id)["last_scan_run"] == first.session.context.run_id
    # What was committed after the time at which the run says that it began has no lag, and a negative one is none.
    facts = second.session.context.folder / "facts" / "index.parquet"

    lags = [row for row in pq.read_table(facts).to_pylist() if row["metric"] == "freshness_lag_seconds"]
    assert [(row["status"], row["value"]) for row in lags] == [("invalid", None)]


@pytest.mark.parametrize("nth", [2, 9, 30, 120])
def test_a_disk_that_fills_up_stops_the_run_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """A full disk shows at the latest when a file is flushed, which is where it is put here."""
    configuration = configured(tmp_path)
    write_texts(tmp_path / "notes", 3)
    flush, calls = os.fsync, iter(range(1, 100_000))

    def full(handle: int) -> None:
        if next(calls) >= nth:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(RunError, match="No space left on device") as caught:
            run_engine(configuration)
    assert "space" in caught.value.remedy
    assert [path.name for path in (tmp_path / "lake").rglob("*.tmp")] == []
    again = run_engine(configuration, measured=False)
    assert {again.outcome(path)[0] for path in again.locations} == {"ok"}
    assert len(again.live_rows) == 3
    twice = "SELECT stage, document_id FROM ledger WHERE kind = 'output' GROUP BY ALL HAVING count(*) > 1"
    assert Ledger(configuration.lake / "ledger").select(twice).num_rows == 0
    assert Ledger(configuration.lake / "ledger").select("SELECT * FROM ledger WHERE outcome <> 'ok'").num_rows == 0


def test_the_examples_of_faults_hold() -> None:
    result = doctest.testmod(machine)
    assert (result.attempted, result.failed) == (3, 0)
