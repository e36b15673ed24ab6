"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No test is timed: an example may take as long as the machine needs.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


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
