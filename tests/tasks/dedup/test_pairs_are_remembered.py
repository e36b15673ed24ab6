"""Pairs of texts that were compared once are not fetched again, and decisions are as if they had been."""

from collections.abc import Mapping, Sequence
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.dedup import candidates
from tasks.dedup.candidates import _by_document
from tasks.dedup.compared import COMPARED, Compared
from tasks.dedup.decisions import decide
from tasks.dedup.settings import DedupSettings
from tests.tasks.dedup.test_containment import prose
from tests.tasks.dedup.test_duplicate_decisions import sign

BOOK = prose(1, 400)
CHAPTER = BOOK[300:1600]
TEXTS = {
    "book": BOOK,
    "chapter": CHAPTER,
    "copy": BOOK.upper(),
    "longer": BOOK + " And so it ends.",
    "other": prose(2, 400),
    "other-slip": prose(2, 400).replace("e", "é", 1),
    "short": prose(2, 30),
}


def _decided(texts: Mapping[str, str], compared: Compared, **about: object) -> tuple[pa.Table, list[str]]:
    setting = DedupSettings(**about)  # type: ignore[arg-type]
    fetched: list[str] = []

    def text_of(document_ids: Sequence[str]) -> Mapping[str, str]:
        fetched.extend(document_ids)
        return {d: texts[d] for d in document_ids}

    return decide([sign(texts, setting, {})], text_of, setting, compared=compared), fetched


@pytest.mark.parametrize("on_containment", ["keep", "flag", "drop"])
def test_decisions_are_the_same_with_and_without(on_containment: str) -> None:
    first = Compared()
    decided, _ = _decided(TEXTS, first, on_containment=on_containment)
    assert first.is_grown
    known = first.table()
    again = Compared(known)
    same, _ = _decided(TEXTS, again, on_containment=on_containment)
    assert same.equals(decided)
    assert not again.is_grown
    assert again.table().equals(known)
    edited = TEXTS | {"chapter": CHAPTER + " With a word more.", "new": BOOK[:900]}
    here, _ = _decided(edited, Compared(known), on_containment=on_containment)
    assert here.equals(_decided(edited, Compared(), on_containment=on_containment)[0])


def test_only_texts_that_changed_and_what_they_are_compared_with_are_fetched() -> None:
    frame = prose(11, 300)
    texts = {f"{n:03d}": f"{frame} {prose(1000 + n, 120 + n % 7)}" for n in range(60)}
    first = Compared()
    _, all_of_them = _decided(texts, first, threshold=0.95)
    assert len(set(all_of_them)) == len(texts)
    known = first.table()
    _, none = _decided(texts, Compared(known), threshold=0.95)
    assert none == []
    texts["007"] = texts["007"] + " One more."
    second = Compared(known)
    _, some = _decided(texts, second, threshold=0.95)
    assert "007" in some
    assert len(some) < len(texts) // 2
    assert second.is_grown


def test_what_a_lost_text_shares_is_not_remembered() -> None:
    """A text that cannot be had is like no other; once it can, decisions are as if it always could."""
    setting = DedupSettings()
    signatures = sign(TEXTS, setting, {})
    lossy = Compared()

    def all_but_one(document_ids: Sequence[str]) -> Mapping[str, str]:
        return {d: TEXTS[d] for d in document_ids if d != "other"}

    rows = decide([signatures], all_but_one, setting, compared=lossy).to_pylist()
    kept = {row["document_id"] for row in rows if row["decision"] == "kept"}
    assert {"other", "other-slip"} <= kept
    whole, _ = _decided(TEXTS, Compared())
    assert {row["document_id"]: row["duplicate_of"] for row in whole.to_pylist()}["other-slip"] == "other"
    again, _ = _decided(TEXTS, Compared(lossy.table()))
    assert again.equals(whole)


def test_pairs_that_nobody_asked_for_are_forgotten() -> None:
    first = Compared()
    _decided(TEXTS, first)
    second = Compared(first.table())
    _decided({name: TEXTS[name] for name in ("book", "chapter", "other")}, second)
    assert 0 < second.table().num_rows < first.table().num_rows
    assert second.table().schema == COMPARED
    kept = second.table(with_unasked=True).to_pylist()
    assert all(row in kept for row in [*first.table().to_pylist(), *second.table().to_pylist()])


