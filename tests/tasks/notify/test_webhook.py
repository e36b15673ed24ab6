"""The message about a run arrives, is tried again where that may help, and never says its URL or changes a verdict."""

import json
import logging
import socket
from pathlib import Path

import pytest

from schemas.names import VerdictStatus
from schemas.verdict import Blame, Finding, FindingOutcome, Verdict
from tasks.errors import ConfigurationError, RunError
from tasks.notify.settings import NotifySettings
from tasks.notify.webhook import MOST_LISTED, deliver, error_message, verdict_message, webhook_url
from tests.tasks.notify.receiver import receiver

HOOK = "CORPUSGATE_TEST_WEBHOOK"
MESSAGE = {"run_id": "20261130t021500-k3v9", "status": "fail"}


def settings(**more: object) -> NotifySettings:
    return NotifySettings.model_validate({"url_env": HOOK} | more)


def test_a_message_arrives_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(204) as told:
        monkeypatch.setenv(HOOK, told.url)
        delivery = deliver(settings(), MESSAGE)
    assert delivery is not None
    assert (delivery.delivered, delivery.attempts) == (True, 1)
    assert told.messages == [MESSAGE]


@pytest.mark.parametrize("trouble", [500, 503, 429])
def test_a_server_in_trouble_is_asked_again(monkeypatch: pytest.MonkeyPatch, trouble: int) -> None:
    with receiver(trouble, 200) as told:
        monkeypatch.setenv(HOOK, told.url)
        delivery = deliver(settings(), MESSAGE)
    assert delivery is not None
    assert (delivery.delivered, delivery.attempts) == (True, 2)
    assert told.messages == [MESSAGE, MESSAGE]


@pytest.mark.parametrize("answer", [302, 404])
def test_a_refusal_and_a_redirect_are_final(monkeypatch: pytest.MonkeyPatch, answer: int) -> None:
    with receiver(answer) as told:
        monkeypatch.setenv(HOOK, told.url)
        delivery = deliver(settings(), MESSAGE)
    assert delivery is not None
    assert (delivery.delivered, delivery.attempts, delivery.problem) == (False, 1, f"it answers {answer}")
    assert "the verdict stands" in delivery.sentence


def test_a_server_that_stays_in_trouble_is_given_up_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(500) as told:
        monkeypatch.setenv(HOOK, told.url)
        delivery = deliver(settings(limit_seconds=1.2), MESSAGE)
    assert delivery is not None
    assert not delivery.delivered
    assert 2 <= delivery.attempts == len(told.messages) <= 3
    assert delivery.problem == "it answers 500, for 1.2 s"


def test_what_is_said_of_a_server_that_is_gone_and_what_is_logged_hold_no_url(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv(HOOK, f"http://127.0.0.1:{free.getsockname()[1]}/s3cret")
        with caplog.at_level(logging.INFO):
            delivery = deliver(settings(limit_seconds=0.4), MESSAGE)
            with receiver(200) as told:
                monkeypatch.setenv(HOOK, told.url)
                assert deliver(settings(), MESSAGE) is not None
    assert delivery is not None
    assert delivery.problem == "it cannot be reached (ConnectError), for 0.4 s"
    assert "s3cret" not in delivery.sentence + caplog.text


def test_only_the_outcomes_asked_for_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(200) as told:
        monkeypatch.setenv(HOOK, told.url)
        assert deliver(settings(), MESSAGE | {"status": "pass"}) is None
        assert deliver(settings(outcomes=["pass"]), MESSAGE | {"status": "pass"}) is not None
    assert [message["status"] for message in told.messages] == ["pass"]


@pytest.mark.parametrize("url", ["", "hooks.example.org/x", "ftp://example.org/", "https://", "http://[::1"])
def test_a_variable_without_a_url_is_refused_without_saying_it(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv(HOOK, url)
    with pytest.raises(ConfigurationError, match=f"{HOOK} holds no http or https URL") as caught:
        webhook_url(settings())
    assert not url or url not in str(caught.value)
    delivery = deliver(settings(), MESSAGE)
    assert delivery is not None
    assert (delivery.delivered, delivery.attempts) == (False, 0)


def finding(outcome: FindingOutcome, slice_value: str) -> Finding:
    return Finding(
        "chars", "parse", "text_chars", "mean", "fail", outcome, "", slice_key="class", slice_value=slice_value
    )


def test_a_verdict_is_told_with_blame_and_what_blocks_and_no_message_of_a_finding() -> None:
    verdict = Verdict(
        VerdictStatus.FAIL,
        "20261130t021500-k3v9",
        None,
        "20261129t021500-aaaa",
        None,
        {},
        (
            *(finding(FindingOutcome.BROKEN, f"class{number}") for number in range(MOST_LISTED + 3)),
            finding(FindingOutcome.OK, "memo"),
        ),
        (Blame("parse", "text_chars", 0.2, ("chunk",), document_id="doc-1"), Blame("parse", "text_chars", 0.2)),
        "2026-11-30T02:15:00+00:00",
    )
    message = verdict_message(verdict, fail_on="fail", folder=Path("lake/runs/x"), promotion="not promoted")
    assert (message["status"], message["exit_code"], message["blocked_rules_total"]) == ("fail", 1, MOST_LISTED + 3)
    assert len(message["blocked_rules"]) == MOST_LISTED
    assert message["blocked_rules"][0] == {
        "rule": "chars",
        "stage": "parse",
        "metric": "text_chars",
        "where": "class class0",
        "outcome": "broken",
    }
    assert [entry["document_id"] for entry in message["blame"]] == [None, "doc-1"]
    assert message["report"] == str(Path("lake/runs/x/report.html"))
    assert json.loads(json.dumps(message)) == message


def test_a_run_without_a_verdict_is_told_with_its_exit_code() -> None:
    error = error_message(None, ConfigurationError("no such folder", remedy="make it"))
    assert error == {
        "run_id": None,
        "status": "error",
        "exit_code": 2,
        "error": "no such folder",
        "remedy": "make it",
    }
    assert error_message("20261130t021500-k3v9", RunError("it ended", remedy="again"))["exit_code"] == 3
