"""Where the machine is at fault the run stops; no document is blamed, and the next run has all of them."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schemas.names import Outcome, StageName
from tasks.errors import RunError
from tasks.run.fetching import run_fetch
from tests.tasks.run.runs_by_hand import started


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system refuses to write more into one file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_takes_no_more_stops_the_run_and_quarantines_nobody(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.txt").write_text(f"{number}: the gate opens at 3 m. " * 1000, encoding="utf-8")
    source = [{"name": "s", "type": "files", "root": str(tmp_path / "in")}]
    session = started(tmp_path / "lake", 1, source)
    (batch, *_) = session.plan()
    with files_of_at_most(8000), pytest.raises(RunError, match="stage fetch could not go on: File too large"):
        run_fetch(session.context, batch)
    assert session.context.quarantine.read().num_rows == 0
    assert not list((tmp_path / "lake").rglob("*.tmp"))
    again = started(tmp_path / "lake", 2, source)
    outcomes = [
        row["outcome"]
        for batch in again.plan()
        for row in run_fetch(again.context, batch).read_locations(StageName.FETCH).to_pylist()
    ]
    assert outcomes == [Outcome.OK] * 3
