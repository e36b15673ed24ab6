"""Siblings of the cases in which something fails between two states of a source: nothing is lost, nothing stays."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.names import StageName
from tasks.errors import ConfigurationError
from tasks.fetch import listing
from tasks.fetch.listed import Skips, cannot_list
from tasks.run import registry
from tasks.run.configuration import Configuration, parse_configuration
from tasks.stage import Batch, Failure, StageOutput
from tests.engine import EngineRun, run_engine

SHORTER = Path(__file__).parent / "01-shorter-new-version"
IDENTICAL = Path(__file__).parent / "02-identical-bytes-delete-one"


def configuration(folder: Path, **gate: Any) -> Configuration:
    data = {"lake": "lake", "sources": [{"name": "case", "type": "files", "root": "corpus"}], "gate": gate}
    return parse_configuration(data, folder / "corpusgate.yaml")


def put(state: Path, folder: Path) -> None:
    """The source is now in this state."""
    shutil.rmtree(folder / "corpus", ignore_errors=True)
    shutil.copytree(state, folder / "corpus")


def live_text(run: EngineRun) -> str:
    return " ".join(" ".join(row["text"].split()) for row in run.live_rows.values())


def test_an_update_whose_embedding_fails_once_leaves_the_old_version_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(SHORTER / "state-1", tmp_path)
    settings = configuration(tmp_path)
    before = run_engine(settings)
    assert "draws 260 watts" in live_text(before)

    stage = registry.STAGES[StageName.EMBED]

    def failing(batch: Batch, *_: Any) -> StageOutput:
        ids = batch.documents.column("document_id").to_pylist()
        failures = tuple(Failure(i, "no_embedding", "the model gave no vector", "run again", True) for i in ids)
        return StageOutput(stage.writes.empty_table(), failures)

    put(SHORTER / "state-2", tmp_path)
    with monkeypatch.context() as once:
        once.setattr("tasks.run.execute.STAGES", dict(registry.STAGES) | {StageName.EMBED: replace(stage, run=failing)})
        failed = run_engine(settings)
    assert failed.outcome("pump-handbook.md") == ("quarantined", StageName.EMBED)
    assert failed.promotion.startswith("not promoted")
    assert live_text(failed) == live_text(before)

    after = run_engine(settings)
    assert after.promotion.startswith("promoted")
    for gone in ("14 millimetres", "draws 260 watts", "7.1 millimetres", "QX-5518"):
        assert gone not in live_text(after)
    assert "9 millimetres" in live_text(after)


def test_an_interrupted_listing_deletes_neither_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(IDENTICAL / "state-1", tmp_path)
    settings = configuration(tmp_path, disabled=["live-kept"])
    before = run_engine(settings, measured=False)
    whole = listing.list_files

    def breaking_off(source: Any, skips: Skips) -> Iterator[Any]:
        yield next(whole(source, skips))
        raise cannot_list(source.name, "the connection was reset", "try again")

    with monkeypatch.context() as once:
        once.setattr(listing, "list_files", breaking_off)
        with pytest.raises(ConfigurationError, match="the connection was reset"):
            run_engine(settings)
    assert live_text(run_engine(settings, measured=False)) == live_text(before)

    # And the listing after it finds what is really gone.
    put(IDENTICAL / "state-3", tmp_path)
    after = run_engine(settings)
    assert "beneath the water tower" not in live_text(after)
    assert "bay 31" in live_text(after)
