import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from tasks.metrics.block_match import match_blocks, order_counts
from tasks.metrics.garbage import garbage_characters


@given(st.permutations(range(12)))
def test_order_equals_scipys_kendall_tau(order: list[int]) -> None:
    assert order_counts(list(enumerate(order))).tau == pytest.approx(kendalltau(range(12), order).statistic)


def test_one_block_has_no_order() -> None:
    assert order_counts([(0, 0)]).tau is None


def test_repeated_texts_match_in_their_order() -> None:
    assert match_blocks(["Note", "x y z", "Note"], ["Note", "Note", "x  y z"]) == [(0, 0), (1, 2), (2, 1)]


def test_the_most_similar_block_wins_and_unlike_ones_stay_alone() -> None:
    labelled = ["The quick brown fox jumps over the dog"]
    predicted = [
        "The quick brown fox",
        "The quick brown fox jumps over the cat",
        "The quick brown fox jumps over a dog",
    ]
    assert match_blocks(labelled, predicted) == [(0, 2)]
    assert match_blocks(labelled, ["An altogether different sentence"]) == []
    assert match_blocks([""], [""]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain text\twith\r\nlines", 0), ("\ufffd\ue000\U000f0001", 3), ("(cid:12)(cid:3)", 15), ("a\x00\x85b", 2)],
)
def test_garbage_is_counted(text: str, expected: int) -> None:
    assert garbage_characters(text) == expected
