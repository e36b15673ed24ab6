"""`deployments/prefect.yaml` and `prefect.env` fit the flow and the server, and name no machine and no secret."""

import inspect
import re
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from flows.server import SERVER_SETTINGS
from schemas.verdict import FailOn

FOLDER = Path(__file__).parents[2] / "deployments"
DEPLOYMENTS: list[dict[str, Any]] = yaml.safe_load((FOLDER / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]


def test_there_is_a_deployment_per_environment() -> None:
    assert [deployment["name"] for deployment in DEPLOYMENTS] == ["production", "staging"]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda deployment: str(deployment["name"]))
def test_a_deployment_fits_the_flow(deployment: dict[str, Any]) -> None:
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.utilities.importtools import import_object

    flow = import_object(deployment["entrypoint"])
    assert flow.name == "recheck"
    parameters = deployment["parameters"]
    assert set(parameters) == set(inspect.signature(flow.fn).parameters)
    assert parameters["fail_on"] in get_args(FailOn)
    assert parameters["config"] == "{{ $CORPUSGATE_CORPORA }}/" + f"{deployment['name']}/corpusgate.yaml"
    for schedule in deployment["schedules"]:
        CronSchedule(cron=schedule["cron"], timezone=schedule["timezone"])
    assert deployment["work_pool"]["name"] == "corpusgate"
    assert deployment["concurrency_limit"]["limit"] == 1


def test_the_server_records_in_the_batches_of_the_private_one() -> None:
    text = (FOLDER / "prefect.env").read_text(encoding="utf-8")
    given = dict(re.findall(r"^([A-Z_]+)=(.*)$", text, re.MULTILINE))
    wanted = {name: value for name, value in SERVER_SETTINGS.items() if "RECORDER" in name or "PERSISTER" in name}
    assert len(wanted) == 6
    assert wanted.items() <= given.items()
    assert given["DO_NOT_TRACK"] == "1"
    assert given["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert not any("PASSWORD" in value or "@" in value for value in given.values())
