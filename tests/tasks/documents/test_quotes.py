"""A quoted passage is found whatever extraction and normalization did to white space and compatibility forms."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.documents.quotes import fold, locate
from tasks.gold.kinds import Quote


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("call mara@example.org now", "mara@example.org", "mara@example.org"),
        ("call mara@exam\u200bple.org now", "mara@example.org", "mara@exam\u200bple.org"),
        ("phone +44\u00a020\u00a07946", "+44 20 7946", "+44\u00a020\u00a07946"),
        ("an e\ufb03cient way", "efficient", "e\ufb03cient"),
        ("caf\u00e9 noir", "cafe\u0301", "caf\u00e9"),
        ("a table\twith\n\ncells", "table with cells", "table\twith\n\ncells"),
    ],
)
def test_a_passage_is_found_through_form_and_white_space(text: str, quote: str, found: str) -> None:
    span = locate(text, Quote(exact=quote))
    assert span is not None
    assert text[slice(*span)] == found


def test_a_letter_is_not_found_without_its_accent() -> None:
    assert locate("caf\u00e9 noir", Quote(exact="cafe")) is None


def test_the_surroundings_choose_among_equal_passages() -> None:
    text = "Ann: yes. Bob: yes. Cas:\nyes."
    assert locate(text, Quote(exact="yes", prefix="Bob: ")) == (15, 18)
    assert locate(text, Quote(exact="yes", prefix="Cas: ", suffix=".")) == (25, 28)


def test_a_folded_place_with_the_right_surroundings_wins_over_a_literal_one() -> None:
    assert locate("see A B here; then A\nB there", Quote(exact="A B", suffix=" there")) == (19, 22)


@given(st.text(max_size=40), st.text(min_size=1, max_size=10), st.text(max_size=40))
def test_a_literal_passage_is_always_found(before: str, passage: str, after: str) -> None:
    found = locate(before + passage + after, Quote(exact=passage))
    assert found is not None
    assert (before + passage + after)[slice(*found)] == passage


@given(st.text(max_size=60))
def test_folding_has_one_origin_per_character_in_order(text: str) -> None:
    folded = fold(text)
    assert len(folded.text) == len(folded.origins)
    assert list(folded.origins) == sorted(folded.origins)
    assert all(0 <= i < len(text) for i in folded.origins)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_composed_and_decomposed_text_fold_alike_up_to_the_order_of_marks(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert sorted(fold(composed).text) == sorted(fold(decomposed).text)


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_folds_as_it_does_beside_other_characters(text: str) -> None:
    beside = fold("\u00df" + text)
    plain = fold(text)
    assert plain.text == beside.text[1:]
    assert [place + 1 for place in plain.origins] == list(beside.origins)[1:]
