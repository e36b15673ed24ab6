"""How sure a figure is: intervals, paired comparisons, and corrections for looking many times.

Everything random takes a seed and gives the same answer each time. Documents are the unit of resampling, since two
tables or two chunks of one document are no independent evidence.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Alternative: TypeAlias = Literal["two-sided", "less", "greater"]

RESAMPLES = 2000
_BLOCK = 100_000
"""Random positions drawn at once: what fits in a core's cache, whatever the number of documents."""
_EXACT_SIGNS = 16
"""Up to so many differences that are not 0, all assignments of signs are looked at."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval in the unit of the figure it belongs to."""

    low: float
    high: float


def wilson(successes: float, number: float, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of a proportion, without continuity correction; null for no item.

    Source: Wilson, 1927. Raises ValueError where successes are negative or more than the items.

    >>> interval = wilson(8, 10)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.4902, 0.9433)
    """
    if not 0 <= successes <= number:
        raise ValueError(f"{successes} successes of {number} items")
    if not number:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / number
    centre = share + z * z / (2 * number)
    spread = z * sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    scale = 1 + z * z / number
    # At the ends the bound is exact; rounding must not push it past 0 or 1.
    low = 0.0 if successes == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if successes == number else min(1.0, (centre + spread) / scale)
    return Interval(low, high)


def rule_of_three(number: int, confidence: float = 0.95) -> float:
    """The highest rate of an event that was not seen in `number` items: 1 − (1 − confidence)^(1/number), about 3/n.

    1 for no item. Source: the one-sided Clopper-Pearson bound at zero events.

    >>> round(rule_of_three(100), 4)
    0.0295
    """
    return 1.0 if number <= 0 else 1 - (1 - confidence) ** (1 / number)


def equal_values_interval(
    value: float, number: int, lowest: float, highest: float, confidence: float = 0.95
) -> Interval:
    """The interval of a mean when all `number` values are the same, where a bootstrap would say "certain".

    A share of the population no larger than the rule of three allows may lie at an end of the range
    [lowest, highest]; the mean moves by that share of the way.

    >>> interval = equal_values_interval(1.0, 10, 0.0, 1.0)
    >>> round(interval.low, 4), interval.high
    (0.7411, 1.0)
    """
    unseen = rule_of_three(number, confidence)
    return Interval(value - unseen * (value - lowest), value + unseen * (highest - value))


def bootstrap_mean(
    values: ArrayLike, *, seed: int, confidence: float = 0.95, resamples: int = RESAMPLES
) -> Interval | None:
    """Percentile bootstrap of the mean over documents; null for no document.

    Source: Efron, 1979. Equal values give an interval of no width: see `equal_values_interval`.

    >>> bootstrap_mean([2.0, 2.0, 2.0], seed=1)
    Interval(low=2.0, high=2.0)
    """
    data = _floats(values)
    if not len(data):
        return None
    return _percentiles(_resampled_sums((data,), seed, resamples)[0] / len(data), confidence)


def bootstrap_ratio(
    numerators: ArrayLike,
    denominators: ArrayLike,
    *,
    seed: int,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Percentile bootstrap over documents of a ratio of sums (a micro average); null where the denominators sum to 0.

    A resample whose denominator is 0 has no ratio and is left out.

    >>> bootstrap_ratio([1.0, 2.0], [2.0, 4.0], seed=1)
    Interval(low=0.5, high=0.5)
    """
    top, bottom = _same_length(numerators, denominators)
    if not bottom.sum():
        return None
    if not top.any() or (top == bottom).all():
        # The ratio is the same in every resample that has one.
        return Interval(float(top.any()), float(top.any()))
    return _percentiles(_ratios(*_resampled_sums((top, bottom), seed, resamples)), confidence)


def paired_bootstrap_mean(
    candidate: ArrayLike, baseline: ArrayLike, *, seed: int, confidence: float = 0.95, resamples: int = RESAMPLES
) -> Interval | None:
    """Percentile bootstrap of mean(candidate) − mean(baseline) over the same documents; null for no document.

    >>> paired_bootstrap_mean([0.5, 0.75], [0.25, 0.5], seed=1)
    Interval(low=0.25, high=0.25)
    """
    new, old = _same_length(candidate, baseline)
    return bootstrap_mean(new - old, seed=seed, confidence=confidence, resamples=resamples)


