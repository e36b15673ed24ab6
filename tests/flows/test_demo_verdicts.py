"""The demo as the README shows it: the healthy corpus passes, the damaged one is blocked and live stays."""

import json
from pathlib import Path

import pytest

from tests.flows.corpus import corpusgate

pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the healthy demo has run."""
    made = tmp_path_factory.mktemp("demo") / "demo"
    done = corpusgate("demo", "--folder", made)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pass" in done.stdout.lower() or "warn" in done.stdout.lower()
    return made


def test_the_healthy_demo_passes_and_goes_live(folder: Path) -> None:
    live = json.loads((folder / "lake" / "index" / "live.json").read_text(encoding="utf-8"))
    run = next((folder / "lake" / "runs").iterdir())
    verdict = json.loads((run / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["status"] == "pass"
    assert run.name in json.dumps(live)
    assert (run / "report.html").stat().st_size > 0
    assert (run / "report.md").stat().st_size > 0


def test_the_damaged_demo_is_blocked_with_stage_and_class_named_and_live_untouched(folder: Path) -> None:
    live = (folder / "lake" / "index" / "live.json").read_bytes()
    done = corpusgate("demo", "--folder", folder, "--regress")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "parse" in done.stdout
    assert "report" in done.stdout
    assert (folder / "lake" / "index" / "live.json").read_bytes() == live
