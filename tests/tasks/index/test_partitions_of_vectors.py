"""The approximate index is made in partitions, so that building it takes no more memory for more rows."""

from pathlib import Path

import numpy as np
import pytest

import tasks.index.tables as tables
from tasks.index.search import LanceView
from tasks.index.settings import IndexSettings
from tasks.index.store import LanceIndex

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


@pytest.mark.usefixtures("small_partitions")
def test_fewer_partitions_searched_find_less(tmp_path: Path) -> None:
    vectors = np.random.default_rng(4).normal(size=(4_000, 16))
    target, rows = rows_of_vectors(vectors)
    made = LanceIndex(tmp_path, IndexSettings(ann_min_rows=600)).build(
        "r1", target, [rows], dimension=16, embedding="m@1"
    )
    found = []
    for searched in (1, 3, 20):
        view = LanceIndex(tmp_path, IndexSettings(ann_search_partitions=searched)).open(made.generation)
        found.append(recall(view, vectors[::80]))
    assert found == sorted(found)
    assert found[0] < 0.9
    assert found[-1] >= 0.99
