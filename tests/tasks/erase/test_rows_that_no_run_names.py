"""A document is erased whose runs were collected, as long as a row of it is left in a file that holds others' too."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from flows.cli.app import app
from tasks.errors import ConfigurationError
from tests.engine import run_engine
from tests.tasks.erase.marked_corpus import places_of
from tests.tasks.run.notes import note, write_notes

WORD = "qzvexium"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A lake whose only kept run never saw the note with the word, and whose files still hold it."""
    path = tmp_path / "corpusgate.yaml"
    settings = {
        "lake": "lake",
        "sources": [{"name": "notes", "type": "files", "root": "notes"}],
        "run": {"keep_runs": 1, "keep_generations": 1, "keep_retired_seconds": 0},
        "stages": {"pii": {"models": {"en": None}}},
    }
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    write_notes(tmp_path / "notes")
    secret = tmp_path / "notes" / "secret.md"
    secret.write_text(note("secret passage", f"Nobody but {WORD} may know of it."), encoding="utf-8")
    run_engine(path, measured=False)
    secret.unlink()
    for day in range(3):
        (tmp_path / "notes" / "ferry.md").write_text(note("ferry", f"Seen on day {day}."), encoding="utf-8")
        run_engine(path, measured=False)
    left = {Path(file).parts[0] for _, file in places_of(tmp_path / "lake", (WORD,)) if "@" not in file}
    assert left == {"index", "stages"}
    return path


def erase(configuration: Path, name: str) -> str:
    done = CliRunner().invoke(app, ["erase", name, "--yes", "--json", "--config", str(configuration)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_is_erased_by_its_path_and_then_by_its_id_is_known_as_erased(corpus: Path) -> None:
    told = json.loads(erase(corpus, "secret.md"))["erased"]
    assert len(told) == 1
    assert places_of(corpus.parent / "lake", (WORD,)) == set()
    assert len(run_engine(corpus, measured=False).locations) == 16


def test_what_stands_nowhere_is_not_found(corpus: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no document .* matches 'nothing.md'"):
        erase(corpus, "nothing.md")
