"""Stages alone from the command line: as part of a run, and of a finished run again."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.flows.notes import ONE_WORKER
from tests.tasks.run.notes_by_hand import PEOPLE, labels, name, write_labels, write_notes

pytestmark = pytest.mark.xdist_group("runs")


def test_a_run_scores_alone_where_it_is_told_to(
    tmp_path: Path, recorded_command_line: Callable[[Path], Callable[..., tuple[int, str, str]]]
) -> None:
    write_notes(tmp_path)
    write_labels(tmp_path, "1", {name(person): labels(person) for person in PEOPLE})
    path = tmp_path / "corpusgate.yaml"
    configuration = {
        "lake": "lake",
        "sources": [{"name": "notes", "type": "files", "root": "in"}],
        "gold": ["gold"],
        "stages": ONE_WORKER | {"pii": {"thresholds": {"PERSON": 1.0}}},
        "run": {"score_alone": True},
    }
    path.write_text(yaml.safe_dump(configuration))
    call = recorded_command_line(tmp_path)
    code, _, err = call("run", str(path))
    assert code in (0, 1), err
    _, asked, _ = call("sql", "alone", "-p", "metric=pii_recall", "--format", "csv", "--config", str(path))
    rows = [line.split(",") for line in asked.splitlines()]
    both = rows[0].index("in_cascade"), rows[0].index("alone")
    # The address is found, the person is not: its own fault, so that it is the same both ways.
    assert [[row[i] for i in both] for row in rows[1:]] == [["0.5", "0.5"]] * 6

    code, out, err = call("evaluate", "last", "--alone", "--config", str(path))
    assert code == 0, err
    said = [line.split() for line in out.splitlines()]
    assert ["pii", "pii_recall", "all", "6", "0.5", "0.5", "±0", "own"] in said

    code, _, err = call("evaluate", "last", "--alone", "--stage", "pii", "--config", str(path))
    assert code == 2
    assert "--stage does not go with --alone" in err
