"""Exit codes of mistakes and defects: 1 means blocked and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.corpus import corpusgate

CommandLine = Callable[[Path], Callable[..., tuple[int, str, str]]]

OWN_COMMAND = """
from flows.cli.app import app, main
import sys

@app.command()
def own() -> None:
    {body}

sys.argv = ["corpusgate", "own"]
main()
"""


def test_a_defect_is_a_failed_run_and_not_a_blocked_one() -> None:
    done = corpusgate(program=("-c", OWN_COMMAND.format(body="1 / 0")))
    assert done.returncode == 3
    assert "ZeroDivisionError" in done.stderr
    assert done.stdout == ""


def test_an_interruption_says_that_nothing_is_lost() -> None:
    done = corpusgate(program=("-c", OWN_COMMAND.format(body="import os, signal; os.kill(os.getpid(), signal.SIGINT)")))
    assert done.returncode == 130
    assert "what is done is kept" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_demo_that_cannot_be_written_is_wrong_usage(tmp_path: Path, command_line: CommandLine) -> None:
    (tmp_path / "file").touch()
    code, _, err = command_line(tmp_path)("demo", "--folder", str(tmp_path / "file" / "demo"))
    assert code == 2
    assert "Traceback" not in err
    assert str(tmp_path / "file" / "demo") in err


@pytest.mark.parametrize("seconds", ["-5", "nan", "soon"])
def test_a_wait_is_a_time(tmp_path: Path, command_line: CommandLine, seconds: str) -> None:
    code, _, err = command_line(tmp_path)("run", str(tmp_path / "no.yaml"), "--wait", seconds)
    assert code == 2
    assert "'--wait'" in err
    assert "Traceback" not in err
