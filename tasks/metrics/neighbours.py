"""Neighbour stability: have the same items the same items next to them in two sets of vectors?"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.floating[Any]]

_BLOCK = 512
_SAME_SCORE = 1e-5
"""Cosines closer than this are equal: 32-bit products of one and the same pair differ by as much."""


def neighbour_overlap(one: Vectors, other: Vectors, k: int = 10) -> NDArray[np.float64]:
    """Per item the share of its `k` nearest in `one` that are among its `k` nearest in `other`; 0 to 1, 1 is stable.

    Row i of both, shapes (n, d) and (n, e), is the same item. Nearest is by cosine, the item itself left out; a
    neighbour that is as near as the k-th one of the other set counts, since equal texts have equal vectors and which
    of them comes first says nothing. With fewer than k + 1 items k is what there is; a single item has no neighbour:
    NaN. Memory is in blocks of 512 items.

    Two sets of vectors of different models may be compared by this too, but what is called stable then is not a
    vector, only a ranking.

    Raises:
        ValueError: the two do not hold the same number of items.

    Items at 0°, 10°, 30° and 100°; in the other set the third has moved to 95°. With k = 1 the first and the second
    keep each other, the fourth keeps the third, and the third, next to the second before, is now next to the fourth.

    >>> at = lambda *degrees: np.array([[np.cos(np.radians(d)), np.sin(np.radians(d))] for d in degrees])
    >>> neighbour_overlap(at(0, 10, 30, 100), at(0, 10, 95, 100), 1).tolist()
    [1.0, 1.0, 0.0, 1.0]
    """
    if len(one) != len(other):
        raise ValueError(f"the same items are needed in both sets, not {len(one)} and {len(other)}")
    number = len(one)
    k = min(k, number - 1)
    if k < 1:
        return np.full(number, np.nan)
    found = np.empty(number)
    for rows, before, after in zip(_parts(number), _cosines(one), _cosines(other), strict=True):
        kept = _nearest(before, k)
        least = np.partition(after, number - k, axis=1)[:, number - k]
        found[rows] = (np.take_along_axis(after, kept, 1) >= least[:, None] - _SAME_SCORE).mean(axis=1)
    return found


def _parts(number: int) -> Iterator[slice]:
    for start in range(0, number, _BLOCK):
        yield slice(start, min(start + _BLOCK, number))


def _cosines(vectors: Vectors) -> Iterator[NDArray[np.float32]]:
    """Block by block the cosines of items with all items; minus infinity with themselves."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    unit = unit.astype(np.float32)
    for rows in _parts(len(unit)):
        cosines = unit[rows] @ unit.T
        cosines[np.arange(len(cosines)), np.arange(rows.start, rows.stop)] = -np.inf
        yield cosines


def _nearest(cosines: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The k columns with the highest values of each row, in no order."""
    return np.argpartition(cosines, cosines.shape[1] - k, axis=1)[:, cosines.shape[1] - k :]
