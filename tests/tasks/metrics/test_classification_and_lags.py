import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_recall_fscore_support

from tasks.metrics.classification import class_counts, expected_calibration_error, macro_f1
from tasks.metrics.lags import lag_quantiles, quantile

LANGUAGES = ["de", "en", "fr", "und"]
BOTH = st.lists(st.tuples(st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES)), min_size=1, max_size=30)


@given(BOTH)
def test_figures_per_class_equal_scikit_learn(both: list[tuple[str, str]]) -> None:
    labelled, predicted = [a for a, _ in both], [b for _, b in both]
    counts = class_counts(labelled, predicted)
    assert macro_f1(counts) == pytest.approx(f1_score(labelled, predicted, average="macro", zero_division=0))
    names = sorted(counts)
    precision, recall, f1, _ = precision_recall_fscore_support(labelled, predicted, labels=names, zero_division=0)
    for i, name in enumerate(names):
        ours = counts[name]
        assert (ours.precision or 0, ours.recall or 0, ours.f1) == pytest.approx((precision[i], recall[i], f1[i]))


def test_a_class_that_was_never_predicted_has_no_precision() -> None:
    assert class_counts(["de"], ["fr"])["de"].precision is None
    assert macro_f1({}) is None


def test_calibration_error_worked_out_by_hand() -> None:
    # Bins (0.5, 0.6]: confidence 0.55, right 1/2; (0.9, 1]: confidence 0.975, right 1/2. (2·0.05 + 2·0.475) / 4.
    assert expected_calibration_error([0.5001, 0.5999, 0.95, 1.0], [True, False, True, False]) == pytest.approx(0.2625)
    assert expected_calibration_error([0.0, 1.0], [False, True]) == 0.0
    assert expected_calibration_error([], []) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        expected_calibration_error([1.1], [True])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.sampled_from([0.0, 0.25, 0.5, 0.95, 0.99, 1.0]))
def test_quantiles_equal_duckdb(values: list[float], share: float) -> None:
    row = duckdb.execute(
        "SELECT quantile_cont(v, ?) FROM (SELECT unnest(?::DOUBLE[]) AS v)", [share, values]
    ).fetchone()
    assert row is not None
    assert quantile(values, share) == pytest.approx(row[0], abs=1e-6)


def test_no_lag_has_no_quantile() -> None:
    assert lag_quantiles([]).p50 is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile([1.0], 2)
