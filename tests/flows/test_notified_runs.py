"""A run that ends without a verdict is told to the webhook too, and no answer of it changes the exit code."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.notes import write_corpus
from tests.tasks.notify.receiver import receiver

HOOK = "CORPUSGATE_TEST_HOOK"
Run = Callable[[Path, str], tuple[int, str, str]]


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A configuration with a webhook whose source is gone."""
    config = write_corpus(tmp_path, notify={"url_env": HOOK})
    shutil.rmtree(tmp_path / "documents")
    return config


@pytest.fixture
def run(command_line: Callable[[Path], Callable[..., tuple[int, str, str]]], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of a configuration with this webhook: exit code, standard output, standard error."""

    def call(config: Path, hook: str) -> tuple[int, str, str]:
        monkeypatch.setenv(HOOK, hook)
        return command_line(config.parent)("run", str(config))

    return call


def test_a_run_without_a_verdict_is_told(broken: Path, run: Run) -> None:
    with receiver(200) as told:
        code, _, err = run(broken, told.url)
    assert code == 2
    assert "the webhook was told (1 attempt)" in err
    [message] = told.messages
    assert (message["status"], message["exit_code"], message["run_id"]) == ("error", 2, None)
    assert "does not exist" in message["error"]
    assert "s3cret" not in err


def test_a_message_that_cannot_be_delivered_is_told_and_changes_nothing(broken: Path, run: Run) -> None:
    with receiver(404) as told:
        code, _, err = run(broken, told.url)
    assert code == 2
    assert "the webhook was not told (1 attempt): it answers 404" in err
    assert "does not exist" in err
    assert "s3cret" not in err


def test_a_webhook_without_its_variable_stops_the_run_before_it_begins(tmp_path: Path, run: Run) -> None:
    code, _, err = run(write_corpus(tmp_path, notify={"url_env": HOOK}), "")
    assert code == 2
    assert f"the environment variable {HOOK} holds no http or https URL" in err
    assert not list((tmp_path / "lake" / "runs").iterdir())
