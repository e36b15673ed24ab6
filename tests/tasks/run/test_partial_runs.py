"""A partial run takes in what it is asked for; all else stays in live as it was, and nothing is deleted."""

from pathlib import Path

import pytest

from tasks.errors import ConfigurationError
from tasks.run.options import RunOptions
from tasks.run.preview import preview
from tests.engine import EngineRun, run_engine
from tests.tasks.run.notes import cohorts, computed, configuration, live_names, note, write_notes


def live_texts(run: EngineRun, path: str) -> str:
    return " ".join(row["text"] for row in run.live_rows.values() if row["uri"] == path)


def test_what_a_partial_run_does_not_take_in_stays_as_live_has_it(tmp_path: Path) -> None:
    write_notes(tmp_path / "one", 4)
    write_notes(tmp_path / "two", 4, start=4)
    settings = configuration(tmp_path, "one", "two")
    names = live_names(run_engine(settings, measured=False))
    (tmp_path / "one" / "ferry.md").write_text(note("ferry", "It is painted green."), encoding="utf-8")
    (tmp_path / "one" / "lighthouse.md").unlink()
    (tmp_path / "one" / "tide-table.md").rename(tmp_path / "one" / "tides.md")
    (tmp_path / "one" / "rope-walk.md").write_text(note("rope walk"), encoding="utf-8")
    (tmp_path / "two" / "dry-dock.md").write_text(note("dry dock", "It is flooded."), encoding="utf-8")
    (tmp_path / "two" / "slipway.md").write_text(note("slipway"), encoding="utf-8")

    options = RunOptions(only=("two:sl*.md", "fe*.md"))
    plan = preview(settings, options, names=9)
    run = run_engine(settings, options)
    assert run.promotion.endswith("(2 documents taken in, 7 as they were, 1 left out)")
    assert cohorts(run) == {"new": 1, "changed": 1, "unchanged": 7}
    assert plan.documents == {"new": 1, "changed": 1, "held": 7}
    assert plan.left_out == 1
    assert {work.stage: work.certain + work.following for work in plan.stages} == computed(run)
    assert live_names(run) == names | {"slipway.md"}
    assert "green" in live_texts(run, "ferry.md")
    assert "flooded" not in live_texts(run, "dry-dock.md")

    # What a partial run saw is no scan of the source: the next whole run finds everything that is left.
    whole = run_engine(settings, measured=False)
    assert cohorts(whole) == {"new": 1, "changed": 1, "unchanged": 6, "moved": 1, "deleted": 1}
    assert live_names(whole) == names - {"lighthouse.md", "tide-table.md"} | {"slipway.md", "tides.md", "rope-walk.md"}
    assert "flooded" in live_texts(whole, "dry-dock.md")


def test_a_source_that_is_not_asked_for_need_not_be_there(tmp_path: Path) -> None:
    write_notes(tmp_path / "one", 3)
    write_notes(tmp_path / "two", 3, start=3)
    settings = configuration(tmp_path, "one", "two")
    names = live_names(run_engine(settings, measured=False))
    (tmp_path / "two").rename(tmp_path / "elsewhere")
    write_notes(tmp_path / "one", 1, start=8)
    run = run_engine(settings, RunOptions(only=("one",)))
    assert cohorts(run) == {"new": 1, "unchanged": 6}
    assert len(live_names(run)) == len(names) + 1
    with pytest.raises(ConfigurationError, match="no document of the sources is named so"):
        run_engine(settings, RunOptions(only=("one:no-such-*",)))


def test_a_limit_takes_in_a_corpus_piece_by_piece(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 5)
    settings = configuration(tmp_path)
    sizes = []
    for _ in range(3):
        run = run_engine(settings, RunOptions(limit=2))
        sizes.append(len(live_names(run)))
    assert sizes == [2, 4, 5]
    whole = run_engine(settings, measured=False)
    assert cohorts(whole) == {"unchanged": 5}
    assert computed(whole) == {}


def test_other_settings_are_tried_on_a_part_and_reach_no_other_document(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 6)
    run_engine(configuration(tmp_path), measured=False)
    other = configuration(tmp_path, stages={"chunk": {"max_tokens": 60, "min_tokens": 10}})
    run = run_engine(other, RunOptions(limit=2))
    assert computed(run) == {"chunk": 2, "metadata": 2, "embed": 2, "index": 2}
    assert len(live_names(run)) == 6
    assert computed(run_engine(other, measured=False)) == {"chunk": 4, "metadata": 4, "embed": 4, "index": 4}
    vectors = configuration(tmp_path, stages={"embed": {"max_tokens": 300}})
    with pytest.raises(ConfigurationError, match="vectors of two kinds"):
        run_engine(vectors, RunOptions(limit=2))


def test_copies_of_held_documents_are_decided_on_over_the_whole_corpus(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write_notes(notes, 4)
    (notes / "twin.md").write_text(note("ferry"), encoding="utf-8")
    settings = configuration(tmp_path, stages={"dedup": {"keeper": "path"}})
    first = run_engine(settings, measured=False)
    assert "twin.md" not in live_names(first)
    # The kept copy gets another text: the copy that it stood for comes back, though nobody asked for it.
    (notes / "ferry.md").write_text(note("grain silo"), encoding="utf-8")
    second = run_engine(settings, RunOptions(only=("ferry.md",)))
    assert {"twin.md", "ferry.md"} <= live_names(second)
    # A copy of a held document is dropped for it.
    (notes / "zebra.md").write_text(note("lighthouse"), encoding="utf-8")
    third = run_engine(settings, RunOptions(only=("zebra.md",)), measured=False)
    assert third.outcome("zebra.md")[0] == "dropped"
    assert "lighthouse.md" in live_names(third)
