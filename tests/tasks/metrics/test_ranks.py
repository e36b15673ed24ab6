"""The rank test against scipy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from tasks.metrics.ranks import rank_test

_VALUES = st.lists(st.integers(-3, 12), min_size=1, max_size=40)


@given(_VALUES, _VALUES)
def test_with_ties_it_is_scipys(own: list[int], other: list[int]) -> None:
    found = rank_test(own, other)
    by_scipy = mannwhitneyu(own, other, alternative="two-sided")
    assert found.delta == pytest.approx(2 * by_scipy.statistic / (len(own) * len(other)) - 1)
    assert found.p_value == pytest.approx(1.0 if np.isnan(by_scipy.pvalue) else by_scipy.pvalue, rel=1e-9)


@pytest.mark.parametrize(("few", "many"), [(3, 5), (8, 30), (9, 30), (400, 900)])
def test_without_ties_it_is_scipys(few: int, many: int) -> None:
    chance = np.random.default_rng(few)
    own, other = chance.normal(0.3, size=few), chance.normal(size=many)
    by_scipy = mannwhitneyu(own, other, alternative="two-sided")
    assert rank_test(own, other).p_value == pytest.approx(by_scipy.pvalue, rel=1e-9)


def test_values_that_are_all_alike_have_no_ranks() -> None:
    found = rank_test([2.0] * 9, [2.0] * 20)
    assert (found.delta, found.p_value) == (0, 1)


def test_an_empty_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        rank_test([], [1.0])
