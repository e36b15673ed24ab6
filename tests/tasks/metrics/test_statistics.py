import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from tasks.metrics.statistics import (
    bootstrap_mean,
    bootstrap_ratio,
    equal_values_interval,
    holm,
    paired_bootstrap_mean,
    paired_bootstrap_ratio,
    rule_of_three,
    sign_flip_test,
    wilson,
)


@pytest.fixture(scope="module", autouse=True)
def frozen_heap() -> None:
    """`multipletests` collects garbage at each call, which takes a second in a process that has loaded much."""
    gc.collect()
    gc.freeze()


VALUES = np.random.default_rng(7).gamma(2.0, size=80)


@pytest.mark.parametrize(("successes", "number"), [(0, 5), (5, 5), (1, 10), (81, 263), (15, 148), (999, 1000)])
def test_wilson_equals_scipy(successes: int, number: int) -> None:
    expected = stats.binomtest(successes, number).proportion_ci(method="wilson")
    interval = wilson(successes, number)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


def test_wilson_of_newcombes_published_examples() -> None:
    # Newcombe 1998, table I, method 3: 81/263, 15/148, 0/20, 1/29.
    for (successes, number), bounds in {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }.items():
        interval = wilson(successes, number)
        assert interval is not None
        assert (round(interval.low, 4), round(interval.high, 4)) == bounds


def test_wilson_of_nothing_is_null_and_of_nonsense_refused() -> None:
    assert wilson(0, 0) is None
    with pytest.raises(ValueError, match="successes"):
        wilson(3, 2)


def test_no_event_in_n_is_no_certainty() -> None:
    for number in (1, 10, 300):
        assert rule_of_three(number) == pytest.approx(
            stats.binomtest(0, number, alternative="less").proportion_ci(method="exact").high
        )
    assert rule_of_three(0) == 1.0
    interval = equal_values_interval(0.0, 30, 0.0, 1.0)
    assert interval.low == 0.0
    assert interval.high == pytest.approx(0.0950, abs=1e-4)


def test_bootstrap_of_a_mean_agrees_with_scipy() -> None:
    expected = stats.bootstrap((VALUES,), np.mean, n_resamples=4000, method="percentile", rng=1).confidence_interval
    interval = bootstrap_mean(VALUES, seed=1, resamples=4000)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), rel=0.02)


def test_bootstrap_of_a_ratio_of_sums_agrees_with_scipy() -> None:
    weights = np.random.default_rng(8).integers(1, 50, len(VALUES)).astype(float)
    top = VALUES * weights
    expected = stats.bootstrap(
        (top, weights),
        lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=4000,
        method="percentile",
        rng=1,
    ).confidence_interval
    interval = bootstrap_ratio(top, weights, seed=1, resamples=4000)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), rel=0.02)


def test_pairing_takes_the_documents_own_spread_out() -> None:
    baseline = VALUES * 100
    interval = paired_bootstrap_mean(baseline + 1, baseline, seed=1)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((1.0, 1.0))
    lengths = np.full(len(VALUES), 200.0)
    ratio = paired_bootstrap_ratio((baseline + 1, lengths), (baseline, lengths), seed=1)
    assert ratio is not None
    assert (ratio.low, ratio.high) == pytest.approx((0.005, 0.005))


def test_the_same_seed_gives_the_same_interval_and_nothing_gives_null() -> None:
    assert bootstrap_mean(VALUES, seed=3) == bootstrap_mean(VALUES, seed=3)
    assert bootstrap_mean(VALUES, seed=3) != bootstrap_mean(VALUES, seed=4)
    assert bootstrap_mean([], seed=1) is None
    assert bootstrap_ratio([1.0], [0.0], seed=1) is None
    assert sign_flip_test([], seed=1) is None
    with pytest.raises(ValueError, match="same documents"):
        bootstrap_ratio([1.0], [1.0, 2.0], seed=1)
    with pytest.raises(ValueError, match="finite"):
        bootstrap_mean([float("nan")], seed=1)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("number", [6, 14])
def test_few_differences_are_tested_exactly_as_by_scipy(number: int, alternative: str) -> None:
    differences = np.random.default_rng(number).normal(0.4, 1.0, number)
    expected = stats.permutation_test(
        (differences,),
        lambda x, axis: x.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
        alternative=alternative,
    ).pvalue
    assert sign_flip_test(differences, seed=1, alternative=alternative) == pytest.approx(expected)


def test_many_differences_approach_the_normal_distribution_and_p_is_never_zero() -> None:
    differences = np.random.default_rng(5).normal(0.05, 1.0, 1003)
    z = differences.sum() / np.sqrt((differences**2).sum())
    p = sign_flip_test(differences, seed=1)
    assert p == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.02)
    assert sign_flip_test(np.ones(500), seed=1, resamples=999) == 1 / 1000
    assert sign_flip_test(np.zeros(5), seed=1) == 1.0


def test_holm_of_a_published_example() -> None:
    # Wikipedia's worked example of the Holm-Bonferroni method: 0.01, 0.04, 0.03, 0.005; two are rejected at 0.05.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_equals_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


@given(st.integers(1, 500), st.integers(0, 500))
def test_wilson_equals_statsmodels(number: int, successes: int) -> None:
    interval = wilson(min(successes, number), number)
    assert interval is not None
    expected = proportion_confint(min(successes, number), number, method="wilson")
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_lies_between_the_p_value_and_bonferroni(p_values: list[float]) -> None:
    for p, adjusted in zip(p_values, holm(p_values), strict=True):
        assert p <= adjusted <= min(1.0, p * len(p_values)) + 1e-12
