"""The private Prefect server records runs, leaves the user's profile alone and never outlives its parent."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx
import psutil
import pytest

from flows import with_parent
from flows.launch import launch
from flows.server import private_server
from flows.server_tables import kept_tables
from tasks.errors import RunError
from tasks.run.context import Silent
from tests.flows.notes import write_corpus

ROOT = Path(__file__).parents[2]

HOLD_A_SERVER = """
import sys, time
from pathlib import Path
from flows.server import private_server
from flows.server_tables import kept_tables
from tasks.errors import RunError
with private_server(Path(sys.argv[1])) as url:
    print(url, flush=True)
    time.sleep(600)
"""

RUN_THE_FLOW_TWICE = """
import sys
from datetime import UTC, datetime
from pathlib import Path
import httpx, psutil
sys.path.insert(0, sys.argv[2])
from flows.server import private_server, wait_until_recorded
for last in (False, True):
    since = datetime.now(UTC)
    with private_server(Path(sys.argv[1])) as url:
        from counting_flow import double_all
        print(sum(double_all(20)))
        print(wait_until_recorded(url, 20, since=since))
        runs = httpx.post(f"{url}/task_runs/filter", json={}, trust_env=False).json()
        print(sorted({run["state"]["type"] for run in runs}), len(runs))
        if last:
            double_all(200)
            [server] = psutil.Process().children()
            server.kill()
            server.wait()
            print(wait_until_recorded(url, 1, since=datetime.now(UTC)))
"""


@pytest.fixture
def no_api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment in which no Prefect API is configured, with an empty user folder."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    user = tmp_path / "user"
    user.mkdir()
    monkeypatch.setenv("HOME", str(user))
    return user


def ends(process: psutil.Process, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def asked(database: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as opened:
        return opened.execute(query).fetchall()


def test_a_configured_api_is_used_and_nothing_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    with private_server(tmp_path / "home") as url:
        assert url == "http://127.0.0.1:9/api"
    assert not (tmp_path / "home").exists()


def test_mapped_task_runs_are_recorded_by_one_server_after_another(no_api: Path, tmp_path: Path) -> None:
    home = tmp_path / "lake" / "prefect"
    done = subprocess.run(
        [sys.executable, "-c", RUN_THE_FLOW_TWICE, str(home), str(Path(__file__).parent)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        # Undelivered events of a server that died must not keep the process: left alone they do for an hour.
        timeout=400,
    )
    first, second, dead = ["380", "20", "['COMPLETED'] 20"], ["380", "20", "['COMPLETED'] 40"], ["0"]
    assert done.stdout.splitlines() == first + second + dead
    tables = "SELECT name, sql FROM sqlite_master ORDER BY name"
    assert asked(home / "prefect.db", tables) == asked(kept_tables(), tables)
    assert asked(kept_tables(), "SELECT count(*) FROM task_run") == [(0,)]
    assert list(no_api.iterdir()) == []
    environments = [process.info["environ"] or {} for process in psutil.process_iter(["environ"])]
    assert str(home) not in [environment.get("PREFECT_HOME") for environment in environments]


def test_two_servers_run_side_by_side_and_end_when_their_parents_are_killed(no_api: Path, tmp_path: Path) -> None:
    parents = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD_A_SERVER, str(tmp_path / name)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for name in ("lake-a", "lake-b")
    ]
    try:
        urls = [parent.stdout.readline().strip() for parent in parents if parent.stdout]
        assert len(set(urls)) == 2
        assert [httpx.get(f"{url}/health", trust_env=False).json() for url in urls] == [True, True]
        servers = [psutil.Process(parent.pid).children() for parent in parents]
        assert [len(children) for children in servers] == [1, 1]
    finally:
        for parent in parents:
            parent.kill()
            parent.communicate()
    assert [ends(children[0]) for children in servers] == [True, True]


def test_the_watchdog_kills_the_command_when_the_pipe_closes() -> None:
    watched = [sys.executable, "-c", "import time; time.sleep(600)"]
    script = f"import sys\nfrom flows.with_parent import run_watched\nsys.exit(run_watched({watched!r}, 0))"
    watchdog = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE)
    while not (children := psutil.Process(watchdog.pid).children()):
        time.sleep(0.05)
    assert not ends(children[0], seconds=0.5)
    watchdog.communicate()
    assert ends(children[0])
    assert watchdog.returncode == 128 + signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="the death signal is Linux's")
def test_a_command_whose_parent_is_already_gone_is_not_started() -> None:
    command = [sys.executable, with_parent.__file__, str(os.getpid() + 1), "/bin/echo", "started"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (with_parent.PARENT_IS_GONE, "")


def test_what_fails_because_the_server_is_gone_says_so(no_api: Path, tmp_path: Path) -> None:
    before = psutil.Process().children()

    def lose_the_server() -> None:
        with private_server(tmp_path / "prefect") as url:
            [server] = [child for child in psutil.Process().children() if child not in before]
            server.kill()
            while True:
                httpx.get(f"{url}/health", trust_env=False)

    with pytest.raises(RunError, match=r"server ended in the middle of the run \(code -9\)") as caught:
        lose_the_server()
    assert isinstance(caught.value.__cause__, httpx.TransportError)


def test_what_fails_beside_a_running_server_is_left_as_it_is(no_api: Path, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), private_server(tmp_path / "prefect"):
        _ = 1 / 0


def test_a_server_that_cannot_be_started_says_why(no_api: Path, tmp_path: Path) -> None:
    (tmp_path / "prefect").write_text("no folder", encoding="utf-8")
    with pytest.raises(RunError, match="could not be started") as raised, private_server(tmp_path / "prefect"):
        pass
    assert str(tmp_path / "prefect") in raised.value.remedy
    (tmp_path / "home" / "server.log").mkdir(parents=True)
    with pytest.raises(RunError, match="could not be started"), private_server(tmp_path / "home"):
        pass


def test_a_lake_that_cannot_be_opened_leaves_no_server_behind(no_api: Path, tmp_path: Path) -> None:
    """The server starts while the run is opened."""
    configuration = write_corpus(tmp_path)
    (tmp_path / "lake" / "index").mkdir(parents=True)
    (tmp_path / "lake" / "index" / "live.json").write_text("{", encoding="utf-8")
    before = psutil.Process().children(recursive=True)  # workers of other tests
    with pytest.raises(RunError, match=r"live\.json"):
        launch(configuration, progress=Silent(), wait=0)
    assert [child for child in psutil.Process().children(recursive=True) if child not in before] == []
