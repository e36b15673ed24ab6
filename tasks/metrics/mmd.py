"""Maximum mean discrepancy: do two samples of vectors come from one distribution?"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import exp
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.floating[Any]]
_Floats32: TypeAlias = NDArray[np.float32]

BANDWIDTHS = (0.5, 1.0, 2.0)
"""Bandwidths of the kernel, in medians of the distances."""
_FOR_THE_MEDIAN = 1000
_BLOCK = 1024
"""Points per block: a block of kernel values is 4 MiB, whatever the size of the samples."""
_SAME = 1e-7
"""What rounding does to equal values."""
_MIDDLE = sum(exp(-1 / (2 * width**2)) for width in BANDWIDTHS) / len(BANDWIDTHS)
"""The kernel at the median distance. Taken from all pairs alike it changes no discrepancy, and rounding is less."""


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """The squared maximum mean discrepancy of two samples, and how often chance gives as much."""

    value: float
    p_value: float | None
    """Null where no permutations were asked for."""


def mmd(one: Vectors, other: Vectors, *, permutations: int = 0, seed: int = 0) -> Discrepancy | None:
    """Unbiased squared maximum mean discrepancy of two samples (m, d) and (n, d), with a permutation p-value.

    The mean kernel value within `one`, plus that within `other`, less twice that between the two; pairs of a point
    with itself are left out. The kernel is the mean of three Gaussians exp(-distance² / 2 s²) with s of one half,
    one and two times the median distance between points of both samples (of a thousand of them, drawn by a fixed seed,
    where there are more). 0 is expected for one and the same distribution, and values below 0 are chance; 2 is the
    most. Null where a sample has fewer than two points. Works in blocks of 32-bit floats: values are good to about
    1e-6, and memory does not grow with m times n.

    The p-value is (1 + permutations whose value is at least as large) / (1 + permutations), of relabelled points; each
    block of the kernel is used for all of them at once. Points must be independent of one another: take one chunk of a
    document.

    Raises:
        ValueError: vectors that are not finite, or not of one dimension.

    Source: Gretton, Borgwardt, Rasch, Schölkopf and Smola 2012, A kernel two-sample test (lemma 6, and section 8 for
    the median); Phipson and Smyth 2010 for the added 1.

    Two points at 0 and two at 1: the median of the distances 0, 0, 1, 1, 1, 1 is 1, so that the kernel is 1 within a
    sample and (exp(-2) + exp(-1/2) + exp(-1/8)) / 3 = 0.5415 between: 1 + 1 - 2 · 0.5415.

    >>> found = mmd(np.zeros((2, 1)), np.ones((2, 1)))
    >>> round(found.value, 4)
    0.9171
    """
    first, second = _matrix(one), _matrix(other)
    if first.shape[1:] != second.shape[1:]:
        raise ValueError(f"vectors of {first.shape[1]} and of {second.shape[1]} numbers cannot be compared")
    if min(len(first), len(second)) < 2:
        return None
    points = np.concatenate([first, second])
    # Distances do not mind where the origin is, but rounding does.
    points = (points - points.mean(axis=0)).astype(np.float32)
    median = _median_square(points)
    # All points alike, or more than half of them: any bandwidth will do.
    scale = median if median > 0 else float(np.square(points).sum(axis=1).max()) or 1.0
    members = _memberships(len(first), len(points), permutations, seed)
    values = _discrepancies(points, members, len(first), scale)
    if not permutations:
        return Discrepancy(float(values[0]), None)
    hits = int(np.count_nonzero(values[1:] >= values[0] - _SAME))
    return Discrepancy(float(values[0]), (1 + hits) / (1 + permutations))


def _matrix(vectors: Vectors) -> NDArray[np.float64]:
    matrix = np.asarray(vectors, np.float64)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError("a sample must be a matrix of finite numbers, a row per point")
    return matrix


def _median_square(points: _Floats32) -> float:
    """The squared median distance between different points, of at most a thousand."""
    if len(points) > _FOR_THE_MEDIAN:
        drawn = np.random.default_rng(0).choice(len(points), _FOR_THE_MEDIAN, replace=False)
        points = points[drawn]
    squares = _squares(points, points)
    return float(np.median(np.sqrt(squares[np.triu_indices(len(points), 1)]))) ** 2


def _squares(one: _Floats32, other: _Floats32) -> _Floats32:
    """Squared Euclidean distances of each point of one to each of the other."""
    squares = one @ other.T
    squares *= -2
    squares += np.einsum("ij,ij->i", one, one)[:, None]
    squares += np.einsum("ij,ij->i", other, other)[None, :]
    np.maximum(squares, 0, out=squares)
    return squares


def _memberships(size: int, number: int, permutations: int, seed: int) -> _Floats32:
    """Who is of the first sample: 1 or 0 per point (rows), as drawn (first column) and relabelled (the others)."""
    members = np.zeros((1 + permutations, number), np.float32)
    members[:, :size] = 1
    random = np.random.Generator(np.random.SFC64(seed))
    members[1:] = random.permuted(members[1:], axis=1)
    return np.ascontiguousarray(members.T)


def _discrepancies(points: _Floats32, members: _Floats32, size: int, scale: float) -> NDArray[np.float64]:
    """The statistic of each column of `members`.

    With k the kernel without its diagonal and a the column: the sum within the first sample is a'ka, that with
    everybody a'k1, and the others follow from the sum of all.
    """
    number = len(points)
    within = np.zeros(members.shape[1])
    sums = np.zeros(number)
    for rows, columns in _blocks(number):
        kernel = _kernel(points[rows], points[columns], scale)
        if rows == columns:
            np.fill_diagonal(kernel, 0)
        twice = 1 if rows == columns else 2
        within += twice * np.einsum("ij,ij->j", members[rows], kernel @ members[columns])
        sums[rows] += kernel.sum(axis=1, dtype=np.float64)
        if rows != columns:
            sums[columns] += kernel.sum(axis=0, dtype=np.float64)
    with_all = sums @ members
    others = number - size
    between = with_all - within
    within_others = sums.sum() - 2 * with_all + within
    found: NDArray[np.float64] = (
        within / (size * (size - 1)) + within_others / (others * (others - 1)) - 2 * between / (size * others)
    )
    return found


def _kernel(one: _Floats32, other: _Floats32, scale: float) -> _Floats32:
    """Mean of the three Gaussians, less `_MIDDLE`.

    Their exponents are as 1 to 4 to 16, so that one exponential gives all three.
    """
    wide = _squares(one, other)
    wide *= -1 / (2 * scale * BANDWIDTHS[-1] ** 2)
    np.exp(wide, out=wide)
    middle = np.square(wide)
    np.square(middle, out=middle)
    wide += middle
    np.square(middle, out=middle)
    np.square(middle, out=middle)
    wide += middle
    wide /= len(BANDWIDTHS)
    wide -= np.float32(_MIDDLE)
    return wide


def _blocks(number: int) -> Iterator[tuple[slice, slice]]:
    """The blocks of the upper triangle of a symmetric matrix."""
    parts = [slice(start, min(start + _BLOCK, number)) for start in range(0, number, _BLOCK)]
    yield from combinations_with_replacement(parts, 2)
