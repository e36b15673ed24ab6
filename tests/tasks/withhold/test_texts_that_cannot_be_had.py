"""With `run.redact_only`, a text that cannot be had for a while costs no document its place, nor makes a wrong text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tasks.fetch.stage as fetch_stage
from tasks.errors import DocumentError
from tasks.run.configuration import Configuration
from tests.engine import run_engine
from tests.tasks.dedup.test_containment import prose
from tests.tasks.run.notes import configuration, live_names, note, write_notes

LEASE = prose(3, 400)
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
