"""The rank test against scipy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from tasks.metrics.rank_sum import rank_sum_test

_VALUES = st.lists(st.integers(-3, 12), min_size=1, max_size=40)


@given(_VALUES, _VALUES)
def test_with_ties_it_is_scipys(own: list[int], other: list[int]) -> None:
    found = rank_sum_test(own, other)
    by_scipy = mannwhitneyu(own, other, alternative="two-sided")
    assert found.delta == pytest.approx(2 * by_scipy.statistic / (len(own) * len(other)) - 1)
    assert found.p_value == pytest.approx(1.0 if np.isnan(by_scipy.pvalue) else by_scipy.pvalue, rel=1e-9)


@pytest.mark.parametrize(("few", "many"), [(3, 5), (8, 30), (9, 30), (400, 900)])
def test_without_ties_it_is_scipys(few: int, many: int) -> None:
    chance = np.random.default_rng(few)
    own, other = chance.normal(0.3, size=few), chance.normal(size=many)
    by_scipy = mannwhitneyu(own, other, alternative="two-sided")
    assert rank_sum_test(own, other).p_value == pytest.approx(by_scipy.pvalue, rel=1e-9)


@pytest.mark.parametrize("number", [29, 330_292, 1_000_003])
def test_values_that_are_all_alike_have_no_ranks(number: int) -> None:
    """The cube of the number of ties is rounded in a double, from some hundred thousand values on upwards too."""
    found = rank_sum_test(np.zeros(9), np.zeros(number - 9))
    assert (found.delta, found.p_value) == (0, 1)


@pytest.mark.parametrize(("own", "other"), [([], [1.0]), ([1.0], []), ([np.nan], [1.0]), ([1.0], [2.0, np.nan])])
def test_what_has_no_rank_is_refused(own: list[float], other: list[float]) -> None:
    with pytest.raises(ValueError, match="no rank"):
        rank_sum_test(own, other)
