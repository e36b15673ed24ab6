"""Quantiles of lags and durations."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor


@dataclass(frozen=True, slots=True)
class LagQuantiles:
    """p50, p95 and p99 in the unit of the values; null for no value."""

    p50: float | None
    p95: float | None
    p99: float | None


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value below which `share` of the values lie, linear between neighbours (DuckDB's `quantile_cont`).

    Null for no value. Raises ValueError for a share outside 0 to 1. Source: Hyndman and Fan, 1996, type 7.

    >>> quantile([4.0, 1.0, 3.0, 2.0], 0.5)
    2.5
    """
    if not 0 <= share <= 1:
        raise ValueError(f"a quantile's share lies between 0 and 1, not at {share}")
    if not values:
        return None
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def lag_quantiles(values: Sequence[float]) -> LagQuantiles:
    """The three quantiles of a freshness or latency figure.

    >>> lag_quantiles([float(n) for n in range(101)])
    LagQuantiles(p50=50.0, p95=95.0, p99=99.0)
    """
    return LagQuantiles(quantile(values, 0.5), quantile(values, 0.95), quantile(values, 0.99))
