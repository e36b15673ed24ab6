"""What the caller counts as a failure never goes live, and a second judgement leaves the first one alone."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.corpus import change, corpusgate, lake_of, last_run
from tests.flows.notes import write_corpus

pytestmark = pytest.mark.xdist_group("runs")


def test_a_run_that_fails_on_warnings_is_not_promoted_when_it_warns(
    tmp_path: Path, prefect: dict[str, str], command_line: Callable[[Path], Callable[..., tuple[int, str, str]]]
) -> None:
    configuration = write_corpus(tmp_path)
    rule = {"id": "warned", "stage": "chunk", "metric": "tokens", "kind": "ceiling", "threshold": 1, "severity": "warn"}
    change(configuration, lambda settings: settings["gate"].update(rules=[rule]))
    strict = corpusgate("run", configuration, "--fail-on", "warn", environment=prefect)
    assert strict.returncode == 1, strict.stderr
    assert not (lake_of(configuration).index / "live.json").exists()

    tolerant = corpusgate("run", configuration, environment=prefect)
    assert tolerant.returncode == 0, tolerant.stderr
    live = json.loads((lake_of(configuration).index / "live.json").read_text(encoding="utf-8"))
    verdict = lake_of(configuration).run(last_run(configuration)) / "verdict.json"
    promoted = json.loads(verdict.read_text(encoding="utf-8"))
    assert promoted["digest"] in json.dumps(live)

    change(configuration, lambda settings: settings["gate"].update(rules=[rule | {"severity": "fail"}]))
    code, _, err = command_line(tmp_path)("gate", "last", "--config", str(configuration))
    assert code == 1, err
    assert json.loads(verdict.read_text(encoding="utf-8")) == promoted
