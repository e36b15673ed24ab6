"""A passage is there word for word, letter for letter, or nearly; never with another number."""

import doctest

import pytest

from tasks.gold.kinds import Quote
from tasks.survival import presence
from tasks.survival.presence import find, find_in_copy, holds

SENTENCE = "The pump house holds 12 spare valves and 3 seals for the winter season."


def test_doctests_hold() -> None:
    assert doctest.testmod(presence).failed == 0


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE,
        "The pump house\n\nholds 12\u00a0spare valves and 3 seals for the winter season.",  # white space of any kind
        "The pump house holds 12 spare val-\nves and 3 seals for the win\u00adter season.",  # hyphens at line ends
        "The pump house | holds | 12 spare valves | and 3 seals for the winter season",  # marks between cells
        "The purnp house holds 12 spare valves and 3 seals for the winter seas0n.",  # misread: 3 of 57 letters
    ],
    ids=["as it is", "spaces", "hyphens", "marks", "misread"],
)
def test_it_is_there(text: str) -> None:
    around = f"Stores. {text} Nothing else is kept."
    place = find(around, Quote(exact=SENTENCE))
    assert place is not None
    # An alignment may begin or end a few letters off.
    found = around[place[0] : place[1]].split()
    assert {"house", "holds", "12"} <= {word.strip("|") for word in found}
    assert abs(place[0] - len("Stores. ")) <= 3
    assert abs(place[1] - len(around) + len(" Nothing else is kept.")) <= 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The pump house",
        SENTENCE.replace("12", "17"),  # another number, though 98 % of the letters agree
        SENTENCE.replace("spare valves and ", "").replace("winter", "summer"),
        "The seals for the winter season and 12 spare valves and 3 more, says the pump house.",
    ],
    ids=["nothing", "its beginning", "another number", "other words", "another order"],
)
def test_it_is_not_there(text: str) -> None:
    assert find(text, Quote(exact=SENTENCE)) is None


def test_a_short_passage_is_no_part_of_a_word() -> None:
    assert find("The art-\nist left.", Quote(exact="artist")) is not None
    assert find("A smart istle.", Quote(exact="artist")) is None


def test_a_copy_says_it_only_if_it_loses_no_fact() -> None:
    own = "The valve is approved for use with steam."
    assert find_in_copy("Note. The valve is  approved for use with steam.", Quote(exact=own), own) is not None
    assert find_in_copy("Note. The valve is not approved for use with steam.", Quote(exact=own), own) is None
    # 97 % of the letters agree: enough for a text of the document's own, which may have been misread.
    assert find("Note. The valve is not approved for use with steam.", Quote(exact=own)) is not None


def test_what_follows_redaction_is_compared_word_for_word() -> None:
    assert holds("a b\n\nc d", "b c")
    assert not holds("a b x c d", "b c")
    assert holds("anything", "")
