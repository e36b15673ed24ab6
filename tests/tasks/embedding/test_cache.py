"""The store of vectors gives back what was put, to later processes too, and stays within its bound."""

import multiprocessing
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tasks.embedding.cache import VectorCache
from tasks.errors import RunError


def _cache(folder: Path, *, model: str = "m@1", limit: int = 1 << 30) -> VectorCache:
    return VectorCache(folder, model, 4, limit)


def _vector(n: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array([n, 1, 2, 3], np.float32)


def test_what_was_put_comes_back_by_text_and_model(tmp_path: Path) -> None:
    _cache(tmp_path).put({"a": (_vector(1), 7), "b": (_vector(2), 8)})
    found = _cache(tmp_path).get(["b", "unknown", "a", "b"])
    assert {i: (vector.tolist(), tokens) for i, (vector, tokens) in found.items()} == {
        0: ([2, 1, 2, 3], 8),
        2: ([1, 1, 2, 3], 7),
        3: ([2, 1, 2, 3], 8),
    }
    assert _cache(tmp_path, model="m@2").get(["a"]) == {}


def test_no_text_stands_in_the_store(tmp_path: Path) -> None:
    _cache(tmp_path).put({"Maria Beispiel, 1 Example Street": (_vector(1), 7)})
    assert all(b"Maria" not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_row_without_a_vector_is_refused_by_the_store_itself(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="CHECK constraint failed"):
        _cache(tmp_path).put({"a": (np.zeros(0, np.float32), 7)})
    assert _cache(tmp_path).get(["a"]) == {}


def test_the_vectors_used_longest_ago_go_first(tmp_path: Path) -> None:
    cache = _cache(tmp_path, limit=1 << 20)
    cache.put({f"old {n}": (_vector(n), 1) for n in range(4000)})
    with sqlite3.connect(tmp_path / "vectors.sqlite") as store:
        store.execute("UPDATE vectors SET used = used - 100")
    assert len(cache.get([f"old {n}" for n in range(200)])) == 200
    for start in range(0, 12_000, 1000):
        cache.put({f"new {n}": (_vector(n), 1) for n in range(start, start + 1000)})
    with sqlite3.connect(tmp_path / "vectors.sqlite") as store:
        pages, free, size = (
            store.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
    assert (pages - free) * size <= 1.1 * (1 << 20)
    left = len(cache.get([f"old {n}" for n in range(200, 4000)]))
    assert 0 < left < 3800
    assert len(cache.get([f"old {n}" for n in range(200)])) == 200
    assert len(cache.get([f"new {n}" for n in range(12_000)])) == 12_000


def _fill(folder: str, start: int) -> None:
    cache = VectorCache(Path(folder), "m@1", 4, 1 << 30)
    for n in range(start, start + 40):
        cache.put({f"t{i}": (_vector(i), i) for i in range(n, n + 5)})
        assert len(cache.get([f"t{i}" for i in range(n, n + 5)])) == 5


def test_processes_write_and_read_it_at_the_same_time(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_fill, args=(str(tmp_path), start)) for start in (0, 20, 40)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    found = _cache(tmp_path).get([f"t{i}" for i in range(84)])
    assert {i: vector[0] for i, (vector, _) in found.items()} == {i: i for i in range(84)}


def test_a_store_that_is_none_is_named_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "vectors.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(RunError, match=r"the store of vectors .* cannot be used") as caught:
        _cache(tmp_path).get(["a"])
    assert "delete this file" in caught.value.remedy
