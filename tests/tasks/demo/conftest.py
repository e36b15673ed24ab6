"""The engine run once over the healthy demo, without Prefect."""

from typing import Any

import pytest

from tasks.demo.build import build
from tasks.figures.catalogue import load_catalogue
from tasks.figures.figures import run_figures
from tasks.lake.views import connect_run
from tests.engine import EngineRun, run_engine


@pytest.fixture(scope="session")
def healthy_run(tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    """A first run of the healthy demo."""
    return run_engine(build(tmp_path_factory.mktemp("engine") / "demo").configuration)


@pytest.fixture(scope="session")
def healthy_figures(healthy_run: EngineRun) -> list[dict[str, Any]]:
    """`FIGURES` rows of the healthy demo."""
    context = healthy_run.session.context
    figures: list[dict[str, Any]] = run_figures(connect_run(context.lake, context.run_id), load_catalogue()).to_pylist()
    return figures
