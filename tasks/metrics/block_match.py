"""Matching the blocks of two versions of a document by their text, and whether their order was kept."""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Indel, LCSseq

from tasks.metrics.rates import ratio
from tasks.metrics.text_distance import comparison_text

SIMILARITY_LIMIT = 0.8
"""Least similarity of two blocks (1 − insertions and deletions / both lengths) that count as the same."""


def match_blocks(
    labelled: Sequence[str], predicted: Sequence[str], limit: float = SIMILARITY_LIMIT
) -> list[tuple[int, int]]:
    """Pairs (labelled, predicted) of positions, one to one, sorted.

    Texts are compared as `comparison_text` makes them. Equal ones match first, repeated ones in their order; then the
    most similar ones of the rest, down to the limit, ties in order. Empty texts match nothing.

    >>> match_blocks(["One", "A longer text"], ["A longer text.", "One", "More"])
    [(0, 1), (1, 0)]
    """
    left = [comparison_text(text) for text in labelled]
    right = [comparison_text(text) for text in predicted]
    places: dict[str, list[int]] = defaultdict(list)
    for j in range(len(right) - 1, -1, -1):
        places[right[j]].append(j)
    pairs = {i: places[text].pop() for i, text in enumerate(left) if text and places.get(text)}
    taken = set(pairs.values())
    similar = sorted(
        (-similarity, i, j)
        for i, text in enumerate(left)
        if text and i not in pairs
        for j, other in enumerate(right)
        if other and j not in taken and _may_reach(len(text), len(other), limit)
        if (similarity := Indel.normalized_similarity(text, other, score_cutoff=limit)) >= limit
    )
    for _, i, j in similar:
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return sorted(pairs.items())


def _may_reach(one: int, other: int, limit: float) -> bool:
    """Whether texts of these lengths can be as similar as the limit."""
    return 2 * min(one, other) >= limit * (one + other)


@dataclass(frozen=True, slots=True)
class OrderCounts:
    """Pairs of matched blocks in the labelled order, and in the other one."""

    concordant: int
    discordant: int

    @property
    def tau(self) -> float | None:
        """Kendall's tau: 1 for the labelled order, −1 for its reverse; null for fewer than two blocks."""
        return ratio(self.concordant - self.discordant, self.concordant + self.discordant)


def order_counts(pairs: Sequence[tuple[int, int]]) -> OrderCounts:
    """Counts over all pairs of matched blocks. Source: Kendall, 1938.

    Two columns read line by line: of the six pairs of blocks one is the wrong way round.

    >>> order_counts([(0, 0), (1, 2), (2, 1), (3, 3)])
    OrderCounts(concordant=5, discordant=1)
    """
    seen: list[int] = []
    discordant = 0
    for _, place in sorted(pairs):
        discordant += len(seen) - bisect_right(seen, place)
        insort(seen, place)
    return OrderCounts(len(seen) * (len(seen) - 1) // 2 - discordant, discordant)


def common_in_order(labelled: Sequence[Hashable], predicted: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence: items that both have, in the same order.

    >>> common_in_order(["Intro", "Scope", "Terms"], ["Intro", "Terms", "Scope"])
    2
    """
    return LCSseq.similarity(labelled, predicted)
