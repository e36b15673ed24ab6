"""Many small daily runs leave a small lake, in which every kept run reads as it did, and nothing is computed again."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from flows.cli.app import app
from flows.launch import open_context
from schemas.names import StageName
from schemas.stages import STAGE_OUTPUTS
from tasks.errors import RunError
from tasks.figures.catalogue import load_catalogue
from tasks.figures.figures import run_figures
from tasks.figures.stored import read_figures
from tasks.gate.rules import default_rules
from tasks.index.store import LanceIndex
from tasks.lake import ledger
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.packed import read_stored
from tasks.lake.quarantine import Quarantine
from tasks.lake.runs import Runs
from tasks.lake.views import connect_run
from tasks.report.trace import read_trace
from tasks.run import upkeep
from tasks.run.configuration import load_configuration
from tasks.run.context import RunContext, Silent
from tasks.run.doctor import examine
from tasks.run.upkeep import look_after
from tests.benchmarks.reingestion import build_texts, change
from tests.engine import EngineRun, run_engine

pytestmark = pytest.mark.xdist_group("aged")
"""One worker lets the lake age, and all tests look at that one."""

DAYS = 9
KEPT = 3
STRIDE = 2
"""Changes of the disk between two places at which the upkeep is killed."""


_SUMS: dict[str, Any] = {"check_exact": False, "rel_tol": 1e-12, "abs_tol": 1e-12}
"""The same numbers, added in another order."""


class Killed(BaseException):
    """In the place of a signal: nothing may catch it."""


@pytest.fixture(scope="module", autouse=True)
def few_files() -> Iterator[None]:
    """The bounds as if for a lake of a few documents."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upkeep, "_MOST_FILES", 3)
        patch.setattr(ledger, "_COMPACT_OVER", 6)
        yield


@dataclass(frozen=True)
class Aged:
    """A lake after many days, and the number of its files after each."""

    configuration: Path
    files: list[int]
    last: EngineRun

    @property
    def lake(self) -> Lake:
        return self.last.session.context.lake


@pytest.fixture(scope="module")
def aged(tmp_path_factory: pytest.TempPathFactory) -> Aged:
    folder = tmp_path_factory.mktemp("daily")
    configuration = build_texts(folder, 6)
    settings = json.loads(configuration.read_text())
    settings["run"] = {"keep_runs": KEPT, "keep_generations": 2, "keep_retired_seconds": 0}
    settings["stages"] = {"pii": {"models": {"en": None}}}
    # What is judged is no matter here: the rules of the index alone, for the sake of time.
    settings["gate"] = {"disabled": [rule.id for rule in default_rules() if rule.stage is not StageName.INDEX]}
    configuration.write_text(json.dumps(settings))
    counts = []
    for day in range(DAYS):
        last = run_engine(configuration)
        assert last.promotion.startswith("promoted"), last.verdict.reasons
        counts.append(_files(folder / "lake"))
        _edit(folder, day)
    return Aged(configuration, counts, last)


def _edit(folder: Path, day: int) -> None:
    """One or two documents get another paragraph; every other day one comes, every fifth day one goes."""
    notes = folder / "texts" / "000"
    change(folder, 1 + day % 2, seed=day)
    if day % 2:
        (notes / f"note-1{day:04d}.md").write_text(f"# Another note\n\nThe harbour of day {day} is {'long ' * day}.\n")
    if day % 5 == 4:
        min(notes.glob("*.md")).unlink()


def _files(lake: Path) -> int:
    return sum(path.is_file() for path in lake.rglob("*"))


def _figures(lake: Lake, run_id: str) -> pl.DataFrame:
    """A run's figures but those of the clock and of memory, which no two runs share."""
    catalogue = load_catalogue()
    own = [metric.id for metric in catalogue.metrics if metric.unit in ("seconds", "bytes")]
    figures = pl.DataFrame(read_figures(lake, run_id, catalogue))
    return _sorted(figures.filter(~pl.col("metric").is_in(own)))


def _sorted(figures: pl.DataFrame) -> pl.DataFrame:
    return figures.sort("stage", "metric", "aggregation", "doc_class", "cohort", "slice_key", "slice_value")


