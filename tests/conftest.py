"""Fixtures that every test may use, and where and in which order tests run side by side."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# No test is timed: an example may take as long as the machine needs.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

DEAREST_FIRST = ("runs", "demo", "survival")
"""Groups that begin before all others, so that none of them is left over at the end."""


def pytest_configure(config: pytest.Config) -> None:
    # pytest-xdist would begin with the groups of most tests; the dearest have few.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file stay in one process (`--dist loadgroup`): what its fixtures make is made once."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    ranks = {name: rank for rank, name in enumerate(DEAREST_FIRST)}
    items.sort(key=lambda item: ranks.get(_group(item), len(ranks)))


def pytest_collection_finish(session: pytest.Session) -> None:
    if getattr(session.config.option, "loadgroup", False) and session.items:
        # pytest-xdist names an item's group behind its id; releases of the two that do not go together leave it out.
        assert session.items[0].nodeid.endswith(f"@{_group(session.items[0])}"), "tests are not kept in groups"
    # Hundreds of thousands of objects of imported libraries, which every full collection would look at.
    gc.collect()
    gc.freeze()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Long bytes are not told: an archive holds the second at which it was made, so that no two workers would name its
    test alike."""
    return "bytes" if isinstance(val, bytes) and len(val) > 40 else None


def _group(item: pytest.Item) -> str:
    mark = item.get_closest_marker("xdist_group")
    assert mark is not None
    return str(mark.args[0])


@pytest.fixture(scope="session", autouse=True)
def disk_that_keeps_its_power() -> Iterator[None]:
    """Files are not flushed to the disk one by one: no test cuts the power, and a run flushes some two hundred.

    The handle must still be a good one. Processes that tests start flush as ever.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", _look_at)
        yield


def _look_at(handle: int) -> None:
    os.fstat(handle)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real labelled data beside the project; tests that need it are skipped where it is missing."""
    configured = os.environ.get("CORPUSGATE_SHARED_DATA")
    folder = Path(configured) if configured else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"labelled data not found at {folder}; set CORPUSGATE_SHARED_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of small inputs re-created from public bug reports."""
    return Path(__file__).parent / "cases"


@pytest.fixture(scope="session")
def healthy_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the healthy demo has run, as the README says; who changes it takes a copy."""
    from tests.flows.corpus import corpusgate

    folder = tmp_path_factory.mktemp("demo") / "demo"
    done = corpusgate("demo", "--folder", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pass" in done.stdout.lower() or "warn" in done.stdout.lower()
    return folder
