"""With `run.redact_only`, a text that cannot be had for a while costs no document its place, nor makes a wrong text."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tasks.fetch.stage as fetch_stage
from schemas.measures import MEASURES
from schemas.names import StageName
from tasks.document_rows import ids_of
from tasks.errors import DocumentError
from tasks.lake.files import read_table
from tasks.run import brought_back, execute
from tasks.run.configuration import Configuration
from tasks.run.guarded import run_guarded
from tasks.run.options import RunOptions
from tasks.run.planning import document_hash
from tasks.run.registry import STAGES
from tasks.run.session import Session
from tasks.run.withholding import withhold
from tasks.stage import Batch, Stage, StageOutput
from tests.engine import run_engine, run_stages
from tests.tasks.dedup.test_containment import prose
from tests.tasks.run.notes import configuration, live_names, note, write_notes

LEASE = prose(3, 400)
CUT = "ferry.md"
Reader = Callable[[str, int], bytes]


def redacting(folder: Path, **keys: Any) -> Configuration:
    stages = {"pii": {"models": {"en": None}}}
    return configuration(folder, run={"redact_only": True, "max_deleted_share": 1}, stages=stages, **keys)


def unreadable(reader: Reader, *names: str) -> Reader:
    def read(locator: str, limit: int) -> bytes:
        if Path(locator).name in names:
            raise DocumentError("unreadable", "it cannot be read just now", remedy="try again", transient=True)
        return reader(locator, limit)

    return read


@pytest.mark.parametrize("lost", [("b.md",), ("a.md", "b.md")])
def test_documents_that_are_alike_stay_while_one_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: tuple[str, ...]
) -> None:
    notes = tmp_path / "notes"
    write_notes(notes, 2)
    (notes / "a.md").write_text(LEASE + " The rent is 1200 euros and the term ends in 2031.", encoding="utf-8")
    (notes / "b.md").write_text(LEASE + " The rent is 1900 euros and the term ends in 2037.", encoding="utf-8")
    settings = redacting(tmp_path)
    assert live_names(run_engine(settings, measured=False)) >= {"a.md", "b.md"}

    (notes / "ferry.md").write_text(note("ferry", "It is new."), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(fetch_stage, "read_file", unreadable(fetch_stage.read_file, *lost))
        run = run_engine(settings, measured=False)
    assert live_names(run) >= {"a.md", "b.md"}


def test_what_was_decided_without_a_text_is_decided_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new copy that differs in nothing is kept while the old one cannot be read, and dropped once it can."""
    notes = tmp_path / "notes"
    write_notes(notes, 2)
    (notes / "a.md").write_text(LEASE + " So it was agreed, and everybody went home.", encoding="utf-8")
    settings = redacting(tmp_path)
    run_engine(settings, measured=False)

    (notes / "b.md").write_text(LEASE + " So it was agreed.", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(fetch_stage, "read_file", unreadable(fetch_stage.read_file, "a.md"))
        run = run_engine(settings, measured=False)
    assert live_names(run) >= {"a.md", "b.md"}
    assert run.session.runs.manifest(run.session.context.run_id)["decided_from"] is None

    again = run_engine(settings, measured=False)
    assert "a.md" in live_names(again)
    assert "b.md" not in live_names(again)
    assert again.session.runs.manifest(again.session.context.run_id)["decided_as"] is None
    third = run_engine(settings, measured=False)
    assert third.session.runs.manifest(third.session.context.run_id)["decided_as"] == again.session.context.run_id


@pytest.mark.parametrize("lost", [(), ("lease.md", "copy.md", "excerpt.md")])
@pytest.mark.parametrize("forgotten", [False, True])
def test_documents_that_a_partial_run_does_not_take_in_stand_whatever_the_settings_are_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: tuple[str, ...], forgotten: bool
) -> None:
    """A near copy stays dropped, an excerpt stays in live; `forgotten` is what their texts share."""
    notes = tmp_path / "notes"
    write_notes(notes, 2)
    (notes / "lease.md").write_text(LEASE + " So it was agreed, and everybody went home.", encoding="utf-8")
    (notes / "copy.md").write_text(LEASE + " So it was agreed.", encoding="utf-8")
    (notes / "excerpt.md").write_text(LEASE[300:1600], encoding="utf-8")
    first = run_engine(redacting(tmp_path), measured=False)
    assert live_names(first) == {"ferry.md", "lighthouse.md", "lease.md", "excerpt.md"}
    row = first.row("excerpt.md", StageName.DEDUP)
    assert row is not None
    assert row["contained_in"] is not None

    if forgotten:
        shutil.rmtree(first.session.context.lake.cache / "compared")
    stages = {"pii": {"models": {"en": None}}, "normalize": {"fold_hyphens": False}}
    other = configuration(tmp_path, run={"redact_only": True, "max_deleted_share": 1}, stages=stages)
    (notes / "ferry.md").write_text(note("ferry", "It is new."), encoding="utf-8")
    monkeypatch.setattr(fetch_stage, "read_file", unreadable(fetch_stage.read_file, *lost))
    run = run_engine(other, RunOptions(only=("ferry.md",)))
    # A document that is not in the index has its id for a name.
    assert run.outcome(document_hash("notes", "copy.md") + ".md") == ("dropped", StageName.DEDUP)
    assert run.row("excerpt.md", StageName.DEDUP) == row
    assert live_names(run) == live_names(first)
    assert "It is new" in " ".join(found["text"] for found in run.live_rows.values())


