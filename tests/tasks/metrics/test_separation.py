import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from tasks.metrics.separation import FOLDS, auc, auc_interval, logistic_regression, separation

RANDOM = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def same_points_whatever_ran_before() -> None:
    RANDOM.bit_generator.state = np.random.default_rng(11).bit_generator.state


def cloud(size: int, shift: float = 0.0, dimension: int = 20) -> NDArray[np.float64]:
    points = RANDOM.normal(size=(size, dimension))
    points[:, 0] += shift
    return points


def test_auc_equals_scikit_learn_with_ties() -> None:
    one, other = RANDOM.integers(0, 6, 40).astype(float), RANDOM.integers(2, 8, 60).astype(float)
    truth = np.repeat([1, 0], [40, 60])
    assert auc(one, other) == pytest.approx(roc_auc_score(truth, np.concatenate([one, other])), abs=1e-12)


@pytest.mark.parametrize(("m", "n", "shift"), [(40, 60, 0.3), (15, 200, 1.0), (10, 10, 9.0)])
def test_the_regression_is_scikit_learns(m: int, n: int, shift: float) -> None:
    points = np.concatenate([cloud(m, shift), cloud(n)])
    is_one = np.arange(m + n) < m
    weights, intercept = logistic_regression(points, is_one)
    theirs = LogisticRegression(C=1.0, tol=1e-9, max_iter=1000).fit(points, is_one)
    assert weights == pytest.approx(theirs.coef_[0], abs=1e-5)
    assert intercept == pytest.approx(theirs.intercept_[0], abs=1e-5)


def test_a_shift_that_all_can_see_is_told_apart_and_two_halves_are_not() -> None:
    shifted = separation(cloud(60, shift=8), cloud(80))
    assert shifted is not None
    assert shifted.auc > 0.99
    assert shifted.smaller == 60
    areas = [found.auc for found in (separation(cloud(40), cloud(40), seed=s) for s in range(50)) if found]
    assert len(areas) == 50
    # The standard error of one such area is about 0.065, of the mean of fifty about 0.009.
    assert np.mean(areas) == pytest.approx(0.5, abs=0.03)
    assert max(areas) < 0.75


def test_the_area_is_that_of_a_known_shift() -> None:
    # One dimension, normal, a shift of 1: the share of pairs in order is Phi(1 / sqrt 2) = 0.7602.
    found = separation(RANDOM.normal(1, size=(2000, 1)), RANDOM.normal(size=(2000, 1)))
    assert found is not None
    assert found.auc == pytest.approx(0.7602, abs=0.02)
    assert found.interval.low < 0.7602 < found.interval.high


def test_the_interval_is_never_narrower_than_what_is_seen() -> None:
    # Areas of samples drawn anew from two normal distributions with an area of 0.7602.
    drawn = [auc(RANDOM.normal(1, size=25), RANDOM.normal(size=400)) for _ in range(2000)]
    interval = auc_interval(0.7602, 25, 400)
    assert np.mean([(interval.low <= area <= interval.high) for area in drawn]) >= 0.95


def test_scale_and_origin_do_not_matter() -> None:
    one, other = cloud(30, 1.0), cloud(30)
    first, second = separation(one, other), separation(one * 1000 + 5, other * 1000 + 5)
    assert first is not None
    assert second is not None
    assert first.auc == pytest.approx(second.auc, abs=1e-3)


def test_samples_smaller_than_the_folds_have_no_area() -> None:
    assert separation(cloud(FOLDS - 1), cloud(50)) is None
    assert np.isnan(auc([], [1.0]))


def test_points_that_are_all_alike_cannot_be_told_apart() -> None:
    found = separation(np.ones((10, 3)), np.ones((10, 3)))
    assert found is not None
    assert found.auc == 0.5
