"""Collection takes nothing away that what stays rests on: forced outputs, labels of sweeps, pairs of this shingle."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from schemas.names import StageName
from tasks.dedup.compared import Compared, Shared
from tasks.errors import RunError
from tasks.figures.catalogue import load_catalogue
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.run import registry
from tasks.run.compared_pairs import keep_pairs, known_pairs
from tasks.run.configuration import Configuration, load_configuration, read_mapping
from tasks.run.context import Progress, Silent
from tasks.run.indexing import open_index
from tasks.run.options import RunOptions
from tasks.run.repair import repair
from tasks.stage import Batch, StageOutput
from tasks.sweep.axes import parse_axis
from tasks.sweep.drive import drive, source_run
from tasks.sweep.order import make_order
from tests.engine import EngineRun, run_engine
from tests.tasks.run.notes import computed, configuration, note, write_notes
from tests.tasks.sweep.corpora import near_duplicates

FEW = {
    "run": {"keep_runs": 1, "keep_generations": 1, "keep_retired_seconds": 0.0},
    "stages": {"pii": {"models": {"en": None}}},
}


def _edited_day(folder: Path, settings: Configuration, day: int) -> EngineRun:
    """A run for which another note than the ferry's was changed; the older ones are collected at its end."""
    (folder / "notes" / "dry-dock.md").write_text(note("dry dock", f"Seen again on day {day}."), encoding="utf-8")
    return run_engine(settings, measured=False)


def _ferry(run: EngineRun) -> str:
    return "".join(sorted(row["text"] for row in run.live_rows.values() if row["uri"] == "ferry.md"))


def _forced_with_other_code(
    folder: Path, *, anchored: bool, monkeypatch: pytest.MonkeyPatch
) -> tuple[Configuration, EngineRun]:
    """A lake whose stage normalize was forced while its code wrote FERRY; afterwards the code is as it was.

    So a ferry in small letters tells that an output was made again, or that the one before it came back.
    """
    write_notes(folder / "notes", 7)
    settings = configuration(folder, **FEW)
    first = run_engine(settings, measured=False)
    if anchored:
        anchor = first.session.context.run_id
        settings = settings.model_copy(update={"gate": settings.gate.model_copy(update={"anchor": anchor})})
    stage = registry.STAGES[StageName.NORMALIZE]

    def shouting(batch: Batch, *rest: Any) -> StageOutput:
        output = stage.run(batch, *rest)
        rows = [row | {"text": row["text"].replace("ferry", "FERRY")} for row in output.table.to_pylist()]
        return replace(output, table=pa.Table.from_pylist(rows, schema=output.table.schema))

    with monkeypatch.context() as patch:
        stages = dict(registry.STAGES) | {StageName.NORMALIZE: replace(stage, run=shouting)}
        patch.setattr("tasks.run.execute.STAGES", stages)
        forced = run_engine(settings, RunOptions(force=frozenset({StageName.NORMALIZE})), measured=False)
    assert "FERRY" in _ferry(forced)
    return settings, forced


