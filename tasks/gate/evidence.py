"""What can be shown from a limited number of documents: tests of losses and bounds, and how small a loss they see."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tasks.metrics.statistics import Interval, holm, paired_bootstrap_ratio, sign_flip_test

Floats: TypeAlias = NDArray[np.float64]

ALPHA = 0.05
"""Level of every demonstration: at most this chance of a false alarm among the slices of a rule."""
_POWER = 0.8
_ROUNDING = 1e-9
"""Differences below this are rounding, not losses."""


@dataclass(frozen=True, slots=True)
class Paired:
    """A figure's parts by document in two runs, in the same order of documents.

    Amount over weight is a document's own figure. `sign` is 1 where higher is better and -1 where lower is.
    """

    amounts: Floats
    weights: Floats
    base_amounts: Floats
    base_weights: Floats
    sign: int

    @property
    def value(self) -> float:
        """The run's figure over these documents."""
        return float(self.amounts.sum() / self.weights.sum())

    @property
    def base_value(self) -> float:
        """The baseline's figure over these documents."""
        return float(self.base_amounts.sum() / self.base_weights.sum())

    @property
    def loss(self) -> float:
        """How much worse the run's figure is; negative where it is better."""
        return self.sign * (self.base_value - self.value)

    @property
    def losses(self) -> Floats:
        """Each document's own loss."""
        found: Floats = self.sign * (self.base_amounts / self.base_weights - self.amounts / self.weights)
        return np.where(np.abs(found) < _ROUNDING, 0.0, found)

    @property
    def shares(self) -> Floats:
        """Each document's share of the figure, by its mean weight in the two runs."""
        weights = self.weights + self.base_weights
        shares: Floats = weights / weights.sum()
        return shares

    def interval(self, seed: int) -> Interval | None:
        """95 % interval of the loss, paired by document; null where no document changed or all did alike."""
        if not self.losses.any():
            return None
        found = paired_bootstrap_ratio((self.amounts, self.weights), (self.base_amounts, self.base_weights), seed=seed)
        if found is None or found.low == found.high:
            return None
        low, high = sorted((-self.sign * found.low, -self.sign * found.high))
        return Interval(low, high)

    def test(self, max_loss: float, seed: int) -> "Demonstration":
        """Whether the loss exceeds `max_loss`, by flipping signs of the documents that changed.

        Documents with the same figure in both runs are known, not uncertain: they dilute the loss but say nothing
        about its sign. The changed ones together must lose more than `max_loss` of the whole.

        >>> five = Paired(np.full(5, 0.5), np.ones(5), np.full(5, 0.9), np.ones(5), 1)
        >>> five.test(0.02, seed=1)
        Demonstration(p_value=0.03125, least=0.03125)
        """
        changed = self.losses != 0
        if not changed.any():
            return Demonstration(1.0, 1.0)
        shares = self.shares[changed]
        excess = shares * (self.losses[changed] - max_loss / shares.sum())
        return _sign_test(excess, seed)

    def detectable(self, max_loss: float, level: float) -> float | None:
        """The smallest loss that would have been shown four times in five; null where no loss could have been.

        It rests on how unlike the documents' losses were; where none changed, it is the allowed loss itself.
        """
        if len(self.losses) < documents_needed(level):
            return None
        around = self.losses - self.losses.mean()
        error = float(np.sqrt(np.sum((self.shares * around) ** 2)))
        reach = NormalDist().inv_cdf(1 - level) + NormalDist().inv_cdf(_POWER)
        return max_loss + reach * error


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A one-sided p-value, and the least that these documents could have given."""

    p_value: float
    least: float


def bound_test(amounts: Floats, weights: Floats, threshold: float, sign: int, seed: int) -> Demonstration:
    """Whether a figure lies beyond its bound: below a floor (`sign` 1), above a ceiling (`sign` -1).

    Where every document is one trial, the exact binomial test (Clopper and Pearson, 1934), else sign flips of each
    document's distance from the bound.

    Of 10 documents 5 pass, the floor is 0.9: P(at most 5 of 10 at 0.9) = 0.0016.

    >>> round(bound_test(np.repeat([1.0, 0.0], 5), np.ones(10), 0.9, 1, seed=1).p_value, 4)
    0.0016
    """
    if np.all(weights == 1) and np.all((amounts == 0) | (amounts == 1)) and 0 < threshold < 1:
        from scipy.special import bdtr, bdtrc

        number, successes = len(amounts), int(amounts.sum())
        if sign > 0:
            return Demonstration(float(bdtr(successes, number, threshold)), float((1 - threshold) ** number))
        above = float(bdtrc(successes - 1, number, threshold)) if successes else 1.0
        return Demonstration(above, float(threshold**number))
    return _sign_test(sign * (threshold * weights - amounts), seed)


def adjusted(tests: Sequence[Demonstration]) -> tuple[list[float], float]:
    """Holm's adjusted p-values, and the level at which the strictest of them was held.

    Slices too small to show anything at all do not make the others wait (Tarone, 1990): a test whose least p-value is
    above the level can raise no false alarm, so it is no part of the family. Its p-value stays as it is.

    >>> adjusted([Demonstration(0.01, 0.001), Demonstration(0.25, 0.25), Demonstration(0.04, 0.001)])
    ([0.02, 0.25, 0.04], 0.025)
    """
    able = [i for i, test in enumerate(tests) if test.least <= ALPHA]
    values = [test.p_value for test in tests]
    for i, value in zip(able, holm([values[i] for i in able]), strict=True):
        values[i] = value
    return values, ALPHA / max(1, len(able))


def documents_needed(level: float) -> int:
    """How many documents must lose before sign flips can show it at this level.

    >>> documents_needed(0.05), documents_needed(0.01)
    (5, 7)
    """
    return ceil(log2(1 / level))


def _sign_test(excess: Floats, seed: int) -> Demonstration:
    p_value = sign_flip_test(excess, seed=seed, alternative="greater")
    return Demonstration(1.0 if p_value is None else p_value, float(0.5 ** int(np.count_nonzero(excess))))
