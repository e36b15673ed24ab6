"""Stages alone from the command line: as part of a run, and of a finished run again."""

from pathlib import Path

import yaml

from tests.flows.corpus import corpusgate
from tests.tasks.run.notes_by_hand import PEOPLE, labels, name, write_labels, write_notes


def test_a_run_scores_alone_where_it_is_told_to(tmp_path: Path) -> None:
    write_notes(tmp_path)
    write_labels(tmp_path, "1", {name(person): labels(person) for person in PEOPLE})
    path = tmp_path / "corpusgate.yaml"
    configuration = {
        "lake": "lake",
        "sources": [{"name": "notes", "type": "files", "root": "in"}],
        "gold": ["gold"],
        "stages": {"pii": {"thresholds": {"PERSON": 1.0}}},
        "run": {"score_alone": True},
    }
    path.write_text(yaml.safe_dump(configuration))
    run = corpusgate("run", path)
    assert run.returncode in (0, 1), run.stderr
    asked = corpusgate("sql", "alone", "-p", "metric=pii_recall", "--format", "csv", "--config", path)
    rows = [line.split(",") for line in asked.stdout.splitlines()]
    both = rows[0].index("in_cascade"), rows[0].index("alone")
    # The address is found, the person is not: its own fault, so that it is the same both ways.
    assert [[row[i] for i in both] for row in rows[1:]] == [["0.5", "0.5"]] * 6

    again = corpusgate("evaluate", "last", "--alone", "--config", path)
    assert again.returncode == 0, again.stderr
    said = [line.split() for line in again.stdout.splitlines()]
    assert ["pii", "pii_recall", "all", "6", "0.5", "0.5", "±0", "own"] in said

    refused = corpusgate("evaluate", "last", "--alone", "--stage", "pii", "--config", path)
    assert refused.returncode == 2
    assert "--stage does not go with --alone" in refused.stderr
