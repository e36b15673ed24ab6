"""Live changes only as its promoter expects, once per verdict, and can be taken back."""

import json
from datetime import datetime, timedelta, tzinfo
from typing import Self

import pytest

from tasks.errors import RunError

from .conftest import Corpus


class Tomorrow(datetime):
    """A clock that is a day ahead."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + timedelta(days=1)


def test_the_first_promotion_has_nothing_before_it(corpus: Corpus) -> None:
    assert corpus.index.live() is None
    assert corpus.index.open_live() is None
    live = corpus.publish("r1", {"a": ["one"]})
    assert corpus.index.live() == live
    named = json.loads((corpus.root / "live.json").read_text())
    assert named["generation"]["run_id"] == "r1"
    assert named["verdict_digest"] == "verdict-r1"


def test_a_candidate_is_not_live_until_it_is_promoted(corpus: Corpus) -> None:
    live = corpus.publish("r1", {"a": ["one"]})
    candidate = corpus.build("r2", {"a": ["two"], "b": ["three"]})
    assert candidate.baseline == live
    assert (candidate.documents_written, candidate.documents_removed, candidate.rows) == (2, 0, 2)
    assert corpus.texts(corpus.index.open_live()) == {"a": ["one"]}


def test_pending_names_what_differs(corpus: Corpus) -> None:
    corpus.publish("r1", {"a": ["one"], "b": ["two"], "c": ["three"]})
    target = corpus.target({"a": ["one"], "b": ["changed"], "d": ["new"]})
    pending = corpus.index.pending(target, dimension=8, embedding="hashing@1")
    assert (pending.write, pending.remove, pending.new_table) == (("b", "d"), ("c",), False)


@pytest.mark.parametrize(("dimension", "embedding"), [(16, "hashing@1"), (8, "hashing@2")])
def test_another_embedding_makes_everything_pending_in_a_new_table(
    corpus: Corpus, dimension: int, embedding: str
) -> None:
    first = corpus.publish("r1", {"a": ["one"], "b": ["two"]})
    target = corpus.target({"a": ["one"], "b": ["two"]})
    pending = corpus.index.pending(target, dimension=dimension, embedding=embedding)
    assert (pending.write, pending.remove, pending.new_table) == (("a", "b"), (), True)
    corpus.dimension, corpus.model = dimension, embedding
    second = corpus.publish("r2", {"a": ["one"], "b": ["two"]})
    assert second.generation.table != first.generation.table
    assert second.generation.embedding == embedding
    corpus.index.rollback(expected=second)
    assert corpus.index.live().generation == first.generation  # type: ignore[union-attr]
    corpus.index.collect(1)
    assert [path.stem for path in corpus.root.glob("*.lance")] == [first.generation.table]


def test_promotion_is_refused_when_live_is_not_the_baseline_judged(corpus: Corpus) -> None:
    corpus.publish("r1", {"a": ["one"]})
    judged, meanwhile = corpus.build("r2", {"a": ["two"]}), corpus.build("r3", {"a": ["three"]})
    corpus.promote(meanwhile)
    with pytest.raises(RunError, match="live is the generation of run r3, not the generation of run r1"):
        corpus.promote(judged)
    assert corpus.texts(corpus.index.open_live()) == {"a": ["three"]}


def test_a_verdict_promotes_once(corpus: Corpus) -> None:
    first = corpus.publish("r1", {"a": ["one"]})
    candidate = corpus.build("r2", {"a": ["two"]})
    with pytest.raises(RunError, match="was used for a promotion before"):
        corpus.index.flip(candidate.generation, expected=first, verdict_digest="verdict-r1")
    assert corpus.index.live() == first


def test_rollbacks_lead_back_one_promotion_at_a_time_and_are_recorded(corpus: Corpus) -> None:
    one, two, three = (corpus.publish(f"r{n}", {"a": [str(n)]}) for n in (1, 2, 3))
    back = corpus.index.rollback(expected=three)
    assert (back.generation, back.verdict_digest) == (two.generation, two.verdict_digest)
    assert back.flipped_at > three.flipped_at
    again = corpus.index.rollback(expected=back)
    assert corpus.texts(corpus.index.open_live()) == {"a": ["1"]}
    with pytest.raises(RunError, match="no generation was live before"):
        corpus.index.rollback(expected=again)
    assert [live.generation.run_id for live in corpus.index.history()] == ["r1", "r2", "r3", "r2", "r1"]
    four = corpus.publish("r4", {"a": ["4"]})
    assert corpus.index.rollback(expected=four).generation == one.generation


def test_a_rollback_is_refused_when_live_changed_or_its_target_was_collected(corpus: Corpus) -> None:
    one, two = corpus.publish("r1", {"a": ["1"]}), corpus.publish("r2", {"a": ["2"]})
    with pytest.raises(RunError, match="changed in the meantime"):
        corpus.index.rollback(expected=one)
    corpus.index.collect(1)
    with pytest.raises(RunError, match="has no version"):
        corpus.index.rollback(expected=two)
    assert corpus.index.live() == two


def test_a_rejected_candidate_leaves_no_row_and_no_file(corpus: Corpus) -> None:
    live = corpus.publish("r1", {"a": ["one"]})
    rejected = corpus.build("r2", {"a": ["one"], "b": ["a rejected sentence"]})
    corpus.index.drop(rejected.generation)
    assert corpus.index.collect(3) > 0
    with pytest.raises(RunError, match="has no version"):
        corpus.index.open(rejected.generation)
    held = b"".join(path.read_bytes() for path in corpus.root.rglob("*") if path.is_file())
    assert b"a rejected sentence" not in held
    assert corpus.texts(corpus.index.open(live.generation)) == {"a": ["one"]}
    assert corpus.texts(corpus.index.open(corpus.build("r3", {"a": ["one"], "c": ["x"]}).generation)) == {
        "a": ["one"],
        "c": ["x"],
    }


def test_live_and_what_a_rollback_needs_cannot_be_dropped(corpus: Corpus) -> None:
    one, two = corpus.publish("r1", {"a": ["1"]}), corpus.publish("r2", {"a": ["2"]})
    for live in (one, two):
        with pytest.raises(RunError, match="is live or was"):
            corpus.index.drop(live.generation)


def test_collect_keeps_live_its_predecessors_and_candidates_still_to_be_judged(corpus: Corpus) -> None:
    lives = [corpus.publish(f"r{n}", {"a": [f"text {n}"] * 20}) for n in range(5)]
    undecided = corpus.build("r9", {"a": ["undecided"]})
    assert corpus.index.collect(2) > 0
    assert corpus.index.collect(2) == 0
    for live in lives[:3]:
        with pytest.raises(RunError):
            corpus.index.open(live.generation)
    assert corpus.texts(corpus.index.open(lives[3].generation)) == {"a": ["text 3"] * 20}
    assert corpus.texts(corpus.index.open(lives[4].generation)) == {"a": ["text 4"] * 20}
    corpus.promote(undecided)
    assert corpus.texts(corpus.index.open_live()) == {"a": ["undecided"]}


def test_what_was_live_a_moment_ago_stays_for_its_readers(corpus: Corpus) -> None:
    for n in range(3):
        live = corpus.publish(f"r{n}", {"a": [f"text {n}"]})
    rolled_back = corpus.index.open(live.generation)
    corpus.index.rollback(expected=live)
    corpus.index.collect(1, grace_seconds=3600)
    assert corpus.texts(rolled_back) == {"a": ["text 2"]}
    assert [corpus.texts(corpus.index.open(at.generation)) for at in corpus.index.history()[:2]] == [
        {"a": ["text 0"]},
        {"a": ["text 1"]},
    ]
    corpus.index.collect(1)
    with pytest.raises(RunError, match="has no version"):
        corpus.index.open(live.generation)


def test_a_change_dated_in_the_future_keeps_nothing(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    one = corpus.publish("r1", {"a": ["1"]})
    with monkeypatch.context() as clock:
        clock.setattr("tasks.index.generations.datetime", Tomorrow)
        corpus.publish("r2", {"a": ["2"]})
    corpus.index.collect(1, grace_seconds=3600)
    with pytest.raises(RunError, match="has no version"):
        corpus.index.open(one.generation)


def test_a_torn_line_of_the_record_is_overruled(corpus: Corpus) -> None:
    corpus.publish("r1", {"a": ["1"]})
    with (corpus.root / "generations.jsonl").open("a") as log:
        log.write('\n{"number": 2, "action": "promote", "verdict_dig')
    two = corpus.publish("r2", {"a": ["2"]})
    assert [live.generation.run_id for live in corpus.index.history()] == ["r1", "r2"]
    corpus.index.rollback(expected=two)


def test_a_broken_live_file_is_reported_with_a_remedy(corpus: Corpus) -> None:
    corpus.publish("r1", {"a": ["1"]})
    (corpus.root / "live.json").write_text("{")
    with pytest.raises(RunError, match=r"live\.json cannot be read") as raised:
        corpus.index.live()
    assert "generations.jsonl" in raised.value.remedy


def test_rows_of_a_document_that_is_not_pending_are_refused(corpus: Corpus) -> None:
    corpus.publish("r1", {"a": ["1"], "b": ["2"]})
    target = corpus.target({"a": ["1"], "b": ["changed"]})
    rows = corpus.rows({"a": ["1"], "b": ["changed"]})
    with pytest.raises(RunError, match="not pending, such as a"):
        corpus.index.build("r2", target, [rows], dimension=8, embedding="hashing@1")
    assert corpus.texts(corpus.index.open(corpus.build("r3", {"a": ["1"], "c": ["3"]}).generation)) == {
        "a": ["1"],
        "c": ["3"],
    }


def test_a_small_change_writes_little(corpus: Corpus) -> None:
    texts = {f"d{n}": [f"text {n} {m} " + "word " * 100 for m in range(4)] for n in range(250)}
    corpus.publish("r1", texts)

    def size() -> int:
        return sum(path.stat().st_size for path in corpus.root.rglob("*") if path.is_file())

    before = size()
    corpus.publish("r2", texts | {"d7": ["changed"]})
    assert size() - before < before / 10
