"""Things that take long to load and serve one thread at a time."""

import gc
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")

_pools: WeakSet["Pool[Any]"] = WeakSet()


class Pool(Generic[T]):
    """Lends loaded things by key. As many are loaded as threads ask at the same time, and they are kept until
    `let_idle_go`."""

    def __init__(self) -> None:
        self._idle: dict[Hashable, list[T]] = {}
        self._lock = threading.Lock()
        _pools.add(self)

    @contextmanager
    def lend(self, key: Hashable, load: Callable[[], T]) -> Iterator[T]:
        """An idle one of this key, else a new one; it is idle again after the block, however that ends."""
        with self._lock:
            idle = self._idle.setdefault(key, [])
            lent = idle.pop() if idle else None
        if lent is None:
            lent = load()
        try:
            yield lent
        finally:
            with self._lock:
                idle.append(lent)

    def idle(self) -> int:
        """How many things are loaded and not lent."""
        with self._lock:
            return sum(map(len, self._idle.values()))

    def _let_idle_go(self) -> None:
        with self._lock:
            for things in self._idle.values():
                things.clear()


def let_idle_go() -> None:
    """Unloads what is not lent, of all pools: whoever asks again loads anew. What is lent stays until that is back."""
    idle = [pool for pool in list(_pools) if pool.idle()]
    for pool in idle:
        pool._let_idle_go()
    if idle:
        gc.collect()  # a language model holds itself in circles
