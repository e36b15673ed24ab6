"""Where labels or scorers changed since live was measured, live is measured again by those of now."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from schemas.names import StageName
from tasks.figures.stored import read_stage_figures
from tasks.gold.writing import write_gold_set
from tasks.run.configuration import Configuration, parse_configuration
from tests.engine import EngineRun, run_engine

TEXT = "The sluice opens at three metres."


def configured(folder: Path) -> Configuration:
    data = {"lake": "lake", "sources": [{"name": "notes", "type": "files", "root": "in"}], "gold": ["gold"]}
    return parse_configuration(data, folder / "corpusgate.yaml")


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    """A run over one note, with a gold set beside it."""
    folder = tmp_path_factory.mktemp("untouched")
    (folder / "in").mkdir()
    (folder / "in" / "note.txt").write_text(TEXT, encoding="utf-8")
    label(folder, "1", TEXT)
    return run_engine(configured(folder))


@pytest.fixture
def configuration(untouched: EngineRun, tmp_path: Path) -> Configuration:
    """The note, the gold set and the lake of that run, in a folder of their own."""
    shutil.copytree(untouched.session.context.lake.root.parent, tmp_path, dirs_exist_ok=True)
    return configured(tmp_path)


@pytest.fixture
def first(untouched: EngineRun, configuration: Configuration) -> EngineRun:
    """That run there."""
    return untouched.moved(configuration)


def label(folder: Path, version: str, text: str, *, of: str = TEXT) -> None:
    """Writes the gold set anew with this reference text of the note, whose bytes are `of`."""
    sha = hashlib.sha256(of.encode()).hexdigest()
    row = {"document": "notes:note.txt", "content_sha": sha, "label": {"text": text}}
    write_gold_set(folder / "gold", "notes", version, {"text": [row]})


def cer(run: EngineRun, name: str) -> float:
    """The headline character error rate of a run, as it was measured under this name."""
    session = run.session
    figures = read_stage_figures(session.context.lake, name, StageName.PARSE, session.catalogue).to_pylist()
    (value,) = (f["value"] for f in figures if f["metric"] == "cer" and f["doc_class"] == f["cohort"] == f["slice_key"])
    return float(value)


def stored(run: EngineRun) -> dict[str, str]:
    """What lies in a run's folder, by path, as digests."""
    folder = run.session.context.folder
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def measured_as(run: EngineRun) -> dict[str, str]:
    """What the manifest says of baselines that were measured again."""
    manifest: dict[str, Any] = json.loads((run.session.context.folder / "manifest.json").read_text(encoding="utf-8"))
    return dict(manifest.get("measured_as", {}))


def test_other_labels_are_applied_to_live_as_well(
    configuration: Configuration, first: EngineRun, tmp_path: Path
) -> None:
    before = stored(first)
    label(tmp_path, "2", TEXT.replace("three", "seven"))
    second = run_engine(configuration)
    live = first.session.context.run_id
    name = second.session.runs.measured_as(second.session.context.run_id, live)
    assert measured_as(second) == {live: name} != {live: live}
    # "three" against "seven": four of 33 characters differ, the fourth is an e in both.
    assert cer(second, name) == pytest.approx(4 / 33) == cer(second, second.session.context.run_id)
    assert cer(first, live) == 0
    assert stored(first) == before


def test_the_same_labels_and_scorers_need_nothing(configuration: Configuration) -> None:
    second = run_engine(configuration)
    assert measured_as(second) == {}
    assert [path.name for path in second.session.context.folder.iterdir() if path.name.startswith("2")] == []


def test_a_baseline_that_cannot_be_scored_here_stays_as_it_was_measured(
    configuration: Configuration, first: EngineRun, tmp_path: Path
) -> None:
    live = first.session.context.run_id
    first.session.runs.update(live, stage_settings={"parse": {"of_another_version": True}})
    label(tmp_path, "2", TEXT.replace("three", "seven"))
    second = run_engine(configuration)
    manifest = second.session.runs.manifest(second.session.context.run_id)
    assert manifest["measured_as"] == {}
    assert manifest["not_measured_again"] == {live: "its settings are not known to this version"}
    assert second.session.runs.measured_as(second.session.context.run_id, live) == live


def test_a_document_that_changed_is_compared_by_the_labels_of_its_old_bytes(
    configuration: Configuration, first: EngineRun, tmp_path: Path
) -> None:
    (tmp_path / "in" / "note.txt").write_text(TEXT.replace("sluice", "s1u1ce"), encoding="utf-8")
    label(tmp_path, "2", TEXT, of=TEXT.replace("sluice", "s1u1ce"))
    second = run_engine(configuration)
    live = first.session.context.run_id
    name = second.session.runs.measured_as(second.session.context.run_id, live)
    assert measured_as(second) == {live: name}
    assert cer(second, name) == 0
    assert cer(second, second.session.context.run_id) == pytest.approx(2 / 33)
    guard = next(f for f in second.verdict.reasons if (f.rule, f.against) == ("cer-guard", "live"))
    assert (guard.paired, guard.unpaired) == (1, 0)
    assert guard.loss == pytest.approx(2 / 33)
