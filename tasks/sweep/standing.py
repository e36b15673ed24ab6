"""Which point is best by a measure, and of which others that is shown: paired by document, corrected for many."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from tasks.figures.figures import seed_of
from tasks.gate.evidence import ALPHA, Demonstration, adjusted
from tasks.metrics.randomization import exchange_test
from tasks.sweep.chosen import Chosen

_EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class Standing:
    """How the points stand by one measure, over all documents (`group` null) or one part of them.

    `leader` has the best figure (the first of several), `level` are the points that are not shown to be worse, itself
    included. `p_values` are of the tests that were made. `tested` is false where a figure has no parts by document, so
    that nothing can be shown of it; `enough` is false where so few documents differ that no test could show anything.
    """

    chosen: Chosen
    group: str | None
    leader: int
    level: tuple[int, ...]
    points: tuple[int, ...]
    p_values: Mapping[int, float]
    tested: bool
    enough: bool

    def of(self, point: int) -> str | None:
        """`best`, `level` or `worse`; null of a point without a figure, and where all are level: nothing is told."""
        if point not in self.points:
            return None
        if point not in self.level:
            return "worse"
        return "best" if len(self.level) == 1 and len(self.points) > 1 else "level"


def stand(
    chosen: Chosen, group: str | None, values: Mapping[int, float | None], samples: Mapping[int, pl.DataFrame]
) -> Standing | None:
    """Compares the points' figures of a measure; null where none can be better, or no point has a figure.

    Args:
        chosen: the measure.
        group: the part of the documents that the figures are of.
        values: the figure by point.
        samples: columns document_id, amount, weight by point, of these documents; of a census they are not looked at,
            since its figures are of every document there is.
    """
    known = {point: value for point, value in values.items() if value is not None}
    if not chosen.ranked or not known:
        return None
    leader = max(known, key=lambda point: (chosen.sign * known[point], -point))
    others = [point for point in known if point != leader]
    if chosen.metric.basis == "census":
        level = [point for point in known if abs(known[point] - known[leader]) <= _EQUAL]
        return Standing(chosen, group, leader, tuple(level), tuple(known), {}, True, True)
    tests: dict[int, Demonstration] = {}
    for point in others:
        found = _test(chosen, samples.get(leader), samples.get(point))
        if found is not None:
            tests[point] = found
    p_values = dict(zip(tests, adjusted(list(tests.values()))[0], strict=True)) if tests else {}
    level = [point for point in known if point == leader or p_values.get(point, 1.0) >= ALPHA]
    enough = any(test.least <= ALPHA for test in tests.values())
    return Standing(chosen, group, leader, tuple(level), tuple(known), p_values, bool(tests) or not others, enough)


def _test(chosen: Chosen, leader: pl.DataFrame | None, other: pl.DataFrame | None) -> Demonstration | None:
    """Whether the leader is better; a document that only one of them measured weighs nothing in the other."""
    if leader is None or other is None or leader.is_empty() or other.is_empty():
        return None
    both = leader.join(other, on="document_id", how="full", coalesce=True, suffix="_other").sort("document_id")
    columns = [
        both.get_column(name).fill_null(0.0).cast(pl.Float64).to_numpy()
        for name in ("amount", "weight", "amount_other", "weight_other")
    ]
    if chosen.aggregation == "sum":  # a sum is compared as the mean over the same documents
        columns[1] = columns[3] = np.ones(both.height)
    sign = chosen.sign
    test = exchange_test((sign * columns[0], columns[1]), (sign * columns[2], columns[3]), seed=seed_of(chosen.metric))
    return None if test is None else Demonstration(test.p_value, test.least)
