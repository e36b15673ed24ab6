"""A run killed with SIGKILL between any two of its writes is finished by the next, with the rows of one undisturbed.

A seam for each kind of write, in the order of a run. LanceDB's own writes have more (tests/tasks/index/
test_killed_builds.py); through the command line and Prefect: tests/flows/test_runs_resume_and_reuse.py.
"""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tasks.lake.ledger import Ledger
from tasks.lake.runs import Runs
from tests.engine import EngineRun, run_engine
from tests.flows.rows import run_rows
from tests.texts import configured, write_texts

KILLER = Path(__file__).with_name("killed_at_a_seam.py")

BEFORE_THE_FLIP = [
    ("runs/*/plan.parquet", "before", 1),
    ("raw/*/*", "before", 2),
    ("raw/*/*", "after", 2),
    ("stages/parse/*", "after", 2),
    ("ledger/*-parse-*", "after", 2),
    ("runs/*/progress/parse/*", "after", 2),
    ("runs/*/plan.parquet", "after", 2),
    ("stages/signature/*", "after", 2),
    ("ledger/*-signature-*", "after", 3),
    ("stages/dedup/*", "after", 2),
    ("ledger/*-dedup-*", "after", 2),
    ("stages/embed/*", "after", 2),
    ("build", "after", 1),
    ("measures/chunk/*", "after", 1),
    ("runs/*/facts/index.parquet", "after", 1),
    ("runs/*/locations.parquet", "after", 1),
    ("runs/*/verdict.json", "before", 1),
    ("runs/*/verdict.json", "after", 1),
    ("index/live.json", "before", 1),
]
AFTER_THE_FLIP = [
    ("index/live.json", "after", 1),
    ("collect", "before", 1),
    ("collect", "after", 1),
    ("runs/*/report.html", "before", 1),
]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[EngineRun, dict[str, list[dict[str, Any]]]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    write_texts(folder / "notes", 3)
    run = run_engine(configured(folder))
    return run, run_rows(run.session.context.lake, run.session.context.run_id)


def killed(folder: Path, seam: str, when: str, count: int) -> None:
    write_texts(folder / "notes", 3)
    arguments = [sys.executable, str(KILLER), str(folder), seam, when, str(count)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def counted_twice(run: EngineRun) -> list[dict[str, Any]]:
    query = "SELECT kind, stage, document_id, count(*) AS n FROM ledger GROUP BY ALL HAVING n > 1"
    return list(Ledger(run.session.context.lake.ledger).select(query).to_pylist())


def states(run: EngineRun) -> list[str]:
    runs = Runs(run.session.context.lake)
    return [runs.manifest(run_id)["status"] for run_id in runs.ids()]


@pytest.mark.parametrize(("seam", "when", "count"), BEFORE_THE_FLIP)
def test_killed_before_the_flip(
    tmp_path: Path, undisturbed: tuple[EngineRun, dict[str, Any]], seam: str, when: str, count: int
) -> None:
    killed(tmp_path, seam, when, count)
    assert not (tmp_path / "lake" / "index" / "live.json").exists()
    run = run_engine(configured(tmp_path))
    expected, rows = undisturbed
    found = run_rows(run.session.context.lake, run.session.context.run_id)
    assert {part: found[part] == rows[part] for part in rows} == dict.fromkeys(rows, True)
    assert run.live_rows == expected.live_rows
    assert counted_twice(run) == []
    assert states(run) == ["killed", "finished"]


@pytest.mark.parametrize(("seam", "when", "count"), AFTER_THE_FLIP)
def test_killed_after_the_flip(
    tmp_path: Path, undisturbed: tuple[EngineRun, dict[str, Any]], seam: str, when: str, count: int
) -> None:
    killed(tmp_path, seam, when, count)
    run = run_engine(configured(tmp_path))
    expected, rows = undisturbed
    found = run_rows(run.session.context.lake, run.session.context.run_id)
    # Figures of the index are told against live, which is there by now.
    parts = [part for part in rows if not part.startswith("measures")]
    assert {part: found[part] == rows[part] for part in parts} == dict.fromkeys(parts, True)
    assert run.promotion == "nothing to promote: live already holds exactly these documents"
    assert run.live_rows == expected.live_rows
    assert counted_twice(run) == []
    assert states(run) == ["killed", "finished"]
    first = Runs(run.session.context.lake).ids()[0]
    assert Runs(run.session.context.lake).manifest(first)["promoted_at"]
