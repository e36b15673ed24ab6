"""What a source lost is deleted up to a share; more stops the run before any stage, unless it is meant or retained."""

import shutil
from pathlib import Path

import pytest

from schemas.names import VerdictStatus
from tasks.errors import ConfigurationError, RunError
from tasks.lake.runs import Runs
from tasks.report.status import read_status
from tasks.run.configuration import RunSettings
from tasks.run.options import RunOptions
from tasks.run.removals import Removal, mass_removals
from tests.engine import run_engine
from tests.tasks.run.notes import SUBJECTS, cohorts, computed, configuration, live_names, write_notes

MEANT = RunOptions(allow_mass_delete=True)


@pytest.mark.parametrize(
    ("deleted", "live", "stops"),
    [(10, 10, False), (11, 11, True), (11, 36, True), (12, 40, False), (300, 1000, False), (301, 1000, True)],
)
def test_more_than_a_share_and_more_than_a_few_stop_a_run(deleted: int, live: int, stops: bool) -> None:
    assert bool(mass_removals([Removal("s", deleted, live)], RunSettings())) == stops


def test_a_mass_deletion_stops_before_any_stage_and_goes_on_when_it_is_meant(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write_notes(notes)
    settings = configuration(tmp_path)
    first = run_engine(settings)
    assert len(live_names(first)) == len(SUBJECTS)
    for path in sorted(notes.iterdir())[:12]:
        path.unlink()
    with pytest.raises(RunError, match=r"would delete 12 of the 16 live documents of source 'notes'"):
        run_engine(settings)
    runs = Runs(first.session.context.lake)
    stopped = runs.ids()[-1]
    assert not (first.session.context.lake.run(stopped) / "progress").exists()
    assert runs.manifest(stopped).get("scan_finished_at") is None

    # By its own rules the gate would block what the run was told to let through.
    strict = settings.model_copy(update={"gate": settings.gate.model_copy(update={"disabled": ()})})
    meant = run_engine(strict, MEANT)
    assert meant.promotion.startswith("promoted")
    assert cohorts(meant) == {"unchanged": 4, "deleted": 12}
    assert len(live_names(meant)) == 4
    assert meant.session.rejudge().status is not VerdictStatus.FAIL


def test_a_source_without_a_configuration_loses_all_its_documents(tmp_path: Path) -> None:
    write_notes(tmp_path / "one", 2)
    write_notes(tmp_path / "other", 14, start=2)
    run_engine(configuration(tmp_path, "one", "other"), measured=False)
    with pytest.raises(RunError, match=r"14 of the 14 live documents of source 'other'"):
        run_engine(configuration(tmp_path, "one"))
    meant = run_engine(configuration(tmp_path, "one"), MEANT)
    assert cohorts(meant) == {"unchanged": 2, "deleted": 14}
    assert len(live_names(meant)) == 2


def test_a_listing_that_breaks_off_deletes_nothing(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes")
    settings = configuration(tmp_path)
    first = run_engine(settings, measured=False)
    shutil.rmtree(tmp_path / "notes")
    with pytest.raises(ConfigurationError) as refused:
        run_engine(settings, MEANT)
    assert "nothing was taken as deleted" in refused.value.remedy
    write_notes(tmp_path / "notes")
    again = run_engine(settings, measured=False)
    assert cohorts(again) == {"unchanged": 16}
    assert live_names(again) == live_names(first)


def test_retained_documents_stay_in_live_and_are_counted(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write_notes(notes)
    settings = configuration(tmp_path, source={"on_source_removed": "retain"})
    first = run_engine(settings, measured=False)
    names = live_names(first)
    gone = sorted(notes.iterdir())[:12]
    for path in gone:
        path.unlink()
    second = run_engine(settings)
    assert cohorts(second) == {"unchanged": 4, "retained": 12}
    assert computed(second) == {}
    assert second.promotion.startswith("nothing to promote")
    assert read_status(second.session.context.lake).runs[0].cohorts == {"unchanged": 4, "retained": 12}

    # Other settings reach them too: their bytes are in the lake.
    third = run_engine(
        configuration(
            tmp_path, source={"on_source_removed": "retain"}, stages={"chunk": {"max_tokens": 60, "min_tokens": 10}}
        )
    )
    assert third.promotion.startswith("promoted")
    assert cohorts(third) == {"unchanged": 4, "retained": 12}
    assert computed(third)["chunk"] == 16
    assert live_names(third) == names

    # One that comes back is where it was.
    write_notes(notes, 1)
    back = run_engine(settings, measured=False)
    assert cohorts(back) == {"unchanged": 5, "retained": 11}
    assert live_names(back) == names

    # Once they are not to be kept any more, the guard counts them.
    shrunk = configuration(tmp_path)
    with pytest.raises(RunError, match="11 of the 16 live documents"):
        run_engine(shrunk)