def test_a_text_lost_between_deciding_and_measuring_is_no_instability_in_this_run_or_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    write_notes(notes, 2)
    (notes / "a.md").write_text(LEASE + " So it was agreed, and everybody went home.", encoding="utf-8")
    (notes / "b.md").write_text(LEASE + " So it was agreed.", encoding="utf-8")
    settings = redacting(tmp_path)
    session, batches = run_stages(settings)
    assert session.context.runs.manifest(session.context.run_id)["decided_without"] == []
    withhold(settings, session.context.lake)
    with monkeypatch.context() as patch:
        patch.setattr(fetch_stage, "read_file", unreadable(fetch_stage.read_file, "a.md"))
        session.evaluate(StageName.DEDUP, batches)
    first = stability(session)
    assert first == Counter({("ok", 1.0): 3, ("invalid", None): 1})
    session.judge(batches)

    again, batches = run_stages(settings)
    context = again.context
    assert context.runs.manifest(context.run_id)["decided_as"] == session.context.run_id
    again.evaluate(StageName.DEDUP, batches)
    assert stability(again) == Counter({("ok", 1.0): 4})


def stability(session: Session) -> Counter[tuple[str, float | None]]:
    facts = read_table(session.context.folder / "facts" / "dedup.parquet", MEASURES).to_pylist()
    return Counter((row["status"], row["value"]) for row in facts if row["metric"] == "keeper_stability")


@pytest.mark.parametrize(
    ("then", "again", "is_had"),
    [
        ("page 2", None, False),
        (None, "page 2", False),
        ("page 2", "page 3", False),
        ("page 2", "page 2", True),
        (None, None, True),
    ],
)
def test_a_row_that_was_cut_short_is_not_brought_back_as_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str | None, again: str | None, is_had: bool
) -> None:
    write_notes(tmp_path / "notes", 2)
    with monkeypatch.context() as patch:
        patch.setattr(execute, "run_guarded", parsing_until(then))
        session = run_engine(redacting(tmp_path), measured=False).session
    monkeypatch.setattr(brought_back, "run_guarded", parsing_until(again))
    for stage in (StageName.PARSE, StageName.NORMALIZE):
        had, lost = brought_back_in(session, stage)
        assert had == ({CUT, "lighthouse.md"} if is_had else {"lighthouse.md"})
        assert lost == (set() if is_had else {CUT})


def brought_back_in(session: Session, stage: StageName) -> tuple[set[str], set[str]]:
    """The names of the documents whose rows could be had again, and of those whose could not."""
    had, lost = set[str](), set[str]()
    for batch in session.batches():
        documents = batch.read_documents()
        uris = dict(zip(ids_of(documents), documents.column("uri").to_pylist(), strict=True))
        rows, failures = brought_back.rows_of(session.context, stage, batch, list(uris), STAGES[stage].writes)
        had |= {uris[document_id] for document_id in ids_of(rows)}
        lost |= {uris[failure.document_id] for failure in failures if failure.transient}
    return had, lost


def test_what_a_forced_stage_made_otherwise_is_brought_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chain goes on from it under a key of its own."""
    write_notes(tmp_path / "notes", 2)
    settings = redacting(tmp_path)
    plain = run_engine(settings, measured=False).session
    forced = run_engine(settings, RunOptions(force=frozenset({StageName.PARSE})), measured=False).session
    keys = [[batch.keys_after(StageName.PARSE) for batch in session.batches()] for session in (plain, forced)]
    assert keys[0] != keys[1]
    for stage in (StageName.PARSE, StageName.NORMALIZE):
        assert brought_back_in(forced, stage) == ({"ferry.md", "lighthouse.md"}, set())


def parsing_until(lacks: str | None) -> Callable[..., StageOutput]:
    """`run_guarded` that parses one document to its first element only, where it `lacks` something."""

    def run(stage: Stage[Any], batch: Batch, *others: Any, **named: Any) -> StageOutput:
        output = run_guarded(stage, batch, *others, **named)
        if lacks is None or stage.name != StageName.PARSE:
            return output
        rows, partial = output.table.to_pylist(), {}
        uris = dict(zip(ids_of(batch.documents), batch.documents.column("uri").to_pylist(), strict=True))
        for row in rows:
            if uris[row["document_id"]] == CUT:
                row["elements"] = row["elements"][:1]
                partial = {row["document_id"]: lacks}
        return replace(output, table=pa.Table.from_pylist(rows, schema=output.table.schema), partial=partial)

    return run


@pytest.mark.parametrize("gone", [0, 1, 16])
def test_a_source_is_asked_once_for_each_document_that_it_does_not_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: int
) -> None:
    write_notes(tmp_path / "notes", 16)
    session = run_engine(redacting(tmp_path), measured=False).session
    documents = pa.concat_tables([batch.read_documents() for batch in session.batches()])
    asked: list[str] = []
    names = [Path(locator).name for locator in documents.column("locator").to_pylist()]
    reader = unreadable(fetch_stage.read_file, *names[:gone])

    def counted(locator: str, limit: int) -> bytes:
        asked.append(Path(locator).name)
        return reader(locator, limit)

    monkeypatch.setattr(fetch_stage, "read_file", counted)
    raw = brought_back.lent(session.context, documents).raw
    failed = []
    for name, sha in zip(names, documents.column("content_sha").to_pylist(), strict=True):
        for _ in range(2):
            try:
                raw.read(sha)
            except DocumentError:
                failed.append(name)
    assert sorted(asked) == sorted(names)
    assert failed == [name for name in names[:gone] for _ in range(2)]