def paired_bootstrap_ratio(
    candidate: tuple[ArrayLike, ArrayLike],
    baseline: tuple[ArrayLike, ArrayLike],
    *,
    seed: int,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Percentile bootstrap of the difference of two ratios of sums, (numerators, denominators) each, by document.

    Null where the denominators of either sum to 0.

    >>> paired_bootstrap_ratio(([3, 6], [4, 8]), ([1, 2], [4, 8]), seed=1)
    Interval(low=0.5, high=0.5)
    """
    new_top, new_bottom = _same_length(*candidate)
    old_top, old_bottom = _same_length(*baseline)
    _same_length(new_top, old_top)
    if not new_bottom.sum() or not old_bottom.sum():
        return None
    sums = _resampled_sums((new_top, new_bottom, old_top, old_bottom), seed, resamples)
    return _percentiles(_ratios(sums[0], sums[1]) - _ratios(sums[2], sums[3]), confidence)


def sign_flip_test(
    differences: ArrayLike, *, seed: int, alternative: Alternative = "two-sided", resamples: int = 9999
) -> float | None:
    """p-value of "the differences are symmetric about 0", by flipping the sign of each; null for no difference.

    `less` asks whether the differences are below 0, `greater` above. Differences of exactly 0 say nothing and are
    left out; if all are 0, p is 1. Up to 16 others it is exact (all 2^n signs); else (1 + hits) / (1 + resamples),
    which is never 0. Source: Fisher, 1935; Phipson and Smyth, 2010, for the added 1.

    Three differences of one sign: of the 8 assignments of signs 1 (one side) or 2 (two sides) are as extreme.

    >>> sign_flip_test([1.0, 2.0, 3.0], seed=1, alternative="greater"), sign_flip_test([1.0, 2.0, 3.0], seed=1)
    (0.125, 0.25)
    """
    data = _floats(differences)
    if not len(data):
        return None
    data = data[data != 0]
    if not len(data):
        return 1.0
    exact = len(data) <= _EXACT_SIGNS
    sums = _all_signs(data) if exact else _random_signs(data, seed, resamples)
    extreme = _EXTREME[alternative]
    # Sums that differ only by rounding are equal.
    hits = int(np.count_nonzero(extreme(sums, data.sum(), 1e-12 * np.abs(data).sum())))
    return hits / len(sums) if exact else (hits + 1) / (resamples + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted so that the chance of any false alarm among them stays under the level; the order is kept.

    Source: Holm, 1979.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def _floats(values: ArrayLike) -> Floats:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not np.isfinite(data).all():
        raise ValueError("the values must be a row of finite numbers")
    return data


def _same_length(one: ArrayLike, other: ArrayLike) -> tuple[Floats, Floats]:
    first, second = _floats(one), _floats(other)
    if len(first) != len(second):
        raise ValueError(f"paired values must be of the same documents, not {len(first)} and {len(second)}")
    return first, second


def _resampled_sums(columns: Sequence[Floats], seed: int, resamples: int) -> list[Floats]:
    """For each column its sum in each resample; all columns are drawn at the same documents."""
    number = len(columns[0])
    random = np.random.Generator(np.random.SFC64(seed))
    # A column of ones (the weights of a mean) has the same sum in every resample.
    sums = [np.full(resamples, float(number)) if (column == 1).all() else np.empty(resamples) for column in columns]
    varied = [(column, total) for column, total in zip(columns, sums, strict=True) if not (column == 1).all()]
    step = max(1, _BLOCK // number)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = random.integers(0, number, (size, number), dtype=np.uint32)
        for column, total in varied:
            # Four times as quick as `column.take`.
            total[start : start + size] = column[drawn].sum(axis=1)
    return sums


def _ratios(numerators: Floats, denominators: Floats) -> Floats:
    return np.divide(numerators, denominators, out=np.full_like(numerators, np.nan), where=denominators != 0)


def _percentiles(figures: Floats, confidence: float) -> Interval:
    low, high = np.nanquantile(figures, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def _all_signs(data: Floats) -> Floats:
    sums = np.zeros(1)
    for value in data:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _random_signs(data: Floats, seed: int, resamples: int) -> Floats:
    """Sums under random signs. A random byte picks one of the 256 signed sums of eight values, worked out once."""
    padded = np.zeros(-(-len(data) // 8) * 8)
    padded[: len(data)] = data
    signs = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    table = padded.reshape(-1, 8) @ signs.T
    random = np.random.Generator(np.random.SFC64(seed))
    sums = np.empty(resamples)
    groups = np.arange(len(table))
    step = max(1, _BLOCK // len(table))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = random.integers(0, 256, (size, len(table)), dtype=np.uint8)
        sums[start : start + size] = table[groups, drawn].sum(axis=1)
    return sums


_EXTREME: dict[Alternative, Callable[[Floats, float, float], NDArray[np.bool_]]] = {
    "two-sided": lambda sums, seen, slack: np.abs(sums) >= abs(seen) - slack,
    "greater": lambda sums, seen, slack: sums >= seen - slack,
    "less": lambda sums, seen, slack: sums <= seen + slack,
}
