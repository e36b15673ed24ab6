"""A run lets the model read the passages that are new in a changed document, and no others."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.names import StageName
from tasks.figures.catalogue import load_catalogue
from tasks.lake.layout import Lake
from tasks.run.configuration import load_configuration, read_mapping
from tasks.run.context import Progress, Silent
from tasks.run.options import RunOptions
from tasks.sweep.axes import parse_axis
from tasks.sweep.drive import drive, source_run
from tasks.sweep.order import make_order
from tests.engine import run_engine
from tests.tasks.run.notes import computed, configuration, note, write_notes

NEW = "William Taylor has paid for it."


@contextmanager
def silent(title: str) -> Iterator[Progress]:
    yield Silent()


def add_a_passage(folder: Path) -> None:
    (folder / "notes" / "ferry.md").write_text(note("ferry") + f"\n{NEW}\n", encoding="utf-8")


def test_of_a_changed_document_the_new_passage_is_read(tmp_path: Path, given_to_the_model: list[str]) -> None:
    write_notes(tmp_path / "notes", 5)
    settings = configuration(tmp_path)
    run_engine(settings, measured=False)
    assert len(set(given_to_the_model)) > 15
    add_a_passage(tmp_path)
    given_to_the_model.clear()
    run = run_engine(settings, measured=False)
    assert computed(run)["pii"] == 1
    assert given_to_the_model == [NEW]
    row = run.row("ferry.md", StageName.PII)
    assert row is not None
    assert "[PERSON] has paid" in row["text"]

    (tmp_path / "fresh").mkdir()
    (tmp_path / "notes").rename(tmp_path / "fresh" / "notes")
    fresh = run_engine(configuration(tmp_path / "fresh"), measured=False).row("ferry.md", StageName.PII)
    assert fresh is not None
    assert fresh | {"document_id": ""} == row | {"document_id": ""}


def test_other_thresholds_make_all_rows_anew_and_read_nothing(tmp_path: Path, given_to_the_model: list[str]) -> None:
    write_notes(tmp_path / "notes", 5)
    run_engine(configuration(tmp_path), measured=False)
    given_to_the_model.clear()
    run = run_engine(configuration(tmp_path, stages={"pii": {"thresholds": {"PERSON": 0.9}}}), measured=False)
    assert computed(run)["pii"] == 5
    assert given_to_the_model == []


def test_a_forced_stage_reads_all(tmp_path: Path, given_to_the_model: list[str]) -> None:
    write_notes(tmp_path / "notes", 2)
    settings = configuration(tmp_path)
    run_engine(settings, measured=False)
    first = set(given_to_the_model)
    given_to_the_model.clear()
    run_engine(settings, RunOptions(force=frozenset({StageName.PII})), measured=False)
    assert set(given_to_the_model) == first


def test_without_the_earlier_text_all_of_the_document_is_read(tmp_path: Path, given_to_the_model: list[str]) -> None:
    write_notes(tmp_path / "notes", 2)
    settings = configuration(tmp_path, run={"redact_only": True})
    run_engine(settings)
    add_a_passage(tmp_path)
    given_to_the_model.clear()
    run_engine(settings)
    assert len(set(given_to_the_model)) > 4


def test_a_torn_row_of_the_earlier_version_costs_nothing_but_time(
    tmp_path: Path, given_to_the_model: list[str]
) -> None:
    write_notes(tmp_path / "notes", 2)
    settings = configuration(tmp_path)
    run_engine(settings, measured=False)
    for path in Lake(settings.lake).stage(StageName.PII).glob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-100])
    for path in (tmp_path / "notes").glob("*.md"):
        path.write_text(path.read_text(encoding="utf-8") + f"\n{NEW}\n", encoding="utf-8")
    given_to_the_model.clear()
    run = run_engine(settings, measured=False)
    assert computed(run)["pii"] == 2
    assert len(set(given_to_the_model)) > 4


def test_the_points_of_a_sweep_read_nothing_that_its_run_has_read(
    tmp_path: Path, given_to_the_model: list[str]
) -> None:
    write_notes(tmp_path / "notes", 3)
    path = tmp_path / "corpusgate.yaml"
    path.write_text("lake: lake\nsources: [{name: notes, type: files, root: notes}]\n", encoding="utf-8")
    run_engine(path)
    lake, axes = Lake(load_configuration(path).lake), [parse_axis("stages.pii.default_threshold=0.6,0.9")]
    order = make_order(read_mapping(path), path, axes, ["pii.unsupported_language"], None, load_catalogue())
    given_to_the_model.clear()
    with lake.exclusive():
        drive(order, lake, source_run(lake, "last"), silent)
    assert given_to_the_model == []
