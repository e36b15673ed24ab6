"""Exit codes of mistakes and defects: 1 means blocked and nothing else."""

from pathlib import Path

import pytest

from tests.flows.corpus import corpusgate

DEFECT = """
from flows.cli.app import app, main
import sys

@app.command()
def divide() -> None:
    print(1 / 0)

sys.argv = ["corpusgate", "divide"]
main()
"""


def test_a_defect_is_a_failed_run_and_not_a_blocked_one() -> None:
    done = corpusgate(program=("-c", DEFECT))
    assert done.returncode == 3
    assert "ZeroDivisionError" in done.stderr
    assert done.stdout == ""


def test_a_demo_that_cannot_be_written_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = corpusgate("demo", "--folder", tmp_path / "file" / "demo")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert str(tmp_path / "file" / "demo") in done.stderr


@pytest.mark.parametrize("seconds", ["-5", "nan", "soon"])
def test_a_wait_is_a_time(tmp_path: Path, seconds: str) -> None:
    done = corpusgate("run", tmp_path / "no.yaml", "--wait", seconds)
    assert done.returncode == 2
    assert "'--wait'" in done.stderr
    assert "Traceback" not in done.stderr
