"""The private Prefect server: started when no Prefect API is configured, gone when its parent is.

It listens on loopback only, keeps everything in its own `PREFECT_HOME` beside the lake, sends no telemetry and
never reads or writes the user's own Prefect profile. Starting takes 6 s, 13 s for the first time, and up to a minute
was seen on a loaded machine. Prefect's tables are a view for people; the lake is the system of record.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import httpx

from flows import with_parent
from flows.server_tables import keep_tables, kept_tables, place_tables
from tasks.errors import CorpusgateError, RunError

START_SECONDS = 300.0
STOP_SECONDS = 10.0
DELIVER_SECONDS = 5.0
RECORD_SECONDS = 10.0
TERMINAL_STATES = ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]

QUIET = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}

SERVER_SETTINGS = QUIET | {
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "1",
    # What watches workers and events only costs time here; schedules are kept only by `corpusgate serve`.
    "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_FOREMAN_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
}
"""What the private server runs with. Recording in batches of 200 keeps up with thousands of task runs."""

_OF_ONE_RUN = {
    # Task runs are recorded from events as they come; that these are kept as well is for schedules and automations.
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_CANCELLATION_CLEANUP_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_PAUSE_EXPIRATIONS_ENABLED": "false",
}
"""What a server that makes no runs of its own does without: half of what a task run costs it."""


@contextmanager
def private_server(home: Path, *, scheduling: bool = False) -> Iterator[str]:
    """Yields the URL of a Prefect API for the flows of this process: `starting_server`, and waiting until it is up."""
    with starting_server(home, scheduling=scheduling) as server, server.connected() as url:
        yield url


@contextmanager
def starting_server(home: Path, *, scheduling: bool = False) -> Iterator["StartingServer"]:
    """A Prefect server that starts while this process does something else.

    With `PREFECT_API_URL` in the environment that server is used as it is. Otherwise a server is started with
    `home` as its `PREFECT_HOME`, and stopped at the end; call `wait_until_recorded` before that, or the last task
    runs may be missing from its tables. The server is also gone when this process is killed, which needs the calling
    thread to outlive the block. With `scheduling` it makes the runs of schedules and serves its pages.
    """
    if configured := os.environ.get("PREFECT_API_URL"):
        yield StartingServer(home, configured, None)
        return
    with _running(home, ui=scheduling, scheduling=scheduling) as (process, url):
        yield StartingServer(home, url, process)


class StartingServer:
    """A server that may not answer yet; without a process it is another's, and up."""

    def __init__(self, home: Path, url: str, process: "subprocess.Popen[bytes] | None") -> None:
        self._home = home
        self._url = url
        self._process = process

    @contextmanager
    def connected(self) -> Iterator[str]:
        """Waits until it answers, points this process's Prefect settings at it, and yields the URL of its API.

        Raises:
            RunError: it did not answer within five minutes, ended while starting, or in the middle of the block.
        """
        if self._process is None:
            yield self._url
            return
        with _environment(_client_settings(self._home, self._url)):
            # Imported here: reading settings and telemetry switches happens at import, and it takes seconds that
            # the server needs for its own start anyway.
            from prefect.context import SettingsContext
            from prefect.settings import Profile, Settings

            _wait_until_healthy(self._process, self._url, self._home)
            # Nobody listens to heartbeats on this server, and each flow would wait a second for the end of its own.
            settings = Settings(flows={"heartbeat_frequency": None})
            with SettingsContext(profile=Profile(name="corpusgate", settings={}), settings=settings):
                try:
                    yield self._url
                except CorpusgateError:
                    raise
                except Exception as error:
                    if (ended := _ended(self._process, self._home)) is not None:
                        raise ended from error
                    raise
                finally:
                    end_delivery()


def _ended(process: "subprocess.Popen[bytes]", home: Path) -> RunError | None:
    """Why nothing more comes of a server; null where it is still there."""
    try:  # a process lets go of its sockets a little before it is seen to have ended
        process.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        return None
    return RunError(
        f"the private Prefect server ended in the middle of the run (code {process.returncode})",
        remedy="give the same command again: what is done is kept; if it ends again, read "
        f"{home / 'server.log'} and look at the machine's memory",
    )


def wait_until_recorded(url: str, expected_task_runs: int, *, since: datetime) -> int:
    """Waits until the API counts this many finished task runs started at or after `since`, at most 10 s.

    Returns the count at that time. Sub-flows are not counted. Under load Prefect drops task runs for good, so a
    smaller count than expected is no error, and neither is a server that no longer answers: what the tables are
    for is to be looked at.
    """
    query = {
        "task_runs": {
            "state": {"type": {"any_": TERMINAL_STATES}},
            "start_time": {"after_": since.isoformat()},
            "subflow_runs": {"exists_": False},
        }
    }
    count, deadline = 0, time.monotonic() + RECORD_SECONDS
    with httpx.Client(trust_env=False, timeout=RECORD_SECONDS) as client:
        while count < expected_task_runs and time.monotonic() < deadline:
            try:
                count = int(client.post(f"{url}/task_runs/count", json=query).raise_for_status().json())
            except httpx.ConnectError:
                break
            except httpx.HTTPError:
                pass  # too busy to answer: the deadline decides
            time.sleep(0.1)
    return count


