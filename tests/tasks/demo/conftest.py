"""The run of the healthy demo, from its lake."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.reopen import reopen
from tasks.figures.catalogue import load_catalogue
from tasks.figures.figures import run_figures
from tasks.lake.views import connect_run
from tasks.run.session import Session


@pytest.fixture(scope="session")
def healthy_run(healthy_demo: Path) -> Iterator[Session]:
    """The first run of the healthy demo."""
    with reopen(healthy_demo / "corpusgate.yaml", "last") as session:
        yield session


@pytest.fixture(scope="session")
def healthy_figures(healthy_run: Session) -> list[dict[str, Any]]:
    """`FIGURES` rows of the healthy demo."""
    context = healthy_run.context
    figures: list[dict[str, Any]] = run_figures(connect_run(context.lake, context.run_id), load_catalogue()).to_pylist()
    return figures
