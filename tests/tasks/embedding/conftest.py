"""A server that stands in for an embedding endpoint."""

from collections.abc import Iterator

import pytest

from tests.tasks.embedding.server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on a free port; it stops after the test."""
    made = Server()
    yield made
    made.close()
