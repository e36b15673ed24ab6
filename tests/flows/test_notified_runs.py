"""A run that ends without a verdict is told to the webhook too, and no answer of it changes the exit code."""

import shutil
from pathlib import Path

import pytest

from tests.flows.corpus import corpusgate
from tests.flows.notes import write_corpus
from tests.tasks.notify.receiver import receiver

HOOK = "CORPUSGATE_TEST_HOOK"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A configuration with a webhook whose source is gone."""
    config = write_corpus(tmp_path, notify={"url_env": HOOK})
    shutil.rmtree(tmp_path / "documents")
    return config


def test_a_run_without_a_verdict_is_told(broken: Path) -> None:
    with receiver(200) as told:
        done = corpusgate("run", broken, environment={HOOK: told.url})
    assert done.returncode == 2
    assert "the webhook was told (1 attempt)" in done.stderr
    [message] = told.messages
    assert (message["status"], message["exit_code"], message["run_id"]) == ("error", 2, None)
    assert "does not exist" in message["error"]
    assert "s3cret" not in done.stderr


def test_a_message_that_cannot_be_delivered_is_told_and_changes_nothing(broken: Path) -> None:
    with receiver(404) as told:
        done = corpusgate("run", broken, environment={HOOK: told.url})
    assert done.returncode == 2
    assert "the webhook was not told (1 attempt): it answers 404" in done.stderr
    assert "does not exist" in done.stderr
    assert "s3cret" not in done.stderr


def test_a_webhook_without_its_variable_stops_the_run_before_it_begins(tmp_path: Path) -> None:
    done = corpusgate("run", write_corpus(tmp_path, notify={"url_env": HOOK}), environment={HOOK: ""})
    assert done.returncode == 2
    assert f"the environment variable {HOOK} holds no http or https URL" in done.stderr
    assert not list((tmp_path / "lake" / "runs").iterdir())
