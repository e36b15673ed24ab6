"""How well chunks fit the passages that answer questions."""

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.metrics.intervals import Interval, length, overlap, union


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
