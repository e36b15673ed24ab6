"""A lake with a torn file: the cause is named, one command mends it, and the next run makes anew what was lost."""

import errno
import json
import shutil
from pathlib import Path

import pyarrow.compute as pc
import pytest

from schemas.names import StageName
from tasks.errors import RunError
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.run import upkeep
from tasks.run.doctor import examine
from tasks.run.indexing import open_index
from tasks.run.options import RunOptions
from tasks.run.repair import repair
from tests.engine import EngineRun, run_engine
from tests.texts import configured, text, write_texts


def tear(path: Path) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


def computed(run: EngineRun) -> set[tuple[str, str]]:
    locations = run.session.runs.locations(run.session.context.run_id).filter(pc.field("computed"))
    return set(zip(locations.column("stage").to_pylist(), locations.column("document_id").to_pylist(), strict=True))


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    folder = tmp_path_factory.mktemp("untouched")
    write_texts(folder / "notes", 3)
    return run_engine(configured(folder))


@pytest.fixture
def first(untouched: EngineRun, tmp_path: Path) -> EngineRun:
    """The run in a lake of its own."""
    shutil.copytree(untouched.session.context.lake.root.parent, tmp_path, dirs_exist_ok=True)
    return untouched.moved(configured(tmp_path))


def mended_and_run(first: EngineRun) -> tuple[list[str], EngineRun]:
    """Mends the lake and runs again after an edit, so that the whole way to a new candidate is gone."""
    configuration, lake = first.session.context.configuration, first.session.context.lake
    said = list(repair(configuration, lake))
    assert list(repair(configuration, lake)) == []
    notes = Path(str(configuration.sources[0].root))  # type: ignore[union-attr]
    (notes / "note-002.txt").write_text(text(50), encoding="utf-8")
    again = run_engine(configuration)
    assert again.promotion.startswith("promoted")
    assert {row["uri"] for row in again.live_rows.values()} == {f"note-00{n}.txt" for n in range(3)}
    return said, again


@pytest.mark.parametrize("stage", ["parse", "chunk"])
def test_a_torn_output_is_made_anew_and_nothing_else(first: EngineRun, stage: str) -> None:
    lake = first.session.context.lake
    where = first.locations["note-000.txt"][stage]  # type: ignore[index]
    tear(lake.root / where["file"])
    said, again = mended_and_run(first)
    assert len(said) == 1
    assert where["file"] in said[0]
    changed = {row["document_id"] for p, row in ((p, s["fetch"]) for p, s in again.locations.items()) if "002" in p}
    assert {made for made in computed(again) if made[1] not in changed} == {(stage, where["document_id"])}
    assert (lake.root / "torn" / where["file"]).exists()


