"""Classifier two-sample test: can a classifier tell two samples of vectors apart?"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.metrics.statistics import Interval, wilson

Floats: TypeAlias = NDArray[np.float64]
Vectors: TypeAlias = NDArray[np.floating[Any]]

FOLDS = 5
_STEPS = 50
_FLAT = 1e-6
"""Slope of the loss at which the regression is found."""
_SOLVED = 1e-3
"""What a Newton step may leave of the slope, as a share."""


@dataclass(frozen=True, slots=True)
class Separation:
    """How well a classifier tells two samples apart that it has not seen: 0.5 not at all, 1 wholly."""

    auc: float
    interval: Interval
    """95 %, see `auc_interval`."""
    smaller: int
    """Points of the smaller sample: what the interval rests on."""


def separation(one: Vectors, other: Vectors, *, seed: int = 0) -> Separation | None:
    """Area under the ROC curve of a logistic regression that tells points of `one` (m, d) from those of `other` (n, d).

    Five folds, stratified and drawn by the seed: each point is scored by a regression fitted without its fold. The area
    is the share of pairs, one of each sample and both of one fold, in which the point of `one` scores higher, ties
    counting one half, weighted by pairs over the folds: scores of different regressions are not compared. The vectors
    are centred and scaled as a whole to a mean squared norm of 1; the regression has an L2 penalty (C = 1) and a free
    intercept. Null where a sample has fewer than five points. Below 0.5 is chance.

    Points must be independent of one another: take one chunk of a document.

    Source: Lopez-Paz and Oquab 2017, Revisiting classifier two-sample tests, with the AUC in place of the accuracy,
    which does not mind samples of unlike sizes.

    >>> points = np.arange(20.0)[:, None]
    >>> separation(points[:10], points[10:]).auc
    1.0
    """
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if min(len(first), len(second)) < FOLDS:
        return None
    points = np.concatenate([first, second])
    points = points - points.mean(axis=0)
    spread = float(np.sqrt(np.mean(np.square(points).sum(axis=1))))
    points /= spread or 1.0
    is_one = np.arange(len(points)) < len(first)
    folds = _folds(len(first), len(second), seed)
    higher = pairs = 0.0
    for fold in range(FOLDS):
        out = folds == fold
        weights, intercept = logistic_regression(points[~out], is_one[~out])
        scores = np.einsum("ij,j->i", points[out], weights) + intercept
        number = float(is_one[out].sum()) * float((~is_one[out]).sum())
        higher += number * auc(scores[is_one[out]], scores[~is_one[out]])
        pairs += number
    area = higher / pairs
    return Separation(area, auc_interval(area, len(first), len(second)), min(len(first), len(second)))


def auc(one: ArrayLike, other: ArrayLike) -> float:
    """Share of pairs in which the score of `one` is the higher; ties count one half (Mann and Whitney, 1947).

    NaN where a sample is empty.

    >>> auc([2.0, 3.0], [1.0, 3.0])
    0.625
    """
    first, second = np.asarray(one, np.float64), np.sort(np.asarray(other, np.float64))
    if not len(first) or not len(second):
        return float("nan")
    lower, not_higher = (np.searchsorted(second, first, side=side) for side in ("left", "right"))
    return float((lower + not_higher).mean() / (2 * len(second)))


def auc_interval(area: float, one: int, other: int) -> Interval:
    """95 % interval of an area under the ROC curve of two samples of these sizes: Wilson's over the smaller one.

    The variance of an area A is at most A (1 - A) / the smaller size, whatever the scores (Birnbaum and Klose, 1957);
    so the interval is rather too wide.

    >>> interval = auc_interval(1.0, 35, 400)
    >>> round(interval.low, 3), interval.high
    (0.901, 1.0)
    """
    size = min(one, other)
    found = wilson(area * size, size)
    if found is None:
        raise ValueError("an empty sample has no area under the curve")
    return found


def logistic_regression(points: Floats, is_one: NDArray[np.bool_], penalty: float = 1.0) -> tuple[Floats, float]:
    """Weights (d,) and intercept that minimize |weights|² penalty / 2 + the sum of log(1 + exp(-margin)).

    The margin of a point is its score, points · weights + intercept, with the sign of its side. Newton's method, each
    step by conjugate gradients and halved until the loss falls.
    """
    # Products by einsum, not by BLAS: that starts threads for each of these small ones, which cost more than they do.
    design = np.column_stack([points, np.ones(len(points))])
    ridge = np.append(np.full(points.shape[1], penalty), 0.0)
    sides = np.where(is_one, 1.0, -1.0)

    def loss(values: Floats) -> float:
        margins = sides * np.einsum("ij,j->i", design, values)
        return float(np.logaddexp(0, -margins).sum() + (ridge * values**2).sum() / 2)

    values = np.zeros(design.shape[1])
    now = loss(values)
    for _ in range(_STEPS):
        # The logistic function, without overflow.
        likely = (1 + np.tanh(np.einsum("ij,j->i", design, values) / 2)) / 2
        slope = np.einsum("ij,i->j", design, likely - is_one) + ridge * values
        if np.abs(slope).max() <= _FLAT:
            break
        step = _solve(design, likely * (1 - likely), ridge, slope)
        size = 1.0
        while (tried := loss(values - size * step)) > now and size > _FLAT:
            size /= 2
        values, now = values - size * step, min(now, tried)
    return values[:-1], float(values[-1])


def _solve(design: Floats, curvature: Floats, ridge: Floats, slope: Floats) -> Floats:
    """The Newton step: (design' curvature design + ridge) step = slope, by conjugate gradients (Hestenes, 1952)."""
    step = np.zeros_like(slope)
    rest, direction = slope.copy(), slope.copy()
    size = float(np.square(rest).sum())
    enough = size * _SOLVED**2
    for _ in range(len(slope)):
        if size <= enough:
            break
        bent = np.einsum("ij,i->j", design, curvature * np.einsum("ij,j->i", design, direction)) + ridge * direction
        length = size / float((direction * bent).sum())
        step += length * direction
        rest -= length * bent
        before, size = size, float(np.square(rest).sum())
        direction = rest + size / before * direction
    return step


def _folds(one: int, other: int, seed: int) -> NDArray[np.int64]:
    """The fold of each point: each sample is shuffled and dealt out in turn."""
    random = np.random.default_rng(seed)
    return np.concatenate([random.permutation(size) % FOLDS for size in (one, other)])