def serve_ui(home: Path) -> None:
    """Runs the private server with its web pages in the foreground until interrupted, and prints their URL.

    Raises:
        RunError: the server did not start.
    """
    with _running(home, ui=True) as (process, url):
        _wait_until_healthy(process, url, home)
        sys.stdout.write(f"Prefect's pages: {url.removesuffix('/api')}  (Ctrl-C ends the server)\n")
        sys.stdout.flush()
        try:
            code = process.wait()
        except KeyboardInterrupt:
            return
        raise RunError(f"the Prefect server ended with code {code}", remedy=f"read {home / 'server.log'}")


@contextmanager
def _running(home: Path, *, ui: bool, scheduling: bool = False) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """A server process that was just started (not yet answering) and its API URL; stopped at the end.

    Raises:
        RunError: the system does not let it start.
    """
    home = home.resolve()
    try:
        process, url = _started(home, ui=ui, scheduling=scheduling)
    except OSError as error:
        raise RunError(
            f"the private Prefect server could not be started: {error}",
            remedy=f"see that {home} is a folder that can be written to, and that there is memory and disk space left, "
            "or set PREFECT_API_URL to a Prefect server of your own",
        ) from error
    try:
        yield process, url
    finally:
        _stop(process)


def _started(home: Path, *, ui: bool, scheduling: bool) -> tuple["subprocess.Popen[bytes]", str]:
    home.mkdir(parents=True, exist_ok=True)
    place_tables(home, kept_tables())
    # The port is bound here and handed over, so no other process can take it in between.
    with socket.socket() as listener, (home / "server.log").open("ab") as log:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        server = [sys.executable, "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app"]
        server += ["--fd", str(listener.fileno()), "--log-level", "warning", "--timeout-graceful-shutdown", "3"]
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", with_parent.__file__, str(os.getpid()), *server],
            env=_server_environment(home, url, ui=ui, scheduling=scheduling),
            cwd=home,  # away from any prefect.toml or .env of the working directory
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=[listener.fileno()],
            start_new_session=True,  # Ctrl-C is for us: the server must still record what we were doing
        )
    return process, url


def end_delivery() -> None:
    """Ends Prefect's services that deliver events and logs, so that the next server gets services of its own.

    What they cannot deliver within 5 s is given up. Left alone, they would try again and again against a server
    that is gone, 7 s per event and a minute per log, and keep the process from exiting until they are through.
    """
    from prefect.events.worker import EventsWorker

    # All of Prefect's queue services share one registry; stopping a service makes it forget its task.
    services = tuple(EventsWorker._instances.values())  # type: ignore[misc]
    running = [(service._loop, service._task) for service in services]
    EventsWorker.drain_all(timeout=DELIVER_SECONDS)
    for loop, task in running:
        if loop is not None and task is not None:
            loop.call_soon_threadsafe(task.cancel)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin:
        process.stdin.close()


def _wait_until_healthy(process: "subprocess.Popen[bytes]", url: str, home: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    with httpx.Client(trust_env=False, timeout=5.0) as client:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                if client.get(f"{url}/health").status_code == httpx.codes.OK:
                    keep_tables(home, kept_tables())
                    return
            except httpx.HTTPError:
                pass  # not up yet: the deadline decides
            time.sleep(0.1)
    happened = "did not answer in time" if process.poll() is None else f"ended with code {process.returncode}"
    raise RunError(
        f"the private Prefect server {happened} while starting",
        remedy=f"read {home / 'server.log'}, or set PREFECT_API_URL to a Prefect server of your own",
    )


def _server_environment(home: Path, url: str, *, ui: bool, scheduling: bool) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return (
        inherited
        | SERVER_SETTINGS
        | ({} if scheduling else _OF_ONE_RUN)
        | {
            "PREFECT_HOME": str(home),
            "PREFECT_SERVER_UI_ENABLED": str(ui).lower(),
            "PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED": str(scheduling).lower(),
            "PREFECT_SERVER_UI_API_URL": url,
            # Without this Prefect copies its pages into the installed package.
            "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(home / "ui"),
        }
    )


def _client_settings(home: Path, url: str) -> dict[str, str | None]:
    direct = ",".join(filter(None, [os.environ.get("NO_PROXY", os.environ.get("no_proxy")), "127.0.0.1"]))
    return {
        **QUIET,
        "PREFECT_HOME": str(home.resolve()),
        "PREFECT_API_URL": url,
        "PREFECT_API_KEY": None,
        "PREFECT_API_AUTH_STRING": None,
        "PREFECT_PROFILE": None,
        "PREFECT_PROFILES_PATH": None,
        "NO_PROXY": direct,
        "no_proxy": direct,
    }


@contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """The environment with these changes (null removes a variable), restored at the end."""
    before = {name: os.environ.get(name) for name in changes}
    _apply(changes)
    try:
        yield
    finally:
        _apply(before)


def _apply(changes: Mapping[str, str | None]) -> None:
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
