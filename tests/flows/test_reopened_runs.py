"""A finished run is scored with the settings that made it, and judged by the rules of now."""

import json
from pathlib import Path

import pytest
import yaml

from flows.launch import open_context
from flows.reopen import reopen
from schemas.names import StageName
from tasks.errors import ConfigurationError
from tasks.lake.layout import Lake
from tasks.run.configuration import StagesSettings, load_configuration
from tasks.run.context import Silent
from tasks.run.fetching import run_fetch
from tasks.run.session import Session


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The configuration of a lake with one run, scored as far as its scan went."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("The gate opens at 3 m.\n", encoding="utf-8")
    path = tmp_path / "corpusgate.yaml"
    _write(path, max_tokens=200)
    configuration = load_configuration(path)
    lake = Lake(configuration.lake)
    lake.create()
    session = Session(open_context(configuration, lake, Silent()))
    session.close_scan([run_fetch(session.context, batch) for batch in session.plan()])
    session.rescore(StageName.FETCH)
    return path


def _write(path: Path, *, max_tokens: int, disabled: tuple[str, ...] = ()) -> None:
    content = {
        "lake": "lake",
        "sources": [{"name": "s", "type": "files", "root": "in"}],
        "stages": {"chunk": {"max_tokens": max_tokens}, "metadata": {"latest_date": "2030-01-31"}},
        "gate": {"disabled": list(disabled)},
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")


def test_settings_are_those_of_the_run_and_rules_those_of_now(config: Path) -> None:
    before = load_configuration(config).stages
    _write(config, max_tokens=100, disabled=("cer",))
    with reopen(config, "last") as session:
        assert session.context.configuration.stages == before
        assert session.context.configuration.stages.chunk.max_tokens == 200
        assert session.context.configuration.gate.disabled == ("cer",)


def test_a_run_with_settings_that_are_gone_is_refused_with_what_to_do(config: Path) -> None:
    (manifest,) = (config.parent / "lake" / "runs").glob("*/manifest.json")
    recorded = json.loads(manifest.read_text(encoding="utf-8"))
    assert StagesSettings.model_validate(recorded["stage_settings"]) == load_configuration(config).stages
    recorded["stage_settings"]["chunk"]["of_an_older_version"] = 1
    manifest.write_text(json.dumps(recorded), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="does not know"), reopen(config, "last"):
        pass
