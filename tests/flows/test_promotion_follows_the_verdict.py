"""What the caller counts as a failure never goes live, and a second judgement leaves the first one alone."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.corpus import change, lake_of, last_run
from tests.flows.notes import write_corpus

pytestmark = pytest.mark.xdist_group("runs")


def test_a_run_that_fails_on_warnings_is_not_promoted_when_it_warns(
    tmp_path: Path, recorded_command_line: Callable[[Path], Callable[..., tuple[int, str, str]]]
) -> None:
    configuration = write_corpus(tmp_path)
    rule = {"id": "warned", "stage": "chunk", "metric": "tokens", "kind": "ceiling", "threshold": 1, "severity": "warn"}
    change(configuration, lambda settings: settings["gate"].update(rules=[rule]))
    call = recorded_command_line(tmp_path)
    code, _, err = call("run", str(configuration), "--fail-on", "warn")
    assert code == 1, err
    assert not (lake_of(configuration).index / "live.json").exists()

    code, _, err = call("run", str(configuration))
    assert code == 0, err
    live = json.loads((lake_of(configuration).index / "live.json").read_text(encoding="utf-8"))
    verdict = lake_of(configuration).run(last_run(configuration)) / "verdict.json"
    promoted = json.loads(verdict.read_text(encoding="utf-8"))
    assert promoted["digest"] in json.dumps(live)

    change(configuration, lambda settings: settings["gate"].update(rules=[rule | {"severity": "fail"}]))
    code, _, err = call("gate", "last", "--config", str(configuration))
    assert code == 1, err
    assert json.loads(verdict.read_text(encoding="utf-8")) == promoted
