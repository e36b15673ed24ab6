"""nDCG against trec_eval's own published output, and by hand."""

from collections import defaultdict
from pathlib import Path
from statistics import mean

import pytest

from tasks.metrics.ranking import ndcg


@pytest.mark.parametrize(("k", "expected"), [(5, 0.2768), (10, 0.3016), (20, 0.3525), (100, 0.3916)])
def test_trec_evals_own_test_run(shared_data: Path, k: int, expected: float) -> None:
    folder = shared_data / "retrieval" / "trec_eval-oracle" / "test"
    judged: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (folder / "qrels.test").read_text().splitlines():
        topic, _, document, grade = line.split()
        judged[topic][document] = max(0.0, float(grade))
    ranked: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in (folder / "results.test").read_text().splitlines():
        topic, _, document, _, score, _ = line.split()
        ranked[topic].append((float(score), document))
    values = []
    for topic in ranked.keys() & judged.keys():
        gains = [judged[topic].get(document, 0.0) for _, document in sorted(ranked[topic], reverse=True)]
        values.append(ndcg(gains, list(judged[topic].values()), k))
    assert len(values) == 3
    assert round(mean(value for value in values if value is not None), 4) == expected


def test_by_hand() -> None:
    # Relevant at ranks 2 and 4 of three: (1/log2 3 + 1/log2 5) / (1 + 1/log2 3 + 1/2) = 1.061606 / 2.130930.
    assert ndcg([0, 1, 0, 1], [1, 1, 1], 10) == pytest.approx(0.498189, abs=1e-6)
    assert ndcg([1, 1], [1, 1, 1], 2) == 1
    assert ndcg([0, 0, 1], [1], 2) == 0
    assert ndcg([], [1], 10) == 0
    assert ndcg([0], [], 10) is None
