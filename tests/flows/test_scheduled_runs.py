"""A real Prefect server and worker run the deployed check on its schedule: a sound corpus goes live, a damaged one is
blocked, live stays, and the webhook is told."""

import json
from pathlib import Path

import pytest

from flows.recheck import ARTIFACT
from tests.flows.notes import damage, write_corpus
from tests.flows.prefect_api import PrefectApi, answers
from tests.tasks.notify.receiver import receiver

pytestmark = pytest.mark.xdist_group("schedule")


def test_a_deployed_check_runs_on_its_schedule_and_blocks_a_damaged_corpus(tmp_path: Path) -> None:
    notify = {"url_env": "CORPUSGATE_TEST_HOOK", "outcomes": ["fail"]}
    notes = write_corpus(tmp_path / "corpora" / "production", notify=notify).parent / "documents"
    live = tmp_path / "corpora" / "production" / "lake" / "index" / "live.json"
    with receiver(500, 200) as told:
        api = PrefectApi(tmp_path, {"CORPUSGATE_CORPORA": str(tmp_path / "corpora"), "CORPUSGATE_TEST_HOOK": told.url})
        with api.running("server", "start", "--host", "127.0.0.1", "--port", str(api.port)):
            api.until("the server", lambda: answers(api.get("health")))
            with api.running("worker", "start", "--pool", "corpusgate", "--type", "process"):
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
                pages = [str(artifact["data"]) for artifact in api.artifacts(ARTIFACT)]
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
