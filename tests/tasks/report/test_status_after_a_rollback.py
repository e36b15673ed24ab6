"""A rollback holds until the next run: the state of the lake says so, with what to do."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tasks.index.generations import Generations
from tasks.index.records import Generation
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.report.status import Status, print_status, read_status

FIRST, SECOND, THIRD = "20260101t000000-aaaa", "20260102t000000-bbbb", "20260103t000000-cccc"
BUILT = Generation("chunks", 1, FIRST, 8, "hashing@1")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two runs that passed, each of which went live."""
    lake = Lake(tmp_path / "lake")
    lake.create()
    for run_id in (FIRST, SECOND):
        Runs(lake).update(run_id, status="finished", verdict="pass", started_at="2026-01-01T00:00:00+00:00")
    promote(lake, BUILT)
    promote(lake, replace(BUILT, version=2, run_id=SECOND))
    return lake


def promote(lake: Lake, generation: Generation) -> None:
    generations = Generations(lake.index, 1.0)
    generations.promote(generation, expected=generations.live(), verdict_digest=f"verdict-{generation.run_id}")


def roll_back(lake: Lake) -> None:
    generations = Generations(lake.index, 1.0)
    live = generations.live()
    assert live is not None
    generations.roll_back(expected=live)


def shown(status: Status) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_status(console, status)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_nothing_is_said_where_nothing_was_rolled_back(lake: Lake) -> None:
    status = read_status(lake)
    assert status.rolled_back is None
    assert "rolled back" not in shown(status)
    assert status.next == "corpusgate run, when the corpus has changed"


def test_a_rollback_warns_of_the_next_run_and_says_what_to_do(lake: Lake) -> None:
    roll_back(lake)
    status = read_status(lake)
    assert (status.live or {})["run_id"] == FIRST
    assert status.rolled_back == SECOND == status.to_json()["rolled_back"]
    assert f"rolled back  run {SECOND}: the next run makes the same candidate again" in shown(status)
    assert status.next.startswith(f"mend what was wrong with run {SECOND}")
    assert "hold off runs" in status.next


def test_the_warning_ends_with_the_next_promotion(lake: Lake) -> None:
    roll_back(lake)
    Runs(lake).update(THIRD, status="finished", verdict="pass", started_at="2026-01-03T00:00:00+00:00")
    promote(lake, replace(BUILT, version=3, run_id=THIRD))
    assert read_status(lake).rolled_back is None
