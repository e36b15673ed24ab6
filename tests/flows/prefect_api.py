"""A Prefect server and worker of a test's own on loopback, started by the documented commands."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from flows.server import QUIET
from flows.server_tables import kept_tables, place_tables

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0
"""Seconds to wait for what must come; machines that run tests are busy."""


class PrefectApi:
    """A server's API, and the environment in which commands find it."""

    def __init__(self, folder: Path, more: dict[str, str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/api"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        self.environment = (
            inherited
            | QUIET
            | {"PREFECT_HOME": str(folder / "prefect"), "PREFECT_API_URL": self.url, "NO_PROXY": "127.0.0.1"}
            | {"PYTHONPATH": str(ROOT), "PREFECT_SERVER_UI_ENABLED": "false"}
            | more
        )
        self._log = folder / "prefect.log"
        self._client = httpx.Client(trust_env=False, timeout=30.0)

    def begin_with_kept_tables(self) -> None:
        """The server need not make its tables, if one of the private servers before it has."""
        home = Path(self.environment["PREFECT_HOME"])
        home.mkdir(exist_ok=True)
        place_tables(home, kept_tables())

    def command(self, *arguments: str) -> None:
        """One of Prefect's commands, to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "prefect", "--no-prompt", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @contextmanager
    def running(self, *arguments: str) -> Iterator[None]:
        """One of Prefect's commands while the block runs; at the end it is gone with what it started."""
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "prefect", *arguments], cwd=ROOT, env=self.environment, stdout=log, stderr=log
            )
        try:
            yield
        finally:
            started = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for child in started:
                if child.is_running():
                    child.kill()

    def get(self, path: str) -> httpx.Response | None:
        """An answer of the API; none while it cannot be reached."""
        try:
            return self._client.get(f"{self.url}/{path}")
        except httpx.TransportError:
            return None

    def runs(self, flow: str, deployment: str) -> list[dict[str, Any]]:
        """A deployment's flow runs that began, in the order in which they were due."""
        query = {
            "flows": {"name": {"any_": [flow]}},
            "deployments": {"name": {"any_": [deployment]}},
            "flow_runs": {"start_time": {"is_null_": False}},
            "sort": "EXPECTED_START_TIME_ASC",
        }
        answer = self._client.post(f"{self.url}/flow_runs/filter", json=query).raise_for_status()
        found: list[dict[str, Any]] = answer.json()
        return found

    def artifacts(self, key: str) -> list[dict[str, Any]]:
        """The artifacts of a key, oldest first."""
        query = {"artifacts": {"key": {"any_": [key]}}, "sort": "ID_DESC"}
        answer = self._client.post(f"{self.url}/artifacts/filter", json=query).raise_for_status()
        return sorted(answer.json(), key=lambda artifact: artifact["created"])

    def until(self, what: str, holds: Any) -> Any:
        """Waits until `holds()` is true, and gives what it gave."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if found := holds():
                return found
            time.sleep(0.25)
        raise AssertionError(f"{what} did not come in {PATIENCE:g} s; {self._log.read_text(errors='replace')[-8000:]}")


def answers(response: httpx.Response | None) -> bool:
    """Whether the API answered well."""
    return response is not None and response.status_code == httpx.codes.OK
