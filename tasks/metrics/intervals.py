"""Sets of points given as intervals [start, end)."""

from collections.abc import Sequence
from typing import TypeAlias

Interval: TypeAlias = tuple[int, int]


def union(intervals: Sequence[Interval]) -> list[Interval]:
    """The same points as disjoint intervals, ascending.

    >>> union([(5, 9), (0, 2), (1, 3)])
    [(0, 3), (5, 9)]
    """
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def length(intervals: Sequence[Interval]) -> int:
    """Points in disjoint intervals."""
    return sum(end - start for start, end in intervals)


def overlap(left: Sequence[Interval], right: Sequence[Interval]) -> int:
    """Points that two lists of disjoint, ascending intervals share."""
    shared = i = j = 0
    while i < len(left) and j < len(right):
        shared += max(0, min(left[i][1], right[j][1]) - max(left[i][0], right[j][0]))
        if left[i][1] <= right[j][1]:
            i += 1
        else:
            j += 1
    return shared
