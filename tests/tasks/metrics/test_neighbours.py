import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from tasks.metrics.neighbours import neighbour_overlap

RANDOM = np.random.default_rng(3)


def by_scikit_learn(one: NDArray[np.float64], other: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    found = [
        NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute")
        .fit(vectors)
        .kneighbors(return_distance=False)
        for vectors in (one, other)
    ]
    return np.array([len(set(a) & set(b)) / k for a, b in zip(*found, strict=True)])


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0, 10.0])
def test_equals_scikit_learn(noise: float) -> None:
    one = RANDOM.normal(size=(700, 24))
    other = one + noise * RANDOM.normal(size=one.shape)
    assert neighbour_overlap(one, other, 10) == pytest.approx(by_scikit_learn(one, other, 10), abs=0.101)
    assert neighbour_overlap(one, other, 10).mean() == pytest.approx(by_scikit_learn(one, other, 10).mean(), abs=1e-3)


@given(st.integers(2, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_a_rotation_and_a_scale_leave_all_neighbours(number: int, k: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(number, 6))
    turned = np.linalg.qr(draw.normal(size=(6, 6)))[0]
    assert neighbour_overlap(vectors, 3 * vectors @ turned, k).tolist() == [1.0] * number


def test_unrelated_vectors_share_neighbours_by_chance_only() -> None:
    # Ten of the 400 others, drawn twice: 10 / 400 are shared.
    overlap = neighbour_overlap(RANDOM.normal(size=(401, 30)), RANDOM.normal(size=(401, 30)), 10)
    assert overlap.mean() == pytest.approx(10 / 400, abs=0.01)


def test_equal_vectors_take_each_others_place() -> None:
    vectors = RANDOM.normal(size=(30, 8))
    vectors[10:20] = vectors[0]
    order = np.r_[0:10, 19:9:-1, 20:30]
    assert neighbour_overlap(vectors, vectors[order], 3).min() == 1.0


def test_a_single_item_has_no_neighbour() -> None:
    assert np.isnan(neighbour_overlap(np.ones((1, 3)), np.ones((1, 3)))).all()
    assert neighbour_overlap(np.ones((0, 3)), np.ones((0, 3))).tolist() == []
    with pytest.raises(ValueError, match="the same items"):
        neighbour_overlap(np.ones((2, 3)), np.ones((3, 3)))
