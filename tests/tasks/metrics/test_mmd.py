import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist
from scipy.stats import binom

from tasks.metrics.mmd import BANDWIDTHS, mmd

Points = NDArray[np.float64]
RANDOM = np.random.default_rng(5)


def by_definition(one: Points, other: Points) -> float:
    """The unbiased estimator term by term (Gretton et al. 2012, equation 3), with scipy's distances."""
    median = np.median(pdist(np.concatenate([one, other])))

    def kernel(a: Points, b: Points) -> Points:
        squares = cdist(a, b, "sqeuclidean")
        return np.mean([np.exp(-squares / (2 * (width * median) ** 2)) for width in BANDWIDTHS], axis=0)

    m, n = len(one), len(other)
    within, within_other = kernel(one, one), kernel(other, other)
    return float(
        (within.sum() - np.trace(within)) / (m * (m - 1))
        + (within_other.sum() - np.trace(within_other)) / (n * (n - 1))
        - 2 * kernel(one, other).mean()
    )


def unit(size: int, dimension: int, shift: float = 0.0) -> Points:
    points = RANDOM.normal(size=(size, dimension))
    points[:, 0] += shift
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize(("m", "n", "dimension", "shift"), [(2, 2, 1, 3), (40, 25, 8, 0), (300, 180, 64, 1)])
def test_the_value_is_the_definitions(m: int, n: int, dimension: int, shift: float) -> None:
    one, other = RANDOM.normal(size=(m, dimension)), RANDOM.normal(shift, size=(n, dimension))
    found = mmd(one, other)
    assert found is not None
    assert found.value == pytest.approx(by_definition(one, other), abs=2e-6)


def test_the_value_is_the_definitions_over_several_blocks_far_from_the_origin() -> None:
    # Of more than a thousand points the median is taken of some: here it is the same for all, most pairs are as far
    # apart as the corners of one triangle.
    corners = 1000 + 2 * np.eye(3)
    one, other = corners[RANDOM.choice(3, 900, p=[0.5, 0.3, 0.2])], corners[RANDOM.choice(3, 1300, p=[0.2, 0.35, 0.45])]
    found = mmd(one, other)
    assert found is not None
    assert found.value == pytest.approx(by_definition(one, other), abs=2e-6)


def test_the_p_value_is_that_of_relabelled_points() -> None:
    one, other = RANDOM.normal(size=(12, 3)), RANDOM.normal(0.5, size=(9, 3))
    both = np.concatenate([one, other])
    seen = by_definition(one, other)
    drawn = [
        by_definition(both[order[:12]], both[order[12:]]) for order in (RANDOM.permutation(21) for _ in range(2000))
    ]
    found = mmd(one, other, permutations=4999, seed=3)
    assert found is not None
    assert found.p_value is not None
    assert found.p_value == pytest.approx(np.mean(np.array(drawn) >= seen), abs=0.03)


def test_two_halves_of_one_sample_are_quiet() -> None:
    p_values = []
    for seed in range(100):
        points = unit(80, 32)
        found = mmd(points[:50], points[50:], permutations=199, seed=seed)
        assert found is not None
        assert found.p_value is not None
        p_values.append(found.p_value)
    # An exact test is below its level that often at most; both ends are beyond 999 of 1000.
    assert sum(p <= 0.05 for p in p_values) <= binom.ppf(0.999, 100, 0.05)
    assert binom.ppf(0.001, 100, 0.5) <= sum(p <= 0.5 for p in p_values) <= binom.ppf(0.999, 100, 0.5)


def test_a_planted_shift_fires() -> None:
    found = mmd(unit(60, 32, shift=2), unit(60, 32), permutations=999)
    assert found is not None
    assert found.p_value == 0.001
    assert found.value > 0.01


def test_the_same_seed_gives_the_same_answer() -> None:
    one, other = unit(30, 16), unit(50, 16)
    assert mmd(one, other, permutations=99, seed=7) == mmd(one, other, permutations=99, seed=7)


def test_points_that_are_all_alike_show_nothing() -> None:
    found = mmd(np.ones((5, 4)), np.ones((6, 4)), permutations=99)
    assert found is not None
    assert (found.value, found.p_value) == (pytest.approx(0, abs=1e-6), 1.0)


def test_one_point_is_no_sample() -> None:
    assert mmd(np.ones((1, 4)), np.ones((6, 4))) is None


def test_vectors_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(ValueError, match="vectors of 4 and of 3 numbers"):
        mmd(np.ones((5, 4)), np.ones((5, 3)))
    with pytest.raises(ValueError, match="finite"):
        mmd(np.full((5, 4), np.nan), np.ones((5, 4)))