def test_a_torn_packed_file_is_named_and_what_it_held_is_made_anew(
    first: EngineRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration, lake = first.session.context.configuration, first.session.context.lake
    notes = Path(str(configuration.sources[0].root))  # type: ignore[union-attr]
    (notes / "note-001.txt").write_text(text(40), encoding="utf-8")
    monkeypatch.setattr(upkeep, "_MOST_FILES", 1)
    second = run_engine(configuration, measured=False)
    upkeep.look_after(second.session.context)
    assert not [path for path in lake.stage("parse").glob("*.parquet") if not path.name.startswith("packed-")]
    (packed,) = lake.stage("parse").glob("packed-*.parquet")
    tear(packed)
    findings = [finding for finding in examine(configuration, lake, deep=True) if not finding.ok]
    assert [packed.name in finding.what for finding in findings] == [True]
    said, again = mended_and_run(second)
    assert packed.name in said[0]
    changed = again.locations["note-002.txt"]["fetch"]["document_id"]  # type: ignore[index]
    assert {stage for stage, document_id in computed(again) if document_id != changed} == {"parse"}
    assert len({document_id for stage, document_id in computed(again) if stage == "parse"}) == 3


def test_a_torn_ledger_file_is_named_and_what_it_named_is_made_anew(first: EngineRun) -> None:
    lake, id_of = first.session.context.lake, first.locations["note-000.txt"]["fetch"]["document_id"]  # type: ignore[index]
    torn = tear(next(path for path in lake.ledger.glob("*-pii-*.parquet")))
    with pytest.raises(RunError, match=torn.name) as caught:
        run_engine(first.session.context.configuration)
    assert "doctor --repair" in caught.value.remedy
    said, again = mended_and_run(first)
    assert [torn.name in sentence for sentence in said] == [True]
    assert {stage for stage, document_id in computed(again) if document_id == id_of} <= {"pii"}


def test_a_torn_live_file_is_restored_from_the_record(first: EngineRun) -> None:
    lake = first.session.context.lake
    before = (lake.index / "live.json").read_bytes()
    tear(lake.index / "live.json")
    with pytest.raises(RunError, match=r"live\.json cannot be read") as caught:
        run_engine(first.session.context.configuration)
    assert "doctor --repair" in caught.value.remedy
    (said,) = repair(first.session.context.configuration, lake)
    assert first.session.context.run_id in said
    assert json.loads((lake.index / "live.json").read_bytes()) == json.loads(before)


def test_torn_locations_are_made_anew_from_what_the_batches_recorded(first: EngineRun) -> None:
    lake, run_id = first.session.context.lake, first.session.context.run_id
    before = Runs(lake).locations(run_id)
    tear(lake.run(run_id) / "locations.parquet")
    said, _ = mended_and_run(first)
    assert [run_id in sentence for sentence in said] == [True]
    assert Runs(lake).locations(run_id) == before


def test_a_torn_plan_is_made_anew_from_the_batches_with_what_was_deleted(first: EngineRun) -> None:
    configuration, lake = first.session.context.configuration, first.session.context.lake
    notes = Path(str(configuration.sources[0].root))  # type: ignore[union-attr]
    (notes / "note-001.txt").unlink()
    second = run_engine(configuration).session.context.run_id
    before = Runs(lake).plan(second)
    assert "deleted" in before.column("cohort").to_pylist()
    tear(lake.run(second) / "plan.parquet")
    (said,) = repair(configuration, lake)
    assert "made anew from the batches" in said
    assert Runs(lake).plan(second).equals(before)
    assert list(repair(configuration, lake)) == []


def test_a_run_whose_plan_and_batches_are_torn_is_set_aside(first: EngineRun) -> None:
    configuration, lake = first.session.context.configuration, first.session.context.lake
    again = run_engine(configuration).session.context.run_id  # nothing has changed, so that it made no index
    tear(lake.run(again) / "plan.parquet")
    for path in (lake.run(again) / "batches").glob("*.parquet"):
        tear(path)
    (said,) = repair(configuration, lake)
    assert again in said
    assert Runs(lake).ids() == [first.session.context.run_id]
    assert computed(run_engine(configuration)) == set()


def torn_rows(lake: Lake, table: str) -> Path:
    """Tears the largest file of rows of an index table."""
    return tear(max((lake.index / f"{table}.lance" / "data").glob("*.lance"), key=lambda path: path.stat().st_size))


def test_a_torn_live_index_is_made_anew_from_stage_outputs(first: EngineRun) -> None:
    configuration, lake = first.session.context.configuration, first.session.context.lake
    index = open_index(first.session.context)
    live = index.live()
    assert live is not None
    rows = first.live_rows
    torn_rows(lake, live.generation.table)
    said, again = mended_and_run(first)
    assert [first.session.context.run_id in sentence for sentence in said] == [True]
    untouched = {chunk: row["text"] for chunk, row in rows.items() if row["uri"] != "note-002.txt"}
    assert untouched.items() <= {chunk: row["text"] for chunk, row in again.live_rows.items()}.items()
    assert again.found("lighthouse", 1, by="keyword")
    back = open_index(again.session.context).rollback(expected=open_index(again.session.context).live())  # type: ignore[arg-type]
    assert back.generation.run_id == live.generation.run_id
    assert back.generation.table != live.generation.table
    assert configuration.lake == lake.root


def test_a_torn_live_index_without_stage_outputs_is_rolled_back(first: EngineRun) -> None:
    configuration, lake = first.session.context.configuration, first.session.context.lake
    notes = Path(str(configuration.sources[0].root))  # type: ignore[union-attr]
    (notes / "note-001.txt").write_text(text(40), encoding="utf-8")
    second = run_engine(configuration, RunOptions(force=frozenset({StageName.INDEX})))  # a table of its own
    live = open_index(second.session.context).live()
    assert live is not None
    assert live.generation.run_id == second.session.context.run_id
    torn_rows(lake, live.generation.table)
    tear(lake.root / second.locations["note-001.txt"][StageName.EMBED]["file"])
    said = list(repair(configuration, lake))
    assert "rolled back" in said[-1]
    after = open_index(first.session.context).live()
    assert after is not None
    assert after.generation.run_id == first.session.context.run_id


def test_a_torn_index_that_is_not_live_is_given_up(first: EngineRun) -> None:
    configuration, lake = first.session.context.configuration, first.session.context.lake
    notes = Path(str(configuration.sources[0].root))  # type: ignore[union-attr]
    (notes / "note-001.txt").write_text(text(40), encoding="utf-8")
    before = open_index(first.session.context).live()
    assert before is not None
    second = run_engine(configuration, RunOptions(force=frozenset({StageName.INDEX})))
    torn_rows(lake, before.generation.table)
    (said,) = repair(configuration, lake)
    assert before.generation.run_id in said
    assert {row["uri"] for row in second.live_rows.values()} == {f"note-00{n}.txt" for n in range(3)}


def test_a_whole_lake_is_left_alone(first: EngineRun) -> None:
    lake = first.session.context.lake
    before = {path: path.stat().st_mtime_ns for path in lake.root.rglob("*") if path.is_file()}
    assert list(repair(first.session.context.configuration, lake)) == []
    assert {path: path.stat().st_mtime_ns for path in lake.root.rglob("*") if path.is_file()} == before


def test_a_lake_on_a_read_only_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(tmp_path / "lake")
    lake.create()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tasks.lake.layout.FileLock.acquire", refuse)
    with pytest.raises(RunError, match="Read-only file system"), lake.exclusive():
        pass
