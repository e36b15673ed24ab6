"""The demo as the README shows it: the healthy corpus passes, the damaged one is blocked and live stays."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("demo")


def test_the_healthy_demo_passes_and_goes_live(healthy_demo: Path) -> None:
    folder = healthy_demo
    live = json.loads((folder / "lake" / "index" / "live.json").read_text(encoding="utf-8"))
    run = next((folder / "lake" / "runs").iterdir())
    verdict = json.loads((run / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["status"] == "pass"
    assert run.name in json.dumps(live)
    assert (run / "report.html").stat().st_size > 0
    assert (run / "report.md").stat().st_size > 0


def test_the_damaged_demo_is_blocked_with_stage_and_class_named_and_live_untouched(
    healthy_demo: Path, tmp_path: Path, recorded_command_line: Callable[[Path], Callable[..., tuple[int, str, str]]]
) -> None:
    folder = shutil.copytree(healthy_demo, tmp_path / "demo")
    live = (folder / "lake" / "index" / "live.json").read_bytes()
    code, out, err = recorded_command_line(tmp_path)("demo", "--folder", str(folder), "--regress")
    assert code == 1, out + err
    assert "parse" in out
    assert "report" in out
    assert (folder / "lake" / "index" / "live.json").read_bytes() == live
