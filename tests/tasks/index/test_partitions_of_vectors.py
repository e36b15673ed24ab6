"""The approximate index is made in partitions, so that building it takes no more memory for more rows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tasks.index.tables as tables
from tasks.index.search import LanceView
from tasks.index.settings import IndexSettings
from tasks.index.store import LanceIndex
from tasks.stage import SearchFilter

from .conftest import rows_of_vectors


@pytest.fixture
def small_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS_PER_PARTITION", 500)


def recall(view: LanceView, probes: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> float:
    """The share of each probe's ten nearest rows that the approximate search finds."""
    hits = 0
    for probe in probes:
        exact, found = ({i for i, _ in view.search_vector(probe.tolist(), 10, exact=exact)} for exact in (True, False))
        hits += len(exact & found)
    return hits / (10 * len(probes))


def partitions(view: LanceView) -> list[int]:
    """How many each part of the index over vectors has."""
    told = view._dataset.stats.index_stats("vector_idx")
    return [part["num_partitions"] for part in told["indices"]]


@pytest.mark.usefixtures("small_partitions")
def test_an_index_that_outgrows_its_partitions_is_made_anew(tmp_path: Path) -> None:
    vectors = np.random.default_rng(3).normal(size=(2_600, 16))
    index = LanceIndex(tmp_path, IndexSettings(ann_min_rows=600))
    made = []
    for run, (start, end) in enumerate([(0, 700), (700, 900), (900, 2_600)]):
        target, _ = rows_of_vectors(vectors[:end])
        _, rows = rows_of_vectors(vectors[start:end], start)
        built = index.build(f"r{run}", target, [rows], dimension=16, embedding="m@1")
        index.flip(built.generation, expected=built.baseline, verdict_digest=str(run))
        view = index.open_live()
        assert view is not None
        assert view.indexed_vectors() == end
        made.append(partitions(view))
    # 700, 900 and 2,600 rows of 500 to a partition.
    assert made == [[1], [1, 1], [5]]
    assert recall(view, vectors[::50]) >= 0.99


def test_more_partitions_searched_find_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS_PER_PARTITION", 100)
    random = np.random.default_rng(4)
    vectors = random.normal(size=(8_000, 32))
    probes = vectors[::80] + 0.7 * random.normal(size=(100, 32))
    target, rows = rows_of_vectors(vectors)
    built = LanceIndex(tmp_path, IndexSettings(ann_min_rows=600)).build(
        "r1", target, [rows], dimension=32, embedding="m@1"
    )
    found = []
    for searched in (1, 20, 80):
        view = LanceIndex(tmp_path, IndexSettings(ann_search_partitions=searched)).open(built.generation)
        assert partitions(view) == [80]
        found.append(recall(view, probes))
    assert found[0] < found[1] < found[2]
    assert found[2] >= 0.99


@pytest.mark.usefixtures("small_partitions")
def test_a_filter_finds_what_lies_in_the_farthest_partition(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    # Eight clusters far from one another; the few documents asked for all lie in the last.
    vectors = np.repeat(20 * np.eye(8), 500, axis=0) + random.normal(size=(4_000, 8))
    target, rows = rows_of_vectors(vectors)
    tenants = pa.array(["rare" if n >= 3_950 else "common" for n in range(4_000)])
    rows = rows.set_column(rows.schema.get_field_index("tenant"), rows.schema.field("tenant"), tenants)
    index = LanceIndex(tmp_path, IndexSettings(ann_min_rows=600, ann_search_partitions=1))
    view = index.open(index.build("r1", target, [rows], dimension=8, embedding="m@1").generation)
    assert partitions(view) == [8]
    for probe in vectors[:4_000:500]:
        rare = SearchFilter(tenant="rare")
        exact, found = (view.search_vector(probe.tolist(), 10, exact=exact, where=rare) for exact in (True, False))
        assert len(found) == 10
        assert len({i for i, _ in exact} & {i for i, _ in found}) >= 9
