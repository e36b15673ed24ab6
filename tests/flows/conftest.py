import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.cli import main
from flows.server import QUIET, end_delivery
from tests.flows.corpus import ROOT

KEEP_A_SERVER = """
import sys, time
from pathlib import Path
from flows.server import private_server
with private_server(Path(sys.argv[1])) as url:
    print(url, flush=True)
    while True:
        time.sleep(60)
"""


@pytest.fixture(scope="session")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of commands that use one server, for tests that are about something else than a server."""
    home = tmp_path_factory.mktemp("prefect")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    with subprocess.Popen(
        [sys.executable, "-c", KEEP_A_SERVER, str(home / "server")],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as keeper:
        assert keeper.stdout is not None
        url = keeper.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        yield QUIET | {"PREFECT_API_URL": url, "PREFECT_HOME": str(home / "client"), "NO_PROXY": "127.0.0.1"}
        keeper.kill()  # the server ends with it


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


@pytest.fixture
def recorded_command_line(
    monkeypatch: pytest.MonkeyPatch,
    prefect: dict[str, str],
    command_line: Callable[[Path], Callable[..., tuple[int, str, str]]],
) -> Iterator[Callable[[Path], Callable[..., tuple[int, str, str]]]]:
    """The command line in a folder, for commands that run a flow; the server of this session records it.

    Everything is imported and loaded already: a run takes a third of what one in a process of its own takes.
    """
    from prefect.context import SettingsContext
    from prefect.settings import Profile, Settings

    for name, value in prefect.items():
        monkeypatch.setenv(name, value)
    with SettingsContext(profile=Profile(name="tests", settings={}), settings=Settings()):
        yield command_line
        end_delivery()
