"""After a promotion, how long new content waited until it was live stands among the run's facts."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.measures import MEASURES
from schemas.names import StageName
from tasks.figures.stored import read_stage_figures
from tasks.lake.files import read_table
from tasks.run.configuration import parse_configuration
from tests.engine import EngineRun, run_engine

METRIC = "freshness_lag_actual_seconds"
COMMITTED = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def second_run(tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    """A run over one old and one new note, after a first over the old one."""
    folder = tmp_path_factory.mktemp("swap")
    (folder / "in").mkdir()
    data = {"lake": "lake", "sources": [{"name": "notes", "type": "files", "root": "in"}]}
    configuration = parse_configuration(data, folder / "corpusgate.yaml")
    for name, text in (
        ("old.txt", "The sluice opens at a level of three metres."),
        ("new.txt", "Keys hang in bay 31."),
    ):
        _write(folder / "in" / name, text)
        run = run_engine(configuration, measured=name == "new.txt")
    assert run.promotion.startswith("promoted"), run.promotion
    return run


def _write(path: Path, text: str) -> None:
    path.write_text(f"{text}\n", encoding="utf-8")
    os.utime(path, (COMMITTED.timestamp(), COMMITTED.timestamp()))


def lags(run: EngineRun) -> list[dict[str, Any]]:
    """The rows of the measure in the stored facts."""
    rows = read_table(run.session.context.folder / "facts" / "index.parquet", MEASURES).to_pylist()
    return [row for row in rows if row["metric"] == METRIC]


def test_new_content_has_waited_from_its_commit_to_the_flip(second_run: EngineRun) -> None:
    (row,) = lags(second_run)
    manifest = second_run.session.runs.manifest(second_run.session.context.run_id)
    flipped = datetime.fromisoformat(manifest["promoted_at"])
    assert row["document_id"] == second_run.locations["new.txt"][StageName.INDEX]["document_id"]
    assert (row["status"], row["value"]) == ("ok", (flipped - COMMITTED).total_seconds())
    assert row["stage_key"] == second_run.locations["new.txt"][StageName.INDEX]["stage_key"]
    session = second_run.session
    figures = read_stage_figures(session.context.lake, session.context.run_id, StageName.INDEX, session.catalogue)
    (p99,) = (
        figure["value"]
        for figure in figures.to_pylist()
        if (figure["metric"], figure["aggregation"]) == (METRIC, "p99") and figure["doc_class"] == figure["cohort"]
    )
    assert p99 == row["value"]


def test_scoring_again_keeps_it(second_run: EngineRun) -> None:
    facts = second_run.session.context.folder / "facts" / "index.parquet"
    before = facts.read_bytes()
    second_run.session.rescore(StageName.INDEX)
    assert facts.read_bytes() == before
