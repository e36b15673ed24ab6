"""Every figure here is worked out by hand or published."""

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS
from schemas.figures import FIGURES
from schemas.names import MetricStatus, StageName
from tasks.figures.catalogue import Catalogue, Metric
from tasks.figures.figures import run_figures
from tasks.metrics.rows import MetricRows


def measure(name: str, **changes: Any) -> Metric:
    fields: dict[str, Any] = {
        "id": name,
        "stage": "parse",
        "version": 1,
        "title": name,
        "definition": "of this test",
        "needs": "gold",
        "labels": ("text",),
        "basis": "sample",
        "unit": "ratio",
        "range": (0.0, 1.0),
        "direction": "higher",
        "aggregation": ("micro",),
        "per": "document",
        "empty": "",
        "missing_score": None,
        "missing_note": "",
        "slices": (),
        "source": "",
        "oracle": "",
    }
    return Metric.model_validate(fields | changes)


def documents(classes: dict[str, str], cohort: str = "new") -> pa.Table:
    rows = [
        {
            "document_id": document_id,
            "source": "s",
            "uri": document_id,
            "locator": document_id,
            "doc_class": doc_class,
            "tenant": "t",
            "groups": [],
            "content_sha": "0",
            "cohort": cohort,
        }
        for document_id, doc_class in classes.items()
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


class Figures:
    """Figures of one measure, looked up by place."""

    def __init__(self, table: pa.Table) -> None:
        assert table.schema.equals(FIGURES)
        self.rows = table.to_pylist()

    def at(self, metric: str, **place: Any) -> dict[str, Any]:
        wanted = {"doc_class": None, "cohort": None, "slice_key": None, "slice_value": None} | place
        found = [r for r in self.rows if r["metric"] == metric and all(r[k] == v for k, v in wanted.items())]
        assert len(found) == 1, found
        return found[0]


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as opened:
        yield opened


def figures(
    connection: duckdb.DuckDBPyConnection, rows: MetricRows, classes: dict[str, str], *metrics: Metric
) -> Figures:
    connection.register("documents", documents(classes))
    connection.register("measures", rows.table())
    return Figures(run_figures(connection, Catalogue(metrics=metrics)))


def test_micro_weighs_documents_by_size_and_macro_does_not(connection: duckdb.DuckDBPyConnection) -> None:
    rows = MetricRows(StageName.PARSE)
    for name in ("by_size", "by_document"):
        rows.ratio(name, "a", 1, 2)
        rows.ratio(name, "b", 90, 100)
    found = figures(
        connection, rows, {"a": "x", "b": "y"}, measure("by_size"), measure("by_document", aggregation=("macro",))
    )
    assert found.at("by_size")["value"] == pytest.approx(91 / 102)
    assert found.at("by_document")["value"] == pytest.approx((0.5 + 0.9) / 2)
    assert found.at("by_size", doc_class="x")["value"] == 0.5
    assert (found.at("by_size")["numerator"], found.at("by_size")["denominator"]) == (91, 102)


def test_units_make_the_figure_and_are_not_counted_twice_with_their_document(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    rows = MetricRows(StageName.PARSE)
    for unit, value in (("t1", 1.0), ("t2", 0.4)):
        rows.value("teds", "a", value, unit_id=unit)
    rows.value("teds", "b", 0.1, unit_id="t1")
    rows.value("teds", "b", 0.9)
    found = figures(connection, rows, {"a": "x", "b": "x"}, measure("teds", per="unit", aggregation=("macro",)))
    assert found.at("teds")["value"] == pytest.approx(0.5)
    assert (found.at("teds")["items"], found.at("teds")["documents"]) == (3, 2)


def test_a_missing_output_counts_with_the_score_that_the_catalogue_gives_it(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    rows = MetricRows(StageName.PARSE)
    rows.value("scored", "a", 0.8)
    rows.without_value("scored", "b", MetricStatus.MISSING)
    rows.value("unscored", "a", 0.8)
    rows.without_value("unscored", "b", MetricStatus.MISSING)
    found = figures(
        connection,
        rows,
        {"a": "x", "b": "x"},
        measure("scored", aggregation=("macro",), missing_score=0.0),
        measure("unscored", aggregation=("macro",)),
    )
    assert found.at("scored")["value"] == pytest.approx(0.4)
    assert found.at("scored")["n_missing"] == 1
    assert found.at("unscored")["value"] == pytest.approx(0.8)
    assert found.at("unscored")["n_missing"] == 1


def test_what_cannot_be_scored_is_counted_and_never_averaged(connection: duckdb.DuckDBPyConnection) -> None:
    rows = MetricRows(StageName.PARSE)
    rows.ratio("share", "a", 3, 4)
    for document_id, status in zip("bcde", list(MetricStatus)[2:], strict=True):
        rows.without_value("share", document_id, status)
    found = figures(connection, rows, dict.fromkeys("abcde", "x"), measure("share")).at("share")
    assert found["value"] == 0.75
    assert found["items"] == 1
    assert [found[f"n_{s}"] for s in ("invalid", "not_applicable", "stale_label", "lost_upstream")] == [1, 1, 1, 1]


def test_a_document_without_units_is_counted_for_a_measure_of_units(connection: duckdb.DuckDBPyConnection) -> None:
    rows = MetricRows(StageName.PARSE)
    rows.value("teds", "a", 0.5, unit_id="t1")
    rows.without_value("teds", "b", MetricStatus.NOT_APPLICABLE)
    found = figures(connection, rows, {"a": "x", "b": "x"}, measure("teds", per="unit", aggregation=("macro",)))
    assert (found.at("teds")["value"], found.at("teds")["n_not_applicable"]) == (0.5, 1)


def test_a_lost_part_of_a_document_is_counted_for_a_measure_of_documents(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    rows = MetricRows(StageName.PARSE)
    rows.ratio("kept", "a", 3, 4)
    rows.without_value("kept", "a", MetricStatus.LOST_UPSTREAM, unit_id="segment-0")
    rows.without_value("kept", "a", MetricStatus.LOST_UPSTREAM, unit_id="segment-1")
    rows.ratio("kept", "a", 0, 1, unit_id="part-of-the-row-above")
    found = figures(connection, rows, {"a": "x"}, measure("kept")).at("kept")
    assert (found["value"], found["items"], found["documents"], found["n_lost_upstream"]) == (0.75, 1, 1, 2)


def test_an_empty_denominator_is_null_and_weighs_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    rows = MetricRows(StageName.PARSE)
    rows.ratio("share", "a", 0, 0)
    rows.ratio("share", "b", 1, 4)
    found = figures(connection, rows, {"a": "x", "b": "y"}, measure("share"))
    assert found.at("share")["value"] == 0.25
    empty = found.at("share", doc_class="x")
    assert (empty["value"], empty["low"], empty["items"]) == (None, None, 0)


def test_the_interval_of_trials_is_wilsons(connection: duckdb.DuckDBPyConnection) -> None:
    """81 of 263: Newcombe (1998, Statistics in Medicine 17, table I) prints 0.2553 to 0.3662 for Wilson's method."""
    rows = MetricRows(StageName.PARSE)
    for i in range(263):
        rows.ratio("share", f"d{i}", float(i < 81), 1)
    found = figures(connection, rows, {f"d{i}": "x" for i in range(263)}, measure("share")).at("share")
    assert round(found["low"], 4) == 0.2553
    assert round(found["high"], 4) == 0.3662


def test_a_ratio_of_the_run_counts_its_denominator_as_trials(connection: duckdb.DuckDBPyConnection) -> None:
    """15 of 148: Newcombe (1998) prints 0.0624 to 0.1605."""
    rows = MetricRows(StageName.PARSE)
    rows.ratio("share", None, 15, 148)
    found = figures(connection, rows, {"a": "x"}, measure("share", per="run")).at("share")
    assert (round(found["low"], 4), round(found["high"], 4), found["items"]) == (0.0624, 0.1605, 148)


def test_agreement_of_few_documents_is_not_certainty(connection: duckdb.DuckDBPyConnection) -> None:
    """Ten documents at 3 of 4 each: a share of 1 - 0.05 ** 0.1 of unseen ones may be at either end of the range."""
    rows = MetricRows(StageName.PARSE)
    for i in range(10):
        rows.ratio("share", f"d{i}", 3, 4)
    found = figures(connection, rows, {f"d{i}": "x" for i in range(10)}, measure("share")).at("share")
    unseen = 1 - 0.05**0.1
    assert found["low"] == pytest.approx(0.75 - unseen * 0.75)
    assert found["high"] == pytest.approx(0.75 + unseen * 0.25)


def test_many_documents_get_the_interval_of_the_delta_method(connection: duckdb.DuckDBPyConnection) -> None:
    """Half of 4,000 documents at 1/4, half at 3/4: the mean's standard error is 0.25 / sqrt(4000)."""
    rows = MetricRows(StageName.PARSE)
    for i in range(4000):
        rows.ratio("share", f"d{i}", 1 if i % 2 else 3, 4)
    found = figures(connection, rows, {f"d{i}": "x" for i in range(4000)}, measure("share")).at("share")
    reach = 1.959964 * 0.25 / 4000**0.5
    assert (found["low"], found["high"]) == (pytest.approx(0.5 - reach), pytest.approx(0.5 + reach))
    rows = MetricRows(StageName.PARSE)
    for i in range(2000):
        rows.ratio("share", f"d{i}", 1 if i % 2 else 3, 4)
    resampled = figures(connection, rows, {f"d{i}": "x" for i in range(2000)}, measure("share")).at("share")
    assert resampled["high"] - 0.5 == pytest.approx(reach * 2**0.5, rel=0.1)


def test_a_census_has_no_interval(connection: duckdb.DuckDBPyConnection) -> None:
    rows = MetricRows(StageName.PARSE)
    rows.ratio("share", "a", 1, 2)
    found = figures(connection, rows, {"a": "x"}, measure("share", basis="census", needs="free", labels=()))
    assert (found.at("share")["low"], found.at("share")["high"]) == (None, None)


def test_own_slices_do_not_enter_the_headline_and_cross_with_classes(connection: duckdb.DuckDBPyConnection) -> None:
    rows = MetricRows(StageName.PARSE)
    rows.ratio("share", "a", 5, 10)
    for document_id, top in (("a", 1), ("b", 3)):
        rows.ratio("share", document_id, top, 4, slice_of=("kind", "table"))
    found = figures(connection, rows, {"a": "x", "b": "y"}, measure("share", slices=("kind",)))
    assert found.at("share")["value"] == 0.5
    assert found.at("share", slice_key="kind", slice_value="table")["value"] == 0.5
    assert found.at("share", slice_key="kind", slice_value="table", doc_class="y")["value"] == 0.75


def test_sums_and_quantiles(connection: duckdb.DuckDBPyConnection) -> None:
    rows = MetricRows(StageName.PARSE)
    for i in range(1, 6):
        rows.value("seconds", f"d{i}", float(i))
    metric = measure("seconds", aggregation=("sum", "p50", "p95", "max", "min"), range=(0, None), basis="census")
    found = figures(connection, rows, {f"d{i}": "x" for i in range(1, 6)}, metric)
    values = {r["aggregation"]: r["value"] for r in found.rows if r["doc_class"] is None and r["cohort"] is None}
    # The 95th percentile lies at position 0.95 * 4 = 3.8 between the 4th and the 5th value.
    assert values == {"sum": 15, "p50": 3, "p95": pytest.approx(4.8), "max": 5, "min": 1}


def test_a_figure_is_the_same_alone_as_beside_others(connection: duckdb.DuckDBPyConnection) -> None:
    rows, alone = MetricRows(StageName.PARSE), MetricRows(StageName.PARSE)
    for i in range(12):
        rows.ratio("other", f"d{i}", i, 20)
        for place in (rows, alone):
            place.ratio("share", f"d{i}", i, 13)
    classes = {f"d{i}": "x" for i in range(12)}
    together = figures(connection, rows, classes, measure("other"), measure("share")).at("share")
    assert together == figures(connection, alone, classes, measure("share")).at("share")
