"""A real Prefect server and worker run the deployed check on its schedule: a sound corpus goes live, a damaged one is
blocked, live stays, and the webhook is told."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tests.flows.notes import damage, write_corpus
from tests.flows.prefect_api import PrefectApi, answers
from tests.tasks.notify.receiver import receiver

pytestmark = pytest.mark.xdist_group("runs")


def test_a_deployed_check_runs_on_its_schedule_and_blocks_a_damaged_corpus(tmp_path: Path) -> None:
    notify = {"url_env": "CORPUSGATE_TEST_HOOK", "outcomes": ["fail"]}
    notes = write_corpus(tmp_path / "corpora" / "production", notify=notify).parent / "documents"
    live = tmp_path / "corpora" / "production" / "lake" / "index" / "live.json"
    with receiver(500, 200) as told:
        api = PrefectApi(tmp_path, {"CORPUSGATE_CORPORA": str(tmp_path / "corpora"), "CORPUSGATE_TEST_HOOK": told.url})
        api.begin_with_kept_tables()
        with api.running("server", "start", "--host", "127.0.0.1", "--port", str(api.port)):
            api.until("the server", lambda: answers(api.get("health")))
            # One at a time: a run that is called for while another is on would start a process only to be cancelled.
            with api.running("worker", "start", "--pool", "corpusgate", "--type", "process", "--limit", "1"):
                api.until("the work pool", lambda: answers(api.get("work_pools/corpusgate")))
                schedule = ("--prefect-file", "deployments/prefect.yaml", "--interval", "5")
                api.command("deploy", "--name", "production", *schedule)

                def ended(state: str) -> list[dict[str, object]]:
                    return [run for run in api.runs("recheck", "production") if run["state_type"] == state]

                sound = api.until("a run that passes", lambda: ended("COMPLETED"))[0]
                assert sound["auto_scheduled"] is True
                assert str(sound["state"]["message"]).startswith("PASS  run ")
                went_live = live.read_bytes()

                damage(notes)
                blocked = api.until("a run that is blocked", lambda: ended("FAILED"))[0]
                pages = [str(artifact["data"]) for artifact in api.artifacts("corpusgate-verdict")]
    assert blocked["auto_scheduled"] is True
    assert blocked["state"]["name"] == "Blocked"
    assert str(blocked["state"]["message"]).startswith("FAIL  run ")
    assert live.read_bytes() == went_live
    assert pages[0].startswith("# PASS run ")
    assert "- readable (broken), slices: 1" in pages[-1]
    [first, again] = [message for message in told.messages if message["run_id"] == told.messages[0]["run_id"]]
    assert first == again
    assert first["status"] == "fail"
    assert f"run {first['run_id']}:" in str(blocked["state"]["message"])
    assert json.loads(went_live)["generation"]["run_id"] != first["run_id"]
    manifest = Runs(Lake(live.parents[1])).manifest(str(first["run_id"]))
    assert (manifest["notified"]["delivered"], manifest["notified"]["attempts"]) == (True, 2)
    assert "s3cret" not in json.dumps(manifest)


@pytest.fixture
def postgresql() -> Iterator[str]:
    """The address of an empty PostgreSQL of the test's own on loopback: user, host, port, database."""
    if not (shutil.which("initdb") and shutil.which("pg_ctl")):
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        if user is not None:
            shutil.chown(folder, user)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        data, options = f"{folder}/data", f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"

        def command(*arguments: str) -> None:
            with Path(folder).with_suffix(".log").open("ab") as log:
                subprocess.run(arguments, cwd=folder, user=user, stdout=log, stderr=log, check=True)

        command("initdb", "-D", data, "-U", "corpusgate", "--auth=trust")
        command("pg_ctl", "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start")
        try:
            yield f"corpusgate@127.0.0.1:{port}/postgres"
        finally:
            command("pg_ctl", "-D", data, "-m", "fast", "-w", "stop")
            Path(folder).with_suffix(".log").unlink()


def test_the_server_keeps_its_data_in_the_postgresql_that_a_url_names(tmp_path: Path, postgresql: str) -> None:
    api = PrefectApi(tmp_path, {"PREFECT_SERVER_DATABASE_CONNECTION_URL": f"postgresql+asyncpg://{postgresql}"})
    with api.running("server", "start", "--host", "127.0.0.1", "--port", str(api.port)):
        api.until("the server", lambda: answers(api.get("health")))
        api.command("work-pool", "create", "corpusgate", "--type", "process")

    async def pools() -> list[tuple[str, str]]:
        import asyncpg

        connection = await asyncpg.connect(f"postgresql://{postgresql}")
        try:
            return [tuple(row) for row in await connection.fetch("select name, type from work_pool")]
        finally:
            await connection.close()

    assert asyncio.run(pools()) == [("corpusgate", "process")]
    assert not (tmp_path / "prefect" / "prefect.db").exists()
