"""Modules of the user's own that are named like our packages are not taken for ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.corpus import ROOT

HOSTILE = "raise SystemExit('a module of the user was taken for one of corpusgate')\n"
SCRIPT = "from flows.cli import main; main()"
"""What an installed console script does; it has no place of the working directory, as `-P` has none."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one web page to take in, and modules by all of our names but `flows`."""
    for name in ("tasks", "schemas", "data_contracts"):
        (tmp_path / f"{name}.py").write_text(HOSTILE, encoding="utf-8")
    (tmp_path / "in").mkdir()
    page = "<html><body><article><p>The sluice opens at three metres.</p></article></body></html>"
    (tmp_path / "in" / "sluice.html").write_text(page, encoding="utf-8")
    (tmp_path / "corpusgate.yaml").write_text(
        "lake: ./lake\nsources:\n  - {name: notes, type: files, root: ./in}\n", encoding="utf-8"
    )
    return tmp_path


def call(folder: Path, *arguments: str, path: str = str(ROOT)) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_a_whole_run_with_its_workers_and_server_uses_our_packages(folder: Path) -> None:
    done = call(folder, "-m", "flows", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "live with 1 chunk" in done.stdout
    assert "taken for one of corpusgate" not in done.stdout + done.stderr


@pytest.mark.parametrize("before", [False, True], ids=["in the working directory", "on PYTHONPATH before ours"])
def test_a_script_is_not_led_astray_even_by_a_module_called_flows(folder: Path, before: bool) -> None:
    # On PYTHONPATH a foreign `flows` is found before anything of ours runs; the other names are ours to keep.
    if not before:
        (folder / "flows.py").write_text(HOSTILE, encoding="utf-8")
    path = os.pathsep.join([str(folder), str(ROOT)] if before else [str(ROOT)])
    done = call(folder, "-P", "-c", SCRIPT, "plan", path=path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 new" in done.stdout


def test_interpreters_that_are_started_from_there_find_ours_too(folder: Path) -> None:
    (folder / "flows.py").write_text(HOSTILE, encoding="utf-8")
    started = (
        "import subprocess, sys; from flows.own_packages import module_path_flags, shield_children; "
        "flags = module_path_flags(); shield_children(); "
        "run = lambda more: subprocess.run([sys.executable, *more, '-m', 'flows', '--help']).returncode; "
        "print(flags, run(flags), run([]))"
    )
    done = call(folder, "-P", "-c", started)
    assert done.stdout.splitlines()[-1] == "['-P'] 0 0", done.stdout + done.stderr
