"""The exchange test against scipy's permutation test."""

import numpy as np
import pytest
from scipy.stats import permutation_test

from tasks.metrics.randomization import exchange_test


def _ratios(number: int, seed: int, shift: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    w, v = random.integers(1, 9, number).astype(float), random.integers(1, 9, number).astype(float)
    return np.minimum(w, np.round(w * random.uniform(0.3 + shift, 1, number))), w, np.round(v * 0.5), v


def _by_scipy(a: np.ndarray, w: np.ndarray, b: np.ndarray, v: np.ndarray, resamples: float) -> float:
    amounts, weights = np.concatenate([a, b]), np.concatenate([w, v])

    def difference(one: np.ndarray, other: np.ndarray) -> float:
        i, j = one.astype(int), other.astype(int)
        return float(amounts[i].sum() / weights[i].sum() - amounts[j].sum() / weights[j].sum())

    rows = np.arange(len(a), dtype=float)
    found = permutation_test(
        (rows, rows + len(a)),
        difference,
        permutation_type="samples",
        alternative="greater",
        vectorized=False,
        n_resamples=resamples,
        rng=1,
    )
    return float(found.pvalue)


@pytest.mark.parametrize("seed", range(5))
def test_with_few_documents_it_is_scipys_exact_test(seed: int) -> None:
    a, w, b, v = _ratios(9, seed, 0.1)
    test = exchange_test((a, w), (b, v), seed=1)
    assert test is not None
    assert test.value == pytest.approx(a.sum() / w.sum() - b.sum() / v.sum())
    assert test.p_value == pytest.approx(_by_scipy(a, w, b, v, np.inf))


def test_with_many_documents_it_comes_near_scipys_resampled_one() -> None:
    a, w, b, v = _ratios(60, 3, -0.1)
    test = exchange_test((a, w), (b, v), seed=1)
    assert test is not None
    assert test.p_value == pytest.approx(_by_scipy(a, w, b, v, 9999), abs=0.02)
    assert test.p_value == exchange_test((a, w), (b, v), seed=1).p_value  # type: ignore[union-attr]


def test_a_false_alarm_on_a_document_that_the_other_does_not_weigh_counts() -> None:
    # Precision: both right on five documents; the second also flags five that the first leaves alone.
    first = [1.0] * 5 + [0.0] * 5, [1.0] * 5 + [0.0] * 5
    second = [1.0] * 5 + [0.0] * 5, [1.0] * 10
    test = exchange_test(first, second, seed=1)
    assert test is not None
    # Of the 32 exchanges only the one seen gives a precision of 1 against one of 1/2.
    assert (test.value, test.p_value, test.least) == (0.5, 1 / 32, 1 / 32)


def test_nothing_that_differs_and_nothing_that_weighs() -> None:
    same = [1.0, 0.0], [1.0, 1.0]
    assert exchange_test(same, same, seed=1).p_value == 1  # type: ignore[union-attr]
    assert exchange_test(same, ([0.0, 0.0], [0.0, 0.0]), seed=1) is None
    with pytest.raises(ValueError, match="same documents"):
        exchange_test(same, ([1.0], [1.0]), seed=1)
