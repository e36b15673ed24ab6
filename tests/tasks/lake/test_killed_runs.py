"""A run that was killed cannot say so itself; the next one does."""

from pathlib import Path

from tasks.lake.layout import Lake
from tasks.lake.runs import Runs


def test_runs_left_running_are_marked_and_finished_ones_stay(tmp_path: Path) -> None:
    runs = Runs(Lake(tmp_path))
    states = ["running", "finished", "failed", "running", "running"]
    ids = [f"20261130t02150{number}-aaaa" for number in range(len(states))]
    for run_id, status in zip(ids, states, strict=True):
        runs.update(run_id, status=status, started_at="2026-11-30T02:15:00+00:00")
    runs.mark_killed()
    # The first stays: the run after it would have marked it, so that it is of an older version.
    assert [runs.manifest(run_id)["status"] for run_id in ids] == ["running", "finished", "failed", "killed", "killed"]
    assert runs.manifest(ids[-1])["started_at"] == "2026-11-30T02:15:00+00:00"


def test_a_lake_without_runs_has_none_to_mark(tmp_path: Path) -> None:
    Runs(Lake(tmp_path)).mark_killed()
    assert Runs(Lake(tmp_path)).ids() == []
