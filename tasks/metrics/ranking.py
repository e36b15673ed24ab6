"""How good a ranking is."""

from collections.abc import Sequence
from math import log2


def ndcg(gains: Sequence[float], relevant: Sequence[float], k: int) -> float | None:
    """Normalized discounted cumulative gain of the first `k` of a ranking: 0 to 1, higher is better.

    `gains` are those of the found items in their order (0 for one that is not relevant), `relevant` those of all items
    that are relevant, found or not. A gain at rank r counts gain / log2(r + 1); the sum is divided by that of the best
    ranking there could be. Null where nothing is relevant.
    Source: Järvelin and Kekäläinen 2002, with linear gain as trec_eval's `ndcg_cut`.

    >>> round(ndcg([1, 0, 1], [1, 1, 1], 10), 4)
    0.7039
    >>> ndcg([0, 0], [], 10) is None
    True
    """
    best = _dcg(sorted(relevant, reverse=True)[:k])
    return _dcg(gains[:k]) / best if best else None


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))
