"""Documents in quarantine are tried again from the bytes that the lake has, when somebody asks for it."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from schemas.names import StageName
from tasks.figures.catalogue import load_catalogue
from tasks.lake.quarantine import Quarantine
from tasks.report.quarantine import Selection, grouped, read_quarantine, show_document
from tasks.run.options import RunOptions
from tasks.run.registry import STAGES
from tasks.run.session import Session
from tasks.stage import Batch, Failure, Resources, StageOutput
from tests.engine import EngineRun, run_engine
from tests.texts import configured, write_texts

BAD = "note-001.txt"


def failing(how: Callable[[str], Failure], *paths: str) -> Any:
    """The parse stage that cannot process these documents, and all others as ever."""
    stage = STAGES[StageName.PARSE]

    def run(batch: Batch, settings: Any, resources: Resources) -> StageOutput:
        rows = batch.documents.to_pylist()
        made = stage.run(batch, settings, resources)
        doomed = [row["document_id"] for row in rows if row["uri"] in paths]
        keep = pa.array([document_id not in doomed for document_id in made.table.column("document_id").to_pylist()])
        return replace(made, table=made.table.filter(keep), failures=tuple(map(how, doomed)))

    return replace(stage, run=run)


def locked(document_id: str) -> Failure:
    return Failure(document_id, "encrypted", "it needs a password", "export it without one", transient=False)


def timed_out(document_id: str) -> Failure:
    return Failure(document_id, "timeout", "it took too long", "try again", transient=True)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    write_texts(tmp_path / "notes", 3)
    return tmp_path


def run_with(monkeypatch: pytest.MonkeyPatch, stage: Any, *arguments: Any, **named: Any) -> EngineRun:
    with monkeypatch.context() as patched:
        patched.setattr("tasks.run.execute.STAGES", {**STAGES, stage.name: stage})
        return run_engine(*arguments, **named)


def failures(session: Session, **selection: Any) -> list[Any]:
    lake, run_id = session.context.lake, session.context.run_id
    return read_quarantine(lake, run_id, load_catalogue(), Selection(**selection))


def test_what_cannot_pass_is_tried_again_only_when_asked(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = configured(notes)
    first = run_with(monkeypatch, failing(locked, BAD), configuration, measured=False)
    assert first.outcome(BAD) == ("quarantined", StageName.PARSE)
    # The stage would let it pass by now, but the next run does not ask it.
    assert run_engine(configuration, measured=False).outcome(BAD) == ("quarantined", StageName.PARSE)
    (held,) = failures(first.session)
    retried = run_engine(configuration, options=RunOptions(retry=(held.document_id,)))
    assert retried.outcome(BAD) == ("ok", StageName.INDEX)
    assert retried.promotion.startswith("promoted")
    assert {row["uri"] for row in retried.live_rows.values()} == {f"note-00{n}.txt" for n in range(3)}
    assert [p for p, stages in retried.locations.items() if stages[StageName.PARSE]["computed"]] == [BAD]
    assert failures(retried.session) == []


def test_what_may_pass_is_tried_again_by_every_run(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = configured(notes)
    first = run_with(monkeypatch, failing(timed_out, BAD), configuration, measured=False)
    assert first.outcome(BAD)[0] == "quarantined"
    assert run_engine(configuration, measured=False).outcome(BAD) == ("ok", StageName.INDEX)


def test_a_retry_needs_no_source(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = configured(notes)
    first = run_with(monkeypatch, failing(locked, BAD), configuration, measured=False)
    shutil.rmtree(notes / "notes")
    retried = run_engine(
        configuration, options=RunOptions(retry=tuple(held.document_id for held in failures(first.session)))
    )
    assert retried.outcome(BAD) == ("ok", StageName.INDEX)
    assert len({row["document_id"] for row in retried.live_rows.values()}) == 3
    # It was no scan: the next one is held against what the sources showed last.
    assert retried.session.runs.last_scan() == first.session.context.run_id


def test_what_never_came_stays_as_it_failed(notes: Path) -> None:
    configuration = configured(notes)
    (notes / "notes" / "empty.txt").write_text("", encoding="utf-8")
    first = run_engine(configuration, measured=False)
    (before,) = failures(first.session)
    assert (before.stage, before.reason, before.has_bytes) == ("fetch", "empty", False)
    retried = run_engine(configuration, options=RunOptions(retry=()), measured=False)
    assert failures(retried.session) == [before]
    assert len(Quarantine(first.session.context.lake.quarantine).read()) == 1


def test_bytes_that_the_lake_lost_are_named(notes: Path) -> None:
    configuration = configured(notes)
    first = run_engine(configuration, measured=False)
    shutil.rmtree(first.session.context.lake.raw)
    retried = run_engine(configuration, options=RunOptions(retry=()))
    assert {held.reason for held in failures(retried.session)} == {"raw_missing"}
    assert not retried.promotion.startswith("promoted")
    last = run_engine(configuration, measured=False)
    assert {last.outcome(path)[0] for path in first.locations} == {"ok"}


def test_a_failed_retry_is_another_attempt(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = configured(notes)
    first = run_with(monkeypatch, failing(locked, BAD), configuration, measured=False)
    (held,) = failures(first.session)
    retry = RunOptions(retry=(held.document_id,))
    again = run_with(monkeypatch, failing(locked, BAD), configuration, options=retry, measured=False)
    (now,) = failures(again.session)
    assert (held.attempts, now.attempts) == (1, 2)
    assert now.since == held.since
    shown = show_document(again.session.context.lake, again.session.context.run_id, BAD, load_catalogue())
    assert [attempt.run_id for attempt in shown.attempts] == [r.session.context.run_id for r in (first, again)]
    assert shown.held == now


def test_groups_count_what_is_alike(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = configured(notes, classes=[{"class": "second", "path": BAD}])
    run = run_with(monkeypatch, failing(locked, BAD, "note-000.txt", "note-002.txt"), configuration, measured=False)
    groups = [(g.stage, g.reason, g.doc_class, g.source, g.documents) for g in grouped(failures(run.session))]
    assert groups == [("parse", "encrypted", "unclassified", "notes", 2), ("parse", "encrypted", "second", "notes", 1)]
    assert [held.path for held in failures(run.session, doc_class="second")] == [BAD]
    assert failures(run.session, reason="corrupt") == failures(run.session, stage=StageName.FETCH) == []


def test_a_defect_says_where_it_came_up_and_no_word_of_the_document(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = STAGES[StageName.PARSE]

    def run(batch: Batch, settings: Any, resources: Resources) -> StageOutput:
        if BAD in batch.documents.column("uri").to_pylist():
            raise ValueError("jane.roe@example.org")
        return stage.run(batch, settings, resources)

    broken = run_with(monkeypatch, replace(stage, run=run), configured(notes), measured=False)
    assert [path for path in broken.locations if broken.outcome(path)[0] == "quarantined"] == [BAD]
    shown = show_document(broken.session.context.lake, broken.session.context.run_id, BAD, load_catalogue())
    (attempt,) = shown.attempts
    assert (attempt.reason, attempt.transient) == ("defect", True)
    assert attempt.traceback is not None
    trace = Path(attempt.traceback).read_text(encoding="utf-8")
    assert "ValueError" in trace
    assert "test_quarantine_retry.py" in trace
    assert "jane.roe@example.org" not in trace.replace('raise ValueError("jane.roe@example.org")', "")