def test_the_number_of_files_is_bounded(aged: Aged) -> None:
    second_half = aged.files[DAYS // 2 :]
    assert max(second_half) - min(second_half) < 0.5 * min(second_half), aged.files
    for part in ("stages", "measures"):
        for folder in (aged.lake.root / part).iterdir():
            assert len(list(folder.glob("*.parquet"))) <= 2 * 3 + 2, folder
    assert len(list(aged.lake.ledger.glob("*.parquet"))) < 60
    assert any(aged.lake.root.glob("stages/*/packed-*.parquet"))
    assert any(aged.lake.root.glob("measures/*/packed-*.parquet"))


def test_every_kept_run_reads_as_it_did(aged: Aged) -> None:
    runs, catalogue = Runs(aged.lake), load_catalogue()
    assert KEPT <= len(runs.ids()) <= KEPT + 3
    for run_id in runs.ids():
        made = pl.DataFrame(read_figures(aged.lake, run_id, catalogue))
        with connect_run(aged.lake, run_id) as connection:
            again = pl.DataFrame(run_figures(connection, catalogue))
        assert_frame_equal(_sorted(again), _sorted(made), **_SUMS)
        for row in runs.plan(run_id).filter(pc.field("cohort") != "deleted").to_pylist()[:3]:
            trace = read_trace(aged.lake, run_id, row["uri"], catalogue)
            assert [stage["outcome"] for stage in trace.stages][:6] == ["ok"] * 6


def test_the_rows_of_every_kept_run_are_there(aged: Aged) -> None:
    runs = Runs(aged.lake)
    for run_id in runs.ids():
        for row in runs.locations(run_id).to_pylist():
            if row["file"] is not None:
                schema = STAGE_OUTPUTS[StageName(row["stage"])]
                assert read_stored(aged.lake, row["file"], schema, document_ids=[row["document_id"]]).num_rows == 1
        for sha in set(runs.plan(run_id).column("content_sha").to_pylist()) - {None}:
            assert (aged.lake.raw / sha[:2] / sha).is_file()


def test_what_no_kept_run_refers_to_is_gone(aged: Aged) -> None:
    runs = Runs(aged.lake)
    named = {sha for run_id in runs.ids() for sha in runs.plan(run_id).column("content_sha").to_pylist()}
    assert {path.name for path in aged.lake.raw.glob("??/*")} <= named
    assert len({path.parent.name for path in aged.lake.runs.glob("*/plan.parquet")}) == len(runs.ids())
    states = list(examine(load_configuration(aged.configuration), aged.lake, deep=True))
    assert all(finding.ok for finding in states), states


def test_a_lake_that_was_looked_after_is_measured_as_a_new_one(aged: Aged, tmp_path: Path) -> None:
    """Both twice, so that no document is new or changed against what is live."""
    copy = _copied(aged, tmp_path / "old")
    shutil.rmtree(tmp_path / "old" / "lake")
    run_engine(copy)
    fresh = run_engine(copy)
    old = _copied(aged, tmp_path / "aged")
    run_engine(old)
    again = run_engine(old)
    assert {place["computed"] for of in again.locations.values() for place in of.values()} == {False}
    one, other = (_figures(run.session.context.lake, run.session.context.run_id) for run in (fresh, again))
    assert_frame_equal(one, other, **_SUMS)
    assert sorted(row["text"] for row in fresh.live_rows.values()) == sorted(
        row["text"] for row in again.live_rows.values()
    )


def test_a_document_is_erased_from_packed_files_and_all_else_reads_as_it_did(aged: Aged, tmp_path: Path) -> None:
    configuration = _copied(aged, tmp_path / "erased")
    lake, runs, catalogue = Lake(tmp_path / "erased" / "lake"), Runs(aged.lake), load_catalogue()
    gone = sorted(aged.last.live_rows.values(), key=lambda row: row["uri"])[0]["document_id"]
    command = ["erase", gone, "--yes", "--config", str(configuration)]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    for path in [*lake.root.glob("stages/*/*.parquet"), *lake.root.glob("measures/*/*.parquet")]:
        assert gone not in pq.read_table(path, columns=["document_id"]).column("document_id").to_pylist()
    for run_id in runs.ids():
        read_figures(lake, run_id, catalogue)
        for row in Runs(lake).locations(run_id).filter(pc.field("file").is_valid()).to_pylist():
            schema = STAGE_OUTPUTS[StageName(row["stage"])]
            assert read_stored(lake, row["file"], schema, document_ids=[row["document_id"]]).num_rows == 1
    assert all(finding.ok for finding in examine(load_configuration(configuration), lake, deep=True))
    again = run_engine(configuration)
    unchanged = [of for of in again.locations.values() if not of[StageName.FETCH]["computed"]]
    assert {place["computed"] for of in unchanged for place in of.values()} == {False}


def test_a_torn_file_of_a_kept_run_is_named_and_leaves_the_newest_run_whole(aged: Aged, tmp_path: Path) -> None:
    configuration = _copied(aged, tmp_path / "torn")
    lake = Lake(tmp_path / "torn" / "lake")
    torn = lake.run(Runs(lake).ids()[-2]) / "locations.parquet"
    torn.write_bytes(torn.read_bytes()[:100])
    settings = load_configuration(configuration)
    settings = settings.model_copy(update={"run": settings.run.model_copy(update={"keep_runs": 2})})
    context = RunContext(Runs(lake).ids()[-1], settings, lake, Ledger(lake.ledger), Quarantine(lake.quarantine))
    with pytest.raises(RunError, match="a file that a kept run names its rows in cannot be read") as caught:
        look_after(context)
    assert "doctor --repair" in caught.value.remedy


def test_a_rollback_leads_to_a_generation_that_is_kept(aged: Aged, tmp_path: Path) -> None:
    configuration = load_configuration(_copied(aged, tmp_path / "rolled"))
    index = LanceIndex(configuration.lake / "index", configuration.stages.index)
    live = index.live()
    assert live is not None
    back = index.rollback(expected=live)
    assert back.generation.run_id in Runs(Lake(configuration.lake)).ids()
    view = index.open_live()
    assert view is not None
    assert sum(part.num_rows for part in view.rows(["chunk_id"])) > 0
    assert run_engine(configuration).verdict.baseline == back.generation.run_id


def test_killed_between_any_two_steps_leaves_a_lake_that_the_next_run_mends(
    aged: Aged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    due, run_id = _with_all_upkeep_due(aged, tmp_path / "due")
    steps = 0
    while True:
        shutil.copytree(due, tmp_path / f"killed-{steps}")
        context = _opened(tmp_path / f"killed-{steps}" / aged.configuration.name, run_id)
        with monkeypatch.context() as patch:
            _kill_after(steps, patch)
            try:
                look_after(context)
                break
            except Killed:
                pass
        # What reads a lake meanwhile finds every row of the kept runs.
        kept = upkeep.kept_runs(context)
        for run_id in sorted(kept):
            with connect_run(context.lake, run_id) as connection:
                ((rows,),) = connection.sql("SELECT count(*) FROM parse").fetchall()
                assert rows == Runs(context.lake).locations(run_id).filter(pc.field("stage") == "parse").num_rows
        context = replace(context, ledger=Ledger(context.lake.ledger))
        look_after(context)
        look_after(context)
        assert set(Runs(context.lake).ids()) == kept
        assert list(context.lake.root.rglob("*.tmp")) == []
        if steps == 2 * STRIDE:
            run = run_engine(context.configuration)
            unchanged = [of for of in run.locations.values() if not of[StageName.FETCH]["computed"]]
            assert {place["computed"] for of in unchanged for place in of.values()} == {False}
        shutil.rmtree(tmp_path / f"killed-{steps}")
        steps += STRIDE
    assert steps >= 4 * STRIDE


def _with_all_upkeep_due(aged: Aged, folder: Path) -> tuple[Path, str]:
    """The aged lake with all of its upkeep still to be done, since one run less is kept; and the id of its last run."""
    configuration = _copied(aged, folder)
    settings = json.loads(configuration.read_text())
    settings["run"]["keep_runs"] = 1
    configuration.write_text(json.dumps(settings))
    shutil.rmtree(open_context(load_configuration(configuration), Lake(folder / "lake"), Silent()).folder)
    return folder, Runs(Lake(folder / "lake")).ids()[-1]


def _opened(configuration: Path, run_id: str) -> RunContext:
    """A lake as whoever holds it sees it, when this run has come to its end."""
    settings = load_configuration(configuration)
    lake = Lake(settings.lake)
    return RunContext(run_id, settings, lake, Ledger(lake.ledger), Quarantine(lake.quarantine))


def _kill_after(steps: int, patch: pytest.MonkeyPatch) -> None:
    """Ends the process, as it were, in the place of the next change of the disk after so many of them."""
    left = [steps]

    def counted(change: Callable[..., Any]) -> Callable[..., Any]:
        def changing(*arguments: Any, **named: Any) -> Any:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return change(*arguments, **named)

        return changing

    for name in ("unlink", "replace", "rmdir"):
        patch.setattr(Path, name, counted(getattr(Path, name)))
    patch.setattr(shutil, "rmtree", counted(shutil.rmtree))


def _copied(aged: Aged, folder: Path) -> Path:
    shutil.copytree(aged.configuration.parent, folder)
    return folder / aged.configuration.name
