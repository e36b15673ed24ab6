import random
from itertools import pairwise

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from tasks.metrics.text_distance import Edit, align, cer, comparison_text, edit_counts, wer

TEXT = st.text(alphabet="ab cé\n", max_size=60)
WORDS = [f"word{n}" for n in range(300)]


def noisy(text: str, rate: float, seed: int) -> str:
    chance = random.Random(seed)
    out = []
    for character in text:
        kind = chance.random() / rate
        if kind < 1 / 3:
            continue
        out.append("x" if kind < 2 / 3 else character)
        if 2 / 3 <= kind < 1:
            out.append("y")
    return "".join(out)


@given(TEXT, TEXT)
def test_rates_equal_jiwer(reference: str, hypothesis: str) -> None:
    left, right = comparison_text(reference), comparison_text(hypothesis)
    if not left:
        assert cer(reference, hypothesis) is None
        assert wer(reference, hypothesis) is None
    else:
        assert cer(reference, hypothesis) == pytest.approx(jiwer.cer(left, right))
        assert wer(reference, hypothesis) == pytest.approx(jiwer.wer(left, right))


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
def test_a_long_text_cut_into_parts_has_the_distance_and_edits_of_jiwer(rate: float) -> None:
    reference = " ".join(random.Random(1).choices(WORDS, k=3000))
    hypothesis = noisy(reference, rate, seed=2)
    characters, words = edit_counts(reference, hypothesis), edit_counts(reference.split(), hypothesis.split())
    oracle, word_oracle = jiwer.process_characters(reference, hypothesis), jiwer.process_words(reference, hypothesis)
    assert characters.exact
    assert characters.distance == oracle.substitutions + oracle.deletions + oracle.insertions
    assert characters.deletions - characters.insertions == oracle.deletions - oracle.insertions
    assert words.distance == word_oracle.substitutions + word_oracle.deletions + word_oracle.insertions


def test_lost_doubled_and_repeated_passages_stay_exact() -> None:
    passages = [" ".join(random.Random(n).choices(WORDS, k=150)) for n in range(6)]
    boilerplate = "All rights reserved. " * 80
    reference = boilerplate.join(passages)
    hypothesis = boilerplate.join([passages[0], passages[2], passages[3], passages[3], passages[5]]) + boilerplate
    counts = edit_counts(reference, hypothesis)
    assert counts.exact
    assert counts.distance == Levenshtein.distance(reference, hypothesis)


@given(TEXT, TEXT)
def test_the_counts_account_for_both_lengths(reference: str, hypothesis: str) -> None:
    counts = edit_counts(reference, hypothesis)
    assert counts.length == len(reference)
    assert len(reference) - counts.deletions + counts.insertions == len(hypothesis)
    assert counts.distance == Levenshtein.distance(reference, hypothesis)


def test_an_invented_text_can_exceed_one_and_an_empty_reference_has_no_rate() -> None:
    assert cer("ab", "abcdef") == 2.0
    assert cer(" \n", "abc") is None


def test_too_long_and_unlike_texts_say_that_they_are_not_exact() -> None:
    counts = edit_counts("ab" * 110_000, "cd" * 110_000)
    assert not counts.exact
    assert counts.substitutions == 220_000


@given(TEXT, TEXT)
def test_the_edits_lead_from_one_text_to_the_other_and_are_the_fewest(reference: str, hypothesis: str) -> None:
    edits = sorted(align(reference, hypothesis, most=200).largest, key=lambda edit: (edit.start, edit.found_start))
    made, position = "", 0
    for edit in edits:
        made += reference[position : edit.start] + hypothesis[edit.found_start : edit.found_end]
        position = edit.end
    assert made + reference[position:] == hypothesis
    assert sum(edit.size for edit in edits) == Levenshtein.distance(reference, hypothesis)
    # Neighbours are one edit: something equal stands between any two.
    assert all(a.end < b.start for a, b in pairwise(edits))


def test_the_largest_edits_come_first_and_no_more_than_asked_for() -> None:
    largest = align("abcdefghijkl", "abXdefhijklMNOP", most=2).largest
    assert largest == (Edit(12, 12, 11, 15), Edit(2, 3, 2, 3))
    assert [(edit.fault, edit.size) for edit in largest] == [("invented", 4), ("changed", 1)]
    assert align("abc", "abd", most=0).largest == ()


def test_a_passage_lost_over_the_cuts_of_a_long_text_is_one_edit() -> None:
    words = [f"{n}th" for n in range(3000)]
    (edit,) = align(words, words[:100] + words[1900:], most=20).largest
    assert (edit, edit.fault) == (Edit(100, 1900, 100, 100), "missing")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("alphabet", ["ab", "abcdefghijklmnopqrstuvwxyz     "])
def test_random_texts_of_any_error_have_the_distance_of_plain_rapidfuzz(alphabet: str, seed: int) -> None:
    draw = random.Random(seed)
    reference = "".join(draw.choices(alphabet, k=draw.randint(1, 9000)))
    hypothesis = noisy(reference, draw.choice([0.002, 0.02, 0.3, 1.0]), seed)
    # Passages change places, as columns of a page do.
    cut = draw.randint(0, len(hypothesis))
    hypothesis = draw.choice([hypothesis, hypothesis[cut:] + hypothesis[:cut]])
    counts = edit_counts(reference, hypothesis)
    assert counts.exact
    assert counts.distance == Levenshtein.distance(reference, hypothesis)
    words = edit_counts(reference.split(), hypothesis.split())
    assert words.distance == Levenshtein.distance(reference.split(), hypothesis.split())
