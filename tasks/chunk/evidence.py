"""How well chunks fit the passages that answer questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Interval: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class EvidenceFit:
    """Characters of evidence, of the chunks that hold any of it, of both together, and the best reachable IoU."""

    evidence: int
    held: int
    chunks: int
    ceiling: float


def evidence_fit(evidence: Sequence[Interval], chunks: Sequence[Interval]) -> EvidenceFit:
    """Overlap between a question's evidence and the chunks that overlap it, by true interval overlap in code points.

    `evidence` must not be empty. Recall is held / evidence, precision held / chunks, IoU held / (evidence + chunks -
    held). `ceiling` is the highest IoU that any set of whole chunks reaches; chunks that do not overlap one another
    are taken best first (overlap per character beside the evidence), and the best prefix is the best set.
    Source: the token-wise measures of Chroma's chunking evaluation (Smith and Troynikov, 2024), here on characters.

    >>> evidence_fit([(10, 20)], [(0, 15), (15, 45), (45, 60)])
    EvidenceFit(evidence=10, held=10, chunks=45, ceiling=0.25)
    """
    passages = union(evidence)
    holding = [(chunk, shared) for chunk in chunks if (shared := overlap([chunk], passages))]
    covered = union([chunk for chunk, _ in holding])
    wanted = length(passages)
    holding.sort(key=lambda item: (item[0][1] - item[0][0]) / item[1])
    taken: list[Interval] = []
    ceiling = 0.0
    for chunk, _ in holding:
        taken = union([*taken, chunk])
        shared = overlap(taken, passages)
        ceiling = max(ceiling, shared / (wanted + length(taken) - shared))
    return EvidenceFit(wanted, overlap(covered, passages), length(covered), ceiling)


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
