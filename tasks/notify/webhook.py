"""The message to a webhook when a run is over: what it says, and its delivery with retries and a time limit."""

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from schemas.verdict import FailOn, Verdict
from tasks.counted import counted
from tasks.errors import ConfigurationError, CorpusgateError
from tasks.notify.settings import NotifySettings

FIRST_PAUSE_SECONDS = 0.5
ATTEMPT_SECONDS = 10.0
MOST_LISTED = 50
"""How many entries a list of the message holds at most; `…_total` says how many there are."""

_AGAIN = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a message. `problem` says why it was not delivered; it never holds the URL, which is a secret."""

    delivered: bool
    attempts: int
    problem: str = ""

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        tries = counted(self.attempts, "attempt")
        if self.delivered:
            return f"the webhook was told ({tries})"
        return f"the webhook was not told ({tries}): {self.problem}; the verdict stands"


def webhook_url(settings: NotifySettings) -> str:
    """The URL from its environment variable.

    Raises:
        ConfigurationError: the variable is not set, or holds no http or https URL.
    """
    url = os.environ.get(settings.url_env, "").strip()
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and url.isprintable()
    except ValueError:
        sound = False
    if not sound:
        raise ConfigurationError(
            f"the environment variable {settings.url_env} holds no http or https URL for the webhook",
            remedy=f"set it: export {settings.url_env}=https://…, or take `notify` out of the configuration",
        )
    return url


def verdict_message(verdict: Verdict, *, fail_on: FailOn, folder: Path, promotion: str) -> dict[str, Any]:
    """What is told of a run that was judged. Documents are named by their opaque ids alone."""
    blocking = [finding for finding in verdict.reasons if finding.blocks]
    blame = sorted(verdict.blame, key=lambda b: (b.document_id is not None, b.doc_class is not None))
    return {
        "run_id": verdict.run_id,
        "status": verdict.status.value,
        "exit_code": verdict.exit_code(fail_on),
        "promotion": promotion,
        "baseline": verdict.baseline,
        "verdict_digest": verdict.digest,
        "blocked_rules": [
            {"rule": f.rule, "stage": f.stage, "metric": f.metric, "where": f.where, "outcome": f.outcome.value}
            for f in blocking[:MOST_LISTED]
        ],
        "blocked_rules_total": len(blocking),
        "blame": [
            {
                "stage": b.stage,
                "metric": b.metric,
                "class": b.doc_class,
                "document_id": b.document_id,
                "consequences": list(b.consequences),
            }
            for b in blame[:MOST_LISTED]
        ],
        "blame_total": len(blame),
        "report": str(folder / "report.html"),
    }


def error_message(run_id: str | None, error: CorpusgateError) -> dict[str, Any]:
    """What is told of a run that ended without a verdict; `run_id` is null where it had not begun."""
    exit_code = 2 if isinstance(error, ConfigurationError) else 3
    return {
        "run_id": run_id,
        "status": "error",
        "exit_code": exit_code,
        "error": str(error),
        "remedy": error.remedy,
    }


def deliver(settings: NotifySettings, message: Mapping[str, Any]) -> Delivery | None:
    """Posts a message if the settings ask for its status; null where they do not.

    Answers of 5xx, 408, 425 and 429 and a server that cannot be reached are tried again, with pauses that double, for
    as long as `limit_seconds` allows. Any other answer than 2xx is final; redirects are not followed. Raises nothing:
    a delivery must not change a verdict.
    """
    if message["status"] not in settings.outcomes:
        return None
    try:
        url = webhook_url(settings)
    except ConfigurationError as error:
        return Delivery(False, 0, str(error))
    import httpx

    logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO it logs every URL, and this one is a secret
    deadline, attempts, pause, problem = time.monotonic() + settings.limit_seconds, 0, FIRST_PAUSE_SECONDS, ""
    with httpx.Client() as client:
        while (left := deadline - time.monotonic()) > 0:
            attempts += 1
            try:
                status = client.post(url, json=dict(message), timeout=min(ATTEMPT_SECONDS, left)).status_code
            except (httpx.HTTPError, httpx.InvalidURL) as error:  # their text may quote the URL
                problem = f"it cannot be reached ({type(error).__name__})"
            else:
                if 200 <= status < 300:
                    return Delivery(True, attempts)
                problem = f"it answers {status}"
                if status < 500 and status not in _AGAIN:
                    return Delivery(False, attempts, problem)
            time.sleep(max(0.0, min(pause, deadline - time.monotonic())))
            pause *= 2
    return Delivery(False, attempts, f"{problem}, for {settings.limit_seconds:g} s")
