import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import pair_confusion_matrix

from tasks.metrics.pairs import adjusted_rand, bcubed, cluster_pairs, pair_counts

CLUSTERINGS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=30)


def split(both: list[tuple[int, int]]) -> tuple[dict[str, int], dict[str, int]]:
    return {str(i): one for i, (one, _) in enumerate(both)}, {str(i): other for i, (_, other) in enumerate(both)}


@given(CLUSTERINGS)
def test_adjusted_rand_equals_scikit_learn(both: list[tuple[int, int]]) -> None:
    labelled, predicted = split(both)
    expected = adjusted_rand_score(list(labelled.values()), list(predicted.values()))
    assert adjusted_rand(labelled, predicted) == pytest.approx(expected)


@given(CLUSTERINGS)
def test_pair_counts_equal_scikit_learn(both: list[tuple[int, int]]) -> None:
    labelled, predicted = split(both)
    counts = pair_counts(cluster_pairs(labelled), cluster_pairs(predicted))
    (_, false), (missed, true) = pair_confusion_matrix(list(labelled.values()), list(predicted.values()))
    assert (counts.merged_duplicates, counts.false_merges, counts.missed_merges) == (true // 2, false // 2, missed // 2)


def test_bcubed_of_bagga_and_baldwins_example() -> None:
    # Twelve mentions in entities of 5, 2 and 5; the response joins the last two. Published: precision 0.76, recall 1.
    labelled = {str(i): 0 if i < 5 else 1 if i < 7 else 2 for i in range(12)}
    joined = {name: cluster and 1 for name, cluster in labelled.items()}
    result = bcubed(labelled, joined)
    assert result.precision == pytest.approx((5 + 2 * 2 / 7 + 5 * 5 / 7) / 12)
    assert round(result.precision, 2) == 0.76
    assert result.recall == 1.0


def test_rates_of_nothing_are_null() -> None:
    counts = pair_counts(set(), set())
    assert counts.precision is counts.recall is counts.f1 is counts.false_merge_rate is counts.missed_merge_rate is None
    assert adjusted_rand({"a": 1}, {"a": 1}) is None


def test_different_documents_are_refused() -> None:
    with pytest.raises(ValueError, match="same documents"):
        bcubed({"a": 1}, {"b": 1})
