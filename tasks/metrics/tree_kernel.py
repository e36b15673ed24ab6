"""The inner loops of the exact tree edit distance, compiled. Imported by `tree_distance` only when they are needed.

K. Zhang and D. Shasha, "Simple fast algorithms for the editing distance between trees and related problems" (1989),
restricted to a band as E. Ukkonen's for strings (1985). Edits of contents after G. Myers (1999) and H. Hyyrö (2003),
64 tokens a step. A tree is an array of rows (`LEFT` to `SLOT`) by nodes in postorder.
"""

from typing import Any

import numpy as np

from tasks.metrics.compilation import compiled

LEFT, LABEL, SUBTREE, CONTENT, INNER, DEPTH, SLOT = range(7)
"""Leftmost descendant; interned label, subtree and content (−1: none); number among inner nodes (−1: a leaf); depth
from 0; the least depth of the nodes with the same leftmost descendant."""

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@compiled
def _edits(pattern: Any, text: Any, masks: Any) -> Any:
    """Levenshtein distance of two token arrays, `pattern` of 1 to 64. `masks` (a word per token) is zero between calls.

    A word holds one column of the table of distances: where it rises (`above`) and falls (`below`) from row to row.
    """
    for i in range(pattern.size):
        masks[pattern[i]] |= _ONE << np.uint64(i)
    last = np.uint64(pattern.size - 1)
    above, below = _ALL, _NONE
    score = pattern.size
    for j in range(text.size):
        same = masks[text[j]]
        vertical = same | below
        horizontal = (((same & above) + above) ^ above) | same
        up = below | ~(horizontal | above)
        down = above & horizontal
        score += np.int64((up >> last) & _ONE) - np.int64((down >> last) & _ONE)
        up = (up << _ONE) | _ONE
        above = (down << _ONE) | ~(vertical | up)
        below = up & vertical
    for i in range(pattern.size):
        masks[pattern[i]] = _NONE
    return score


@compiled
def _long_edits(pattern: Any, text: Any, masks: Any, steps: Any) -> Any:
    """The same for any length: blocks of 64 rows, each handing its last row's `steps` (−1, 0, 1) to the next."""
    for j in range(text.size):
        steps[j] = 1
    score = 0
    for start in range(0, pattern.size, 64):
        size = min(64, pattern.size - start)
        for i in range(size):
            masks[pattern[start + i]] |= _ONE << np.uint64(i)
        last = np.uint64(size - 1)
        above, below = _ALL, _NONE
        score = start + size
        for j in range(text.size):
            rises, falls = np.uint64(steps[j] > 0), np.uint64(steps[j] < 0)
            same = masks[text[j]]
            vertical = same | below
            same |= falls
            horizontal = (((same & above) + above) ^ above) | same
            up = below | ~(horizontal | above)
            down = above & horizontal
            step = np.int64((up >> last) & _ONE) - np.int64((down >> last) & _ONE)
            steps[j] = step
            score += step
            up = (up << _ONE) | rises
            above = (down << _ONE) | falls | ~(vertical | up)
            below = up & vertical
        for i in range(size):
            masks[pattern[start + i]] = _NONE
    return score


