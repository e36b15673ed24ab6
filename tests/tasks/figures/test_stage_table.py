"""The table of a stage on a run's page, over a lake whose figures are worked out by hand."""

import json
from pathlib import Path

import pyarrow.compute as pc
import pytest

from schemas.names import StageName
from tasks.figures import stage_table as module
from tasks.figures.catalogue import load_catalogue
from tasks.figures.stage_table import stage_table
from tasks.figures.stored import make_figures
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tests.tasks.report.lake_by_hand import NEW, OLD, lake_by_hand


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The lake by hand."""
    return lake_by_hand(tmp_path_factory.mktemp("lake"))


def table(lake: Lake, run_id: str, stage: StageName = StageName.PARSE) -> list[dict[str, object]]:
    """The stage's table of a run."""
    return stage_table(lake, run_id, stage, load_catalogue())


def test_headline_and_classes_stand_beside_what_live_has(lake: Lake) -> None:
    rows = {(row["measure"], row["class"]): row for row in table(lake, NEW)}
    everything, report = rows["cer (micro)", "all"], rows["cer (micro)", "report"]
    assert everything["value"] == pytest.approx(13 / 40)
    assert everything["baseline"] == pytest.approx(1 / 30, abs=1e-6)
    assert (everything["items"], everything["missing"]) == (3, 1)
    assert (report["value"], report["baseline"], report["items"]) == (0.65, 0.1, 2)
    assert (rows["teds (macro)", "all"]["value"], rows["teds (macro)", "all"]["items"]) == (0.75, 2)
    assert ("teds (macro)", "article") not in rows


def test_a_first_run_has_no_baseline(lake: Lake) -> None:
    assert {row["baseline"] for row in table(lake, OLD)} == {None}


def test_rows_are_json_and_headlines_come_before_their_classes(lake: Lake) -> None:
    rows = table(lake, NEW)
    json.dumps(rows, allow_nan=False)
    for measure in {row["measure"] for row in rows}:
        classes = [row["class"] for row in rows if row["measure"] == measure]
        assert classes == ["all", *sorted(str(name) for name in classes if name != "all")]


def test_a_stage_without_measures_has_an_empty_table(lake: Lake) -> None:
    assert table(lake, NEW, StageName.EMBED) == []


def test_what_does_not_fit_is_counted(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = table(lake, NEW)
    monkeypatch.setattr(module, "MOST_ROWS", len(whole) - 2)
    cut = table(lake, NEW)
    assert len(cut) == len(whole) - 1
    assert cut[-1]["measure"] == f"2 more rows: corpusgate report {NEW}"
    assert [row for row in cut if row["class"] == "all"] == [row for row in whole if row["class"] == "all"]


def test_the_table_needs_no_finished_run(tmp_path: Path) -> None:
    lake = lake_by_hand(tmp_path)
    runs = Runs(lake)
    locations, plan = runs.locations(NEW), runs.plan(NEW)
    finished = table(lake, NEW)
    (lake.run(NEW) / "locations.parquet").unlink()
    here = locations.filter(pc.field("stage") == StageName.PARSE)
    make_figures(lake, NEW, StageName.PARSE, here, plan, load_catalogue())
    assert table(lake, NEW) == finished != []
