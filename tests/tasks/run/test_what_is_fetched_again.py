"""The same bytes under the same name are fetched once; a new name, a new limit or a new answer is looked at."""

import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from schemas.names import Cohort, StageName
from schemas.stages import FETCH
from tasks.figures.measures import stage_measures
from tasks.index.generations import Generations
from tasks.index.records import Generation
from tasks.lake.files import read_table
from tasks.lake.ledger import Ledger
from tasks.run.context import BatchRef
from tasks.run.fetching import run_fetch
from tasks.run.session import Session
from tests.tasks.run.runs_by_hand import started


def fetched(lake: Path, number: int, sources: list[dict[str, Any]], **settings: Any) -> tuple[Session, list[BatchRef]]:
    """One run up to the end of its scan."""
    session = started(lake, number, sources, fetch=settings)
    batches = [run_fetch(session.context, batch) for batch in session.plan()]
    session.close_scan(batches)
    return session, batches


def only(session: Session, batches: list[BatchRef]) -> dict[str, Any]:
    """The location row of the one document, with its stored row."""
    (place,) = [row for batch in batches for row in batch.read_locations(StageName.FETCH).to_pylist()]
    if place["file"] is None:
        return dict(place)
    file = session.context.lake.root / place["file"]
    (row,) = read_table(file, FETCH, document_ids=[place["document_id"]]).to_pylist()
    return place | row


def test_a_document_under_a_new_name_is_read_as_what_that_name_says(tmp_path: Path) -> None:
    source = [{"name": "s", "type": "files", "root": str(tmp_path / "in")}]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("# Weir\n\nThe gate opens at 3 m.\n", encoding="utf-8")
    before = only(*fetched(tmp_path / "lake", 1, source))
    (tmp_path / "in" / "notes.txt").rename(tmp_path / "in" / "notes.md")
    moved = only(*fetched(tmp_path / "lake", 2, source))
    fresh = only(*fetched(tmp_path / "other", 1, source))
    assert moved["document_id"] == before["document_id"]
    assert (before["media_type"], moved["media_type"]) == ("text/plain", "text/markdown")
    assert moved["stage_key"] == fresh["stage_key"] != before["stage_key"]


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    source = [{"name": "s", "type": "files", "root": str(tmp_path / "in")}]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("The gate opens at 3 m.\n", encoding="utf-8")
    assert only(*fetched(tmp_path / "lake", 1, source))["computed"]
    assert not only(*fetched(tmp_path / "lake", 2, source))["computed"]
    assert not only(*fetched(tmp_path / "lake", 3, source, retries=0))["computed"]


def test_a_refused_document_is_taken_once_the_limit_allows_it(tmp_path: Path) -> None:
    source = [{"name": "s", "type": "files", "root": str(tmp_path / "in")}]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("The gate opens at 3 m.\n", encoding="utf-8")
    refused = only(*fetched(tmp_path / "lake", 1, source, max_bytes=10))
    again = only(*fetched(tmp_path / "lake", 2, source, max_bytes=10))
    assert (refused["reason"], again["reason"], again["computed"]) == ("too_large", "too_large", False)
    assert only(*fetched(tmp_path / "lake", 3, source, max_bytes=100))["outcome"] == "ok"


@pytest.fixture
def server() -> Any:
    """A web server whose answers a test sets: a status each, after a wait of 0.4 seconds where it is negative."""
    answers: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if answers[-1] < 0:
                time.sleep(0.4)
            self.send_response(abs(answers[-1]))
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"The gate opens at 3 m.")

        def log_message(self, *_: object) -> None:
            pass

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}/notes", answers
    listening.shutdown()
    listening.server_close()
    thread.join()


def test_a_page_that_live_could_not_fetch_has_changed_once_it_answers(
    tmp_path: Path, server: tuple[str, list[int]]
) -> None:
    url, answers = server
    source = [{"name": "web", "type": "http", "urls": [url]}]
    answers.append(404)
    first, _ = fetched(tmp_path / "lake", 1, source, allow_private_addresses=True)
    generation = Generation("chunks", 1, first.context.run_id, 2, "model@1")
    Generations(first.context.lake.index, 1.0).promote(generation, expected=None, verdict_digest="of the first run")
    answers.append(200)
    second, batches = fetched(tmp_path / "lake", 2, source, allow_private_addresses=True)
    assert only(second, batches)["outcome"] == "ok"
    assert second.runs.plan(second.context.run_id).column("cohort").to_pylist() == [Cohort.CHANGED]


def latency(session: Session) -> float:
    """Seconds that the one document took, as this run's rows say."""
    locations = session.runs.locations(session.context.run_id)
    rows = stage_measures(session.context.lake, session.context.run_id, StageName.FETCH, locations).to_pylist()
    (seconds,) = {row["value"] for row in rows if row["metric"] in ("latency_seconds", "seconds")}
    return float(seconds)


def test_a_page_that_is_fetched_again_has_the_latency_of_that_time_and_the_earlier_run_its_own(
    tmp_path: Path, server: tuple[str, list[int]]
) -> None:
    url, answers = server
    source = [{"name": "web", "type": "http", "urls": [url]}]
    sessions = []
    for number, answer in ((1, 200), (2, -200)):
        answers.append(answer)
        session, batches = fetched(tmp_path / "lake", number, source, allow_private_addresses=True)
        session.evaluate(StageName.FETCH, batches)
        session.rescore(StageName.FETCH)
        sessions.append(session)
    first, second = (latency(session) for session in sessions)
    assert first < 0.4 <= second
    sessions[1].context.ledger.rewrite()
    reopened = Session(replace(sessions[0].context, ledger=Ledger(sessions[0].context.lake.ledger)))
    reopened.rescore(StageName.FETCH)
    assert latency(reopened) == first