@compiled
def _rename_cells(x: int, y: int, contents: Any, known: Any, spent: Any) -> Any:
    """Normalized edits of content x of one tree and y of the other; `known` keeps edits + 1 once they were counted."""
    tokens, starts, other_starts, masks, steps = contents
    a, b = tokens[starts[x] : starts[x + 1]], tokens[other_starts[y] : other_starts[y + 1]]
    longest = max(a.size, b.size)
    if min(a.size, b.size) == 0:
        return 1.0
    edits = int(known[x, y]) - 1
    if edits < 0:
        if a.size > b.size:
            a, b = b, a
        spent[0] += b.size * ((a.size + 63) // 64)
        if spent[0] > spent[1]:
            return 1.0
        edits = _edits(a, b, masks) if a.size <= 64 else _long_edits(a, b, masks, steps)
        if longest < (255 if known.itemsize == 1 else 65_535):
            known[x, y] = edits + 1
    return edits / longest


@compiled
def forest_distance(
    one: Any,
    a0: int,
    n: int,
    other: Any,
    b0: int,
    m: int,
    budget: float,
    width: int,
    pairs: Any,
    known: Any,
    contents: Any,
    spent: Any,
) -> Any:
    """Distance of the forests of n nodes from a0 and of m from b0, never too low; infinite where none was found.

    It is exact if it is at most `budget` and no cheaper mapping leaves the band: of p nodes against q, p − q is
    between 0 and n − m or at most `width` outside. `pairs` holds for inner nodes what mapping one to the other costs,
    their descendants included (negative: more than its opposite). `contents` = tokens, where each tree's contents
    start, masks, steps; `spent` = steps used (raised) and the most allowed, beyond which nothing is exact.
    """
    if abs(n - m) > budget:
        return np.inf
    spare = min(width, int(budget - abs(n - m)) // 2)
    low, high = min(0, m - n) - spare, max(0, m - n) + spare
    base = one[DEPTH, a0 + n - 1] if n else 0
    height = 1
    for i in range(a0, a0 + n):
        height = max(height, one[DEPTH, i] - base + 1)
    lines = np.empty((2 + height, m + 1))
    before, now = 0, 1
    for q in range(min(m, high) + 1):
        lines[now, q] = q
    for p in range(1, n + 1):
        before, now = now, before
        previous, line = lines[before], lines[now]
        a = a0 + p - 1
        from_q, to_q = max(0, p + low), min(m, p + high)
        spent[0] += max(0, to_q - from_q + 1)
        if spent[0] > spent[1]:
            return np.inf
        inner = one[INNER, a]
        saved = lines[2 + max(0, one[SLOT, a] - base)]
        if inner < 0 and one[SLOT, a] < one[DEPTH, a]:  # the line before this leaf is wanted again by its ancestors
            for q in range(max(0, p - 1 + low), min(m, p - 1 + high) + 1):
                saved[q] = previous[q]
        if p - 1 + high < m:
            previous[to_q] = np.inf
        if from_q == 0:
            line[0] = p
            from_q = 1
        else:
            line[from_q - 1] = np.inf
        source = previous if inner < 0 else saved
        left = one[LEFT, a] - a0
        label, subtree = one[LABEL, a], one[SUBTREE, a]
        for q in range(from_q, to_q + 1):
            b = b0 + q - 1
            best = min(previous[q], line[q - 1]) + 1.0
            top = other[LEFT, b] - b0
            if low <= top - left <= high:
                start = source[top]
                room = min(best, budget - abs((n - p) - (m - q))) - start
                if room >= 0.0:
                    other_inner = other[INNER, b]
                    rename = 1.0 if label != other[LABEL, b] else 0.0
                    if subtree == other[SUBTREE, b]:
                        best = start
                    elif inner >= 0 and other_inner >= 0:
                        cost = pairs[inner, other_inner]
                        if cost < 0.0 and room > -cost:
                            cost = rename + forest_distance(
                                one,
                                a0 + left,
                                p - 1 - left,
                                other,
                                b0 + top,
                                q - 1 - top,
                                room - rename,
                                width,
                                pairs,
                                known,
                                contents,
                                spent,
                            )
                            pairs[inner, other_inner] = cost if cost <= room else -room
                        if cost >= 0.0:
                            best = min(best, start + cost)
                    elif inner >= 0 or other_inner >= 0:
                        best = min(best, start + rename + ((p - left) + (q - top) - 2))
                    elif rename > 0.0:
                        best = min(best, start + 1.0)
                    elif one[CONTENT, a] >= 0:
                        best = min(
                            best, start + _rename_cells(one[CONTENT, a], other[CONTENT, b], contents, known, spent)
                        )
            line[q] = best
    return lines[now, m]
