"""Figures of a classifier: per class, over classes, and whether its confidence can be believed."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import fsum
from typing import TypeVar

from tasks.metrics.rates import DetectionCounts, ratio

C = TypeVar("C", bound=Hashable)


def class_counts(labelled: Sequence[C], predicted: Sequence[C]) -> dict[C, DetectionCounts]:
    """For each class that is labelled or predicted: items matched, predicted and labelled.

    Raises:
        ValueError: the two sequences differ in length.

    >>> counts = class_counts(["de", "de", "fr"], ["de", "fr", "fr"])
    >>> counts["de"]
    DetectionCounts(matched=1, predicted=1, labelled=2)
    >>> counts["fr"].precision, counts["fr"].recall
    (0.5, 1.0)
    """
    matched = Counter(true for true, found in zip(labelled, predicted, strict=True) if true == found)
    by_label, by_prediction = Counter(labelled), Counter(predicted)
    classes = list(dict.fromkeys((*labelled, *predicted)))
    return {name: DetectionCounts(matched[name], by_prediction[name], by_label[name]) for name in classes}


def macro_f1(counts: Mapping[C, DetectionCounts]) -> float | None:
    """Mean F1 over the classes that occur, each weighing the same; null for no class. Range 0 to 1, higher is better.

    A class that is only predicted or only labelled has an F1 of 0.

    >>> round(macro_f1(class_counts(["de", "de", "fr"], ["de", "fr", "fr"])), 6)
    0.666667
    """
    scores = [count.f1 for count in counts.values() if count.f1 is not None]
    return ratio(fsum(scores), len(scores))


def expected_calibration_error(confidences: Sequence[float], correct: Sequence[bool], bins: int = 10) -> float | None:
    """Mean distance of confidence and accuracy over bins of equal width, weighted by their items.

    Range 0 to 1, lower is better; null for no item. Bins are closed above, the first one below as well.
    Source: Guo, Pleiss, Sun and Weinberger, 2017.

    Raises:
        ValueError: the sequences differ in length, or a confidence lies outside 0 to 1.

    Two items at 0.9, one right: the bin's confidence is 0.9, its accuracy 0.5.

    >>> round(expected_calibration_error([0.9, 0.9], [True, False]), 6)
    0.4
    """
    sums: dict[int, list[float]] = {}
    for confidence, right in zip(confidences, correct, strict=True):
        if not 0 <= confidence <= 1:
            raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
        place = max(0, -int(-confidence * bins // 1) - 1)
        total = sums.setdefault(place, [0.0, 0.0])
        total[0] += confidence
        total[1] += right
    return ratio(fsum(abs(confidence - right) for confidence, right in sums.values()), len(confidences))
