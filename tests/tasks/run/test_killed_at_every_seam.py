"""A run killed between any two of its writes is finished by the next, with the rows of one undisturbed.

What a kill leaves is what the disk holds at that moment: one run is copied at each seam, and another goes on from each
copy. Every file of a lake is moved into place, so a seam is the COUNT-th such move to a path that fits a glob, `before`
or `after`; what LanceDB writes by itself is named by the step (its own seams: tests/tasks/index/test_killed_builds.py).
SIGKILL itself, through the command line and Prefect: tests/flows/test_runs_resume_and_reuse.py.
"""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tasks.index.store import LanceIndex
from tasks.lake.ledger import Ledger
from tasks.lake.runs import Runs
from tests.engine import EngineRun, run_engine
from tests.flows.rows import run_rows
from tests.texts import configured, write_texts

BEFORE_THE_FLIP = [
    ("runs/*/plan.parquet", "before", 1),
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
    ("runs/*/verdict.json", "after", 1),
    ("index/live.json", "before", 1),
]
AFTER_THE_FLIP = [
    ("index/live.json", "after", 1),
    ("runs/*/report.html", "before", 1),
    ("collect", "before", 1),
    ("collect", "after", 1),
]
SEAMS = [*BEFORE_THE_FLIP, *AFTER_THE_FLIP]


@dataclass(frozen=True)
class Undisturbed:
    """A run that nothing disturbed, its rows, and the folder of the copies made at its seams."""

    run: EngineRun
    rows: dict[str, list[dict[str, Any]]]
    copies: Path


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder, copies = tmp_path_factory.mktemp("undisturbed"), tmp_path_factory.mktemp("copies")
    write_texts(folder / "notes", 3)
    seen: Counter[tuple[str, str]] = Counter()

    def pass_by(when: str, fits: Callable[[str], bool]) -> None:
        for number, (seam, at, count) in enumerate(SEAMS):
            if at == when and fits(seam):
                seen[seam, at] += 1
                if seen[seam, at] == count:
                    shutil.copytree(folder, copies / str(number))

    def copied(step: Callable[..., Any], fits: Callable[..., Callable[[str], bool]]) -> Callable[..., Any]:
        def stepped(*arguments: Any, **named: Any) -> Any:
            pass_by("before", fits(*arguments))
            made = step(*arguments, **named)
            pass_by("after", fits(*arguments))
            return made

        return stepped

    def moved(_: Path, target: Path) -> Callable[[str], bool]:
        name = target.relative_to(folder / "lake").as_posix() if target.is_relative_to(folder / "lake") else ""
        return lambda seam: fnmatch(name, seam)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "replace", copied(Path.replace, moved))
        for step in ("build", "collect"):
            patched.setattr(LanceIndex, step, copied(getattr(LanceIndex, step), lambda *_, name=step: name.__eq__))
        run = run_engine(configured(folder))
    return Undisturbed(run, run_rows(run.session.context.lake, run.session.context.run_id), copies)


def gone_on(undisturbed: Undisturbed, folder: Path, *, flipped: bool, seam: tuple[str, str, int]) -> EngineRun:
    """The run after one that was killed at a seam."""
    shutil.copytree(undisturbed.copies / str(SEAMS.index(seam)), folder, dirs_exist_ok=True)
    assert (folder / "lake" / "index" / "live.json").exists() == flipped
    return run_engine(configured(folder))


def counted_twice(run: EngineRun) -> list[dict[str, Any]]:
    query = "SELECT kind, stage, document_id, count(*) AS n FROM ledger GROUP BY ALL HAVING n > 1"
    return list(Ledger(run.session.context.lake.ledger).select(query).to_pylist())


def states(run: EngineRun) -> list[str]:
    runs = Runs(run.session.context.lake)
    return [runs.manifest(run_id)["status"] for run_id in runs.ids()]


@pytest.mark.parametrize("seam", BEFORE_THE_FLIP, ids=lambda seam: "-".join(map(str, seam)))
def test_killed_before_the_flip(tmp_path: Path, undisturbed: Undisturbed, seam: tuple[str, str, int]) -> None:
    run = gone_on(undisturbed, tmp_path, flipped=False, seam=seam)
    found, rows = run_rows(run.session.context.lake, run.session.context.run_id), undisturbed.rows
    assert {part: found[part] == rows[part] for part in rows} == dict.fromkeys(rows, True)
    assert run.live_rows == undisturbed.run.live_rows
    assert counted_twice(run) == []
    assert states(run) == ["killed", "finished"]


@pytest.mark.parametrize("seam", AFTER_THE_FLIP, ids=lambda seam: "-".join(map(str, seam)))
def test_killed_after_the_flip(tmp_path: Path, undisturbed: Undisturbed, seam: tuple[str, str, int]) -> None:
    run = gone_on(undisturbed, tmp_path, flipped=True, seam=seam)
    found, rows = run_rows(run.session.context.lake, run.session.context.run_id), undisturbed.rows
    # Figures of the index are told against live, which is there by now.
    parts = [part for part in rows if not part.startswith("measures")]
    assert {part: found[part] == rows[part] for part in parts} == dict.fromkeys(parts, True)
    assert run.promotion == "nothing to promote: live already holds exactly these documents"
    assert run.live_rows == undisturbed.run.live_rows
    assert counted_twice(run) == []
    # The index is collected when the run is over.
    assert states(run) == ["finished" if seam[0] == "collect" else "killed", "finished"]
    first = Runs(run.session.context.lake).ids()[0]
    assert Runs(run.session.context.lake).manifest(first)["promoted_at"]