@pytest.mark.parametrize("anchored", [True, False])
def test_a_forced_output_stays_when_the_run_that_forced_it_is_gone(
    anchored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, forced = _forced_with_other_code(tmp_path, anchored=anchored, monkeypatch=monkeypatch)
    for day in range(4):
        run = _edited_day(tmp_path, settings, day)
        assert computed(run) == dict.fromkeys(StageName, 1), "nothing but the note that was edited"
        assert _ferry(run) == _ferry(forced)
        run.session.context.ledger.rewrite()
    assert forced.session.context.run_id not in run.session.runs.ids()


def test_what_a_forced_output_replaced_does_not_come_back_with_the_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, forced = _forced_with_other_code(tmp_path, anchored=True, monkeypatch=monkeypatch)
    (tmp_path / "notes" / "ferry.md").write_text(note("ferry", "It is out of service."), encoding="utf-8")
    for day in range(3):
        run = _edited_day(tmp_path, settings, day)
    assert forced.session.context.run_id not in run.session.runs.ids()
    assert "FERRY" not in _ferry(run)
    write_notes(tmp_path / "notes", 7)
    back = run_engine(settings, measured=False)
    assert _ferry(back) == _ferry(forced)


def test_what_a_forced_output_replaced_does_not_come_back_when_it_is_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, forced = _forced_with_other_code(tmp_path, anchored=False, monkeypatch=monkeypatch)
    lake = forced.session.context.lake
    torn = lake.root / forced.locations["ferry.md"][StageName.NORMALIZE]["file"]
    torn.write_bytes(torn.read_bytes()[:100])
    with lake.exclusive():
        assert any(torn.name in sentence for sentence in repair(settings, lake))
    again = run_engine(settings, measured=False)
    assert again.locations["ferry.md"][StageName.NORMALIZE]["computed"]


@contextmanager
def _silent(title: str) -> Iterator[Progress]:
    yield Silent()


def test_labels_of_a_sweep_stay(tmp_path: Path) -> None:
    path = near_duplicates(tmp_path)
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    data |= {"run": FEW["run"], "stages": data["stages"] | FEW["stages"]}
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    run_engine(path)
    lake, axes = Lake(load_configuration(path).lake), [parse_axis("stages.dedup.threshold=0.7,0.9")]
    order = make_order(read_mapping(path), path, axes, ["pair_f1"], None, load_catalogue())
    with lake.exclusive():
        driven = drive(order, lake, source_run(lake, "last"), _silent)
    path.write_text(yaml.safe_dump({k: v for k, v in data.items() if k != "gold"}), encoding="utf-8")
    (lake.gold / "of-nobody.parquet").write_bytes(b"")
    for day in range(3):
        (tmp_path / "corpus" / "close-a.txt").write_text(f"Changed on day {day}.", encoding="utf-8")
        run_engine(path, measured=False)
    runs = Runs(lake)
    assert {runs.manifest(run_id).get("gold_digest") for run_id in runs.ids()} == {None}
    assert [kept.stem for kept in lake.gold.glob("*.parquet")] == [driven.gold["gold_digest"]]


def test_pairs_of_other_shingles_and_versions_go(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for size in (5, 9):
        compared = Compared()
        compared.add(b"a" * 16, b"b" * 16, Shared(size, 10, 10))
        keep_pairs(lake, size, compared)
    assert known_pairs(lake, 5).num_rows == 0
    assert known_pairs(lake, 9).column("common").to_pylist() == [9]
    (kept,) = (lake.cache / "compared").iterdir()
    (kept.parent / "of-an-older-version.parquet").write_bytes(kept.read_bytes())
    keep_pairs(lake, 9, Compared(known_pairs(lake, 9)))
    assert list(kept.parent.iterdir()) == [kept]


def test_a_retired_generation_goes_with_the_first_run_after_its_time(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 5)
    once = configuration(tmp_path, run={"keep_generations": 1, "keep_retired_seconds": 0.0})
    later = configuration(tmp_path, run={"keep_generations": 1, "keep_retired_seconds": 3600.0})
    first = run_engine(once, measured=False).session.built
    assert first is not None
    _edited_day(tmp_path, later, 1)
    index = open_index(run_engine(later, measured=False).session.context)
    assert index.open(first.generation).count() == first.rows
    run_engine(once, measured=False)  # nothing has changed, and nothing is promoted
    with pytest.raises(RunError, match="has no version"):
        index.open(first.generation)


def test_a_generation_that_is_there_has_the_records_of_its_run(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 5)
    first = configuration(tmp_path, run=FEW["run"])
    settings = configuration(tmp_path, run=FEW["run"] | {"keep_retired_seconds": 3600.0})
    run = run_engine(first, measured=False)
    for day in range(5):
        run = _edited_day(tmp_path, settings, day)
    index, runs = open_index(run.session.context), Runs(run.session.context.lake)
    went_back = 0
    while (live := index.live()) is not None and went_back < 5:
        before = index.rollback(expected=live, recorded=runs.ids())
        assert before.generation.run_id in runs.ids()
        went_back += 1
    assert went_back == 5
    assert run_engine(settings, measured=False).promotion.startswith("live")


def test_no_rollback_leads_to_a_generation_whose_records_are_gone(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 5)
    settings = configuration(tmp_path)
    first = run_engine(settings, measured=False).session.context
    live = open_index(_edited_day(tmp_path, settings, 1).session.context).live()
    assert live is not None
    (first.folder / "manifest.json").unlink()
    with pytest.raises(RunError, match=f"the records of run {first.run_id}, whose generation was live before"):
        open_index(first).rollback(expected=live, recorded=Runs(first.lake).ids())
    assert open_index(first).live() == live


def test_a_rejected_candidate_goes_with_the_run_that_made_it(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 5)
    run_engine(configuration(tmp_path))
    (tmp_path / "notes" / "ferry.md").write_text(note("ferry", "A sentence of the rejected one."), encoding="utf-8")
    rule = {"id": "keeps-nothing", "stage": "chunk", "metric": "conservation", "kind": "ceiling", "threshold": 0.0}
    run = run_engine(configuration(tmp_path, gate={"rules": [rule | {"severity": "fail"}]}))
    assert run.promotion.startswith("not promoted")
    left = [path for path in run.session.context.lake.index.rglob("*") if path.is_file()]
    assert not [path for path in left if b"A sentence of the rejected one" in path.read_bytes()]
