"""Duplicate pairs and clusters: what was merged against what should have been."""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb, fsum
from typing import TypeAlias

from tasks.metrics.rates import f_score, ratio

Pair: TypeAlias = tuple[str, str]


def pair(one: str, other: str) -> Pair:
    """Two documents without order.

    >>> pair("b", "a")
    ('a', 'b')
    """
    return (one, other) if one < other else (other, one)


def cluster_pairs(clusters: Mapping[str, Hashable]) -> set[Pair]:
    """All pairs that share a cluster; quadratic in the size of a cluster.

    >>> sorted(cluster_pairs({"a": 1, "b": 1, "c": 1, "d": 2}))
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    members: dict[Hashable, list[str]] = defaultdict(list)
    for document, cluster in clusters.items():
        members[cluster].append(document)
    return {pair(*two) for group in members.values() for two in combinations(group, 2)}


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Merged pairs that are duplicates, merged pairs that are not, and duplicate pairs that were not merged."""

    merged_duplicates: int
    false_merges: int
    missed_merges: int

    @property
    def precision(self) -> float | None:
        """Duplicates among the merged pairs; null where nothing was merged."""
        return ratio(self.merged_duplicates, self.merged_duplicates + self.false_merges)

    @property
    def recall(self) -> float | None:
        """Merged among the duplicate pairs; null where there is no duplicate."""
        return ratio(self.merged_duplicates, self.merged_duplicates + self.missed_merges)

    @property
    def f1(self) -> float | None:
        """2 · merged duplicates / (merged + duplicates); null where both are 0."""
        return ratio(2 * self.merged_duplicates, 2 * self.merged_duplicates + self.false_merges + self.missed_merges)

    @property
    def false_merge_rate(self) -> float | None:
        """false merges / merged pairs = 1 − precision: destroys answers. Null where nothing was merged."""
        return ratio(self.false_merges, self.merged_duplicates + self.false_merges)

    @property
    def missed_merge_rate(self) -> float | None:
        """missed merges / duplicate pairs = 1 − recall: wastes the index. Null where there is no duplicate."""
        return ratio(self.missed_merges, self.merged_duplicates + self.missed_merges)


def pair_counts(
    duplicates: Collection[Pair], merged: Collection[Pair], judged: Collection[Pair] | None = None
) -> PairCounts:
    """Compares merged pairs with the labelled duplicates. Pairs are made by `pair`.

    Where `judged` is given, only these pairs (duplicates or not) are looked at: a merged pair that nobody judged is
    neither right nor wrong. Without it the labels are complete: every pair not in `duplicates` is none.

    >>> pair_counts({("a", "b"), ("c", "d")}, {("a", "b"), ("a", "e")})
    PairCounts(merged_duplicates=1, false_merges=1, missed_merges=1)
    >>> pair_counts({("a", "b")}, {("a", "b"), ("a", "e")}, judged={("a", "b"), ("c", "d")})
    PairCounts(merged_duplicates=1, false_merges=0, missed_merges=0)
    """
    true, found = set(duplicates), set(merged)
    if judged is not None:
        true, found = true & set(judged), found & set(judged)
    return PairCounts(len(true & found), len(found - true), len(true - found))


@dataclass(frozen=True, slots=True)
class BCubed:
    """Mean over documents; null for no document. Range 0 to 1, higher is better."""

    precision: float | None
    recall: float | None
    f1: float | None


def bcubed(labelled: Mapping[str, Hashable], predicted: Mapping[str, Hashable]) -> BCubed:
    """B-cubed of two clusterings of the same documents.

    A document's precision is the share of its predicted cluster that belongs to its labelled cluster; its recall the
    other way round; both are averaged over documents. Source: Bagga and Baldwin, 1998.

    Raises:
        ValueError: the two do not cluster the same documents.

    >>> bcubed({"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 1, "c": 1})
    BCubed(precision=0.5555555555555555, recall=1.0, f1=0.7142857142857143)
    """
    both, true, found = _contingency(labelled, predicted)
    documents = both.total()
    precision = ratio(fsum(n * n / found[cluster] for (_, cluster), n in both.items()), documents)
    recall = ratio(fsum(n * n / true[cluster] for (cluster, _), n in both.items()), documents)
    return BCubed(precision, recall, f_score(precision, recall))


def adjusted_rand(labelled: Mapping[str, Hashable], predicted: Mapping[str, Hashable]) -> float | None:
    """Agreement of two clusterings on pairs of documents, corrected for chance.

    1 for equal clusterings, about 0 for chance, down to −0.5; null for fewer than two documents; 1 where chance
    leaves no room (both all apart, or both all together). Source: Hubert and Arabie, 1985.

    Raises:
        ValueError: the two do not cluster the same documents.

    >>> round(adjusted_rand(dict(a=0, b=0, c=1, d=1), dict(a=0, b=0, c=1, d=2)), 6)
    0.571429
    """
    both, true, found = _contingency(labelled, predicted)
    total = comb(both.total(), 2)
    if not total:
        return None
    together, in_true, in_found = (_pairs_within(counts.values()) for counts in (both, true, found))
    expected = in_true * in_found / total
    highest = (in_true + in_found) / 2
    return (together - expected) / (highest - expected) if highest != expected else 1.0


def _pairs_within(sizes: Iterable[int]) -> int:
    return sum(comb(size, 2) for size in sizes)


def _contingency(
    labelled: Mapping[str, Hashable], predicted: Mapping[str, Hashable]
) -> tuple[Counter[tuple[Hashable, Hashable]], Counter[Hashable], Counter[Hashable]]:
    if labelled.keys() != predicted.keys():
        raise ValueError("the two clusterings must hold the same documents")
    both: Counter[tuple[Hashable, Hashable]] = Counter((labelled[key], predicted[key]) for key in labelled)
    return both, Counter(labelled.values()), Counter(predicted.values())
