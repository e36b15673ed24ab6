"""What is kept of each document's part in the figures is what its metric rows give."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from schemas.figures import SAMPLES
from schemas.names import StageName
from tasks.figures import stored
from tasks.figures.catalogue import load_catalogue
from tasks.figures.samples import details, document_samples, hash_of
from tasks.figures.stored import drop_figures, make_figures, read_figures, read_samples, read_stage_figures
from tasks.figures.stored_samples import StoredSamples, store_samples
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.lake.views import connect_run
from tasks.metrics.rows import MetricRows
from tests.tasks.report.lake_by_hand import NEW, lake_by_hand

CATALOGUE = load_catalogue()
JUDGED = [(metric.stage, metric.id) for metric in CATALOGUE.metrics if metric.stage != "all"]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """The lake by hand, with the figures of its newer run made as a run makes them."""
    lake = lake_by_hand(tmp_path)
    runs = Runs(lake)
    locations, plan = runs.locations(NEW), runs.plan(NEW)
    for stage in StageName:
        make_figures(lake, NEW, stage, locations.filter(pc.field("stage") == stage.value), plan, CATALOGUE)
    return lake


def kept(lake: Lake, run_id: str = NEW) -> list[dict[str, object]]:
    """All samples as they are read back, in an order of their own."""
    return rows(part for _, _, part in read_samples(lake, run_id, CATALOGUE, JUDGED))


def rows(parts: Iterator[pa.Table]) -> list[dict[str, object]]:
    """Rows of samples, sorted."""
    found = [row for part in parts for row in part.to_pylist()]
    return sorted(found, key=lambda row: [str(value) for value in row.values()])


def made(lake: Lake, run_id: str = NEW) -> list[dict[str, object]]:
    """All samples out of the metric rows."""
    with connect_run(lake, run_id) as connection:
        parts = [
            document_samples(connection, [name for stage, name in JUDGED if stage == of_stage])
            for of_stage in details(connection, CATALOGUE, tuple(StageName))
        ]
    return rows(iter(parts))


def test_what_is_kept_is_what_the_metric_rows_give(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = made(lake)
    assert {row["metric"] for row in expected} >= {"cer", "teds"}
    # Nothing is made of metric rows: all comes from what is kept.
    monkeypatch.setattr(stored, "connect_run", None)
    assert kept(lake) == expected


@pytest.mark.xdist_group("demo")
def test_of_the_demo_too_with_all_its_measures(healthy_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(healthy_demo / "lake")
    run_id = Runs(lake).resolve("last")
    expected = made(lake, run_id)
    assert len({(row["stage"], row["metric"]) for row in expected}) > 60
    monkeypatch.setattr(stored, "connect_run", None)
    assert kept(lake, run_id) == expected


def test_pairs_come_in_the_order_of_stages_and_names(lake: Lake) -> None:
    pairs = [(stage, metric) for stage, metric, _ in read_samples(lake, NEW, CATALOGUE, JUDGED)]
    order = [stage.value for stage in StageName]
    assert pairs == sorted(JUDGED, key=lambda pair: (order.index(pair[0]), pair[1]))


def test_kept_rows_of_other_documents_are_not_used(lake: Lake) -> None:
    # As after an erasure: the plan holds fewer documents, so that rows by number would be another's.
    plan = Runs(lake).plan(NEW)
    first = plan.column("document_id").to_pylist()[0]
    before = kept(lake)
    Runs(lake).write_plan(NEW, plan.filter(pc.field("document_id") != first))
    after = kept(lake)
    assert after == made(lake)
    assert {row["document_id"]: row["amount"] for row in after if row["metric"] == "cer" and row["doc_class"]} == {
        row["document_id"]: row["amount"] for row in before if row["metric"] == "cer" and row["document_id"] != first
    }


@pytest.mark.parametrize("content", [None, b"", b"PAR1 torn"])
def test_a_file_that_is_missing_or_torn_is_made_up_for(lake: Lake, content: bytes | None) -> None:
    expected = kept(lake)
    for path in lake.run(NEW).glob("figures/*/*-samples.parquet"):
        path.unlink()
        if content is not None:
            path.write_bytes(content)
    assert kept(lake) == expected


def test_torn_pages_and_torn_figures_are_made_up_for(lake: Lake) -> None:
    samples, figures = kept(lake), read_figures(lake, NEW, CATALOGUE)
    for path in lake.run(NEW).glob("figures/*/parse*.parquet"):
        content = bytearray(path.read_bytes())
        if path.stem == "parse":
            content = content[: len(content) // 2]
        else:  # the footer, at the end, is whole
            content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
        path.write_bytes(content)
    assert kept(lake) == samples
    assert read_figures(lake, NEW, CATALOGUE).equals(figures)
    assert read_stage_figures(lake, NEW, StageName.PARSE, CATALOGUE).num_rows > 0


def test_hashes_are_those_of_duckdb() -> None:
    digests = pa.chunked_array([["a", None], ["bytes"]])
    with duckdb.connect(":memory:") as connection:
        connection.register("digests", pa.table({"digest": digests}))
        found = connection.sql("SELECT md5_number_lower(digest) FROM digests").fetchall()
    assert hash_of(digests).to_pylist() == [value for (value,) in found]


def test_a_measure_without_samples_is_empty(lake: Lake) -> None:
    ((_, _, samples),) = read_samples(lake, NEW, CATALOGUE, [("embed", "domain_ndcg")])
    assert samples.schema == SAMPLES
    assert samples.num_rows == 0


def test_what_has_no_samples_or_is_no_document_of_the_plan_displaces_nothing(tmp_path: Path) -> None:
    # `rows_in` is of no document and stands between two measures that are; the plan has no `ghost`.
    rows = MetricRows(StageName.PARSE)
    rows.value("rows_in", None, 2.0)
    rows.ratio("cer", "a", 1.0, 10.0)
    rows.values("seconds", ["a", "ghost", "b"], [1.0, 3.0, 2.0])
    plan = pa.table({name: ["a", "b"] for name in ("document_id", "doc_class", "cohort", "content_sha")})
    path = tmp_path / "parse-samples.parquet"
    with duckdb.connect(":memory:") as connection:
        connection.register("documents", plan)
        connection.register("measures", rows.table())
        for _ in details(connection, CATALOGUE, ["parse"]):
            store_samples(connection, path, plan)
    kept = StoredSamples(plan)
    tables = {name: kept.read(path, name) for name in ("cer", "rows_in", "seconds", "teds")}
    found = {name: table.to_pylist() for name, table in tables.items() if table is not None}
    assert [(row["document_id"], row["amount"], row["weight"]) for row in found["cer"]] == [("a", 1.0, 10.0)]
    assert found["rows_in"] == found["teds"] == []
    assert [(row["document_id"], row["doc_class"], row["amount"]) for row in found["seconds"]] == [
        ("a", "a", 1.0),
        ("b", "b", 2.0),
        ("ghost", None, 3.0),
    ]


def test_a_footer_that_names_other_groups_is_not_believed(lake: Lake) -> None:
    plan = Runs(lake).plan(NEW)
    (path,) = lake.run(NEW).glob("figures/*/parse-samples.parquet")
    with pq.ParquetFile(path) as file:
        groups = [file.read_row_group(i) for i in range(file.num_row_groups)]
        told = file.schema_arrow.metadata
    assert StoredSamples(plan).read(path, "cer") is not None
    with pq.ParquetWriter(path, groups[0].schema) as writer:
        for group in [groups[0].slice(0, 0), *groups]:
            writer.write_table(group)
        writer.add_key_value_metadata(told)
    assert StoredSamples(plan).read(path, "cer") is None


def test_a_run_that_ends_between_its_rows_and_its_figures_has_none_of_what_is_no_more(lake: Lake) -> None:
    drop_figures(lake, NEW, StageName.PARSE)
    assert {path.stem for path in lake.run(NEW).glob("figures/*/parse*")} == set()
    assert kept(lake) == made(lake)
