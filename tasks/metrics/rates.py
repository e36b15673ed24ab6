"""Precision, recall and their mean from counts; an empty denominator gives null, never 0 or 1."""

from dataclasses import dataclass


def ratio(numerator: float, denominator: float) -> float | None:
    """numerator / denominator; null over an empty denominator.

    >>> ratio(1, 4), ratio(0, 0)
    (0.25, None)
    """
    return numerator / denominator if denominator else None


def f_score(precision: float | None, recall: float | None, beta: float = 1.0) -> float | None:
    """The weighted harmonic mean; recall counts `beta` times as much as precision. Range 0 to 1, higher is better.

    Null where either is null; 0 where both are 0. Source: van Rijsbergen, Information Retrieval, 1979.

    >>> f_score(0.5, 1.0)
    0.6666666666666666
    >>> round(f_score(0.5, 1.0, beta=2.0), 4)
    0.8333
    """
    if precision is None or recall is None:
        return None
    weighted = beta * beta * precision + recall
    return (1 + beta * beta) * precision * recall / weighted if weighted else 0.0


@dataclass(frozen=True, slots=True)
class DetectionCounts:
    """Items matched one to one between what is labelled and what was predicted.

    >>> counts = DetectionCounts(matched=2, predicted=4, labelled=3)
    >>> counts.precision, round(counts.recall, 4), round(counts.f1, 4)
    (0.5, 0.6667, 0.5714)
    """

    matched: int
    predicted: int
    labelled: int

    @property
    def precision(self) -> float | None:
        """matched / predicted; null where nothing was predicted."""
        return ratio(self.matched, self.predicted)

    @property
    def recall(self) -> float | None:
        """matched / labelled; null where nothing is labelled."""
        return ratio(self.matched, self.labelled)

    @property
    def f1(self) -> float | None:
        """2 · matched / (predicted + labelled), the harmonic mean as a ratio of sums; null where both are 0."""
        return ratio(2 * self.matched, self.predicted + self.labelled)
