"""What is kept of each document's part in the figures is what its metric rows give."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from schemas.figures import SAMPLES
from schemas.names import StageName
from tasks.figures import stored
from tasks.figures.catalogue import load_catalogue
from tasks.figures.samples import details, document_samples, hash_of
from tasks.figures.stored import make_figures, read_samples
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.lake.views import connect_run
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


def kept(lake: Lake) -> list[dict[str, object]]:
    """All samples as they are read back, in an order of their own."""
    return rows(part for _, _, part in read_samples(lake, NEW, CATALOGUE, JUDGED))


def rows(parts: Iterator[pa.Table]) -> list[dict[str, object]]:
    """Rows of samples, sorted."""
    found = [row for part in parts for row in part.to_pylist()]
    return sorted(found, key=lambda row: [str(value) for value in row.values()])


def made(lake: Lake) -> list[dict[str, object]]:
    """All samples out of the metric rows."""
    with connect_run(lake, NEW) as connection:
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
