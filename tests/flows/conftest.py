from collections.abc import Callable
from pathlib import Path

import pytest

from flows.cli import main


@pytest.fixture
def command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Path], Callable[..., tuple[int, str, str]]]:
    """The command line in a folder: exit code, standard output, standard error."""

    def within(folder: Path) -> Callable[..., tuple[int, str, str]]:
        def call(*arguments: str) -> tuple[int, str, str]:
            monkeypatch.chdir(folder)
            monkeypatch.setattr("sys.argv", ["corpusgate", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
            captured = capsys.readouterr()
            return int(ended.value.code or 0), captured.out, captured.err

        return call

    return within
