"""Things that take long to load and serve one thread at a time."""

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Pool(Generic[T]):
    """Lends loaded things by key. As many are loaded as threads ask at the same time, and they are kept."""

    def __init__(self) -> None:
        self._idle: dict[Hashable, list[T]] = {}
        self._lock = threading.Lock()

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