LEASE = {
    "a": prose(3, 400) + " The rent is 1200 euros and the term ends in 2031.",
    "b": prose(3, 400) + " The rent is 1900 euros and the term ends in 2037.",
}


@pytest.mark.parametrize("lost", [{"a"}, {"b"}, {"a", "b"}])
@pytest.mark.parametrize("on_containment", ["keep", "drop"])
def test_a_lost_text_is_not_dropped_for_what_is_remembered_of_it(lost: set[str], on_containment: str) -> None:
    """The two are alike by their counts, and only their words tell that one does not say what the other says."""
    first = Compared()
    whole, _ = _decided(LEASE, first, on_containment=on_containment)
    known = first.table()
    assert known.num_rows == 1
    assert known.column("common")[0].as_py() / known.column("distinct_a")[0].as_py() > DedupSettings().threshold
    assert whole.column("decision").to_pylist() == ["kept", "kept"]

    def text_of(document_ids: Sequence[str]) -> Mapping[str, str]:
        return {d: LEASE[d] for d in document_ids if d not in lost}

    setting = DedupSettings(on_containment=on_containment)  # type: ignore[arg-type]
    assert decide([sign(LEASE, setting, {})], text_of, setting, compared=Compared(known)).equals(whole)


def test_where_counts_alone_decide_a_lost_text_is_not_needed() -> None:
    first = Compared()
    whole, _ = _decided(LEASE, first, protect_facts=False)
    assert sorted(whole.column("decision").to_pylist()) == ["dropped", "kept"]
    setting = DedupSettings(protect_facts=False)
    known = Compared(first.table())
    assert decide([sign(LEASE, setting, {})], lambda _: {}, setting, compared=known).equals(whole)


@given(
    seed=st.integers(0, 10_000),
    share=st.floats(0, 1),
    on_containment=st.sampled_from(["keep", "flag", "drop"]),
    about=st.fixed_dictionaries(
        {
            "threshold": st.sampled_from([0.7, 0.75, 0.85]),
            "neighbours": st.sampled_from([1, 3, 8]),
            "protect_facts": st.booleans(),
            "near_duplicates": st.booleans(),
        }
    ),
)
@settings(max_examples=60, deadline=None)
def test_whatever_is_known_decisions_are_the_same(
    seed: int, share: float, on_containment: str, about: dict[str, object]
) -> None:
    """Chains of ever more edited copies, extracts of them and strangers; any part of the pairs may be known."""
    chance = Random(seed)
    texts: dict[str, str] = {}
    for family in range(4):
        words = prose(seed * 10 + family, 60).split()
        for member in range(8):
            words[chance.randrange(len(words))] = chance.choice(["pier", "crane", "7", "not", "harbour"])
            start = chance.choice([0, 0, 0, len(words) // 3])
            texts[f"{family}-{member}"] = " ".join(words[start:])
    about = about | {"containment": 0.8, "containment_min_length": 100, "on_containment": on_containment}
    first = Compared()
    decided, _ = _decided(texts, first, **about)
    known = first.table()
    kept = pa.array([chance.random() < share for _ in range(known.num_rows)], pa.bool_())
    second = Compared(known.filter(kept))
    with patch.object(candidates, "_GROUP", 2):
        again, _ = _decided(texts, second, **about)
    assert again.equals(decided)
    assert second.table().equals(known)


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_pairs_that_come_in_parts_are_put_together_by_document(size: int) -> None:
    ranks = [(3, 1), (3, 2), (5, 1), (5, 3), (5, 4), (6, 5), (9, 1), (9, 2)]
    apart = [True, True, True, False, True, False, True, True]
    whole = pa.record_batch(
        {"own": [own for own, _ in ranks], "other": [other for _, other in ranks], "told_apart": apart}
    )
    parts = [whole.slice(start, size) for start in range(0, len(ranks), size)]
    reader = pa.RecordBatchReader.from_batches(whole.schema, [whole.slice(0, 0), *parts])
    found = [(rank, others.tolist(), alike, rows.num_rows) for rank, others, alike, rows in _by_document(reader)]
    assert found == [(3, [1, 2], False, 2), (5, [1, 3, 4], True, 3), (6, [5], True, 1), (9, [1, 2], False, 2)]
