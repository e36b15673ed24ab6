"""`plan` and the options of a run from the command line: exit codes, JSON, what is said."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.flows.notes import ONE_WORKER
from tests.tasks.run.notes import write_notes

pytestmark = pytest.mark.xdist_group("runs")
CommandLine = Callable[[Path], Callable[..., tuple[int, str, str]]]


def configured(folder: Path) -> Path:
    path = folder / "corpusgate.yaml"
    data = {"lake": "lake", "sources": [{"name": "notes", "type": "files", "root": "notes"}], "stages": ONE_WORKER}
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


def test_a_plan_is_told_for_people_and_for_machines(tmp_path: Path, command_line: CommandLine) -> None:
    write_notes(tmp_path / "notes", 3)
    config = str(configured(tmp_path))
    call = command_line(tmp_path)
    code, out, err = call("plan", config, "--names", "1")
    assert code == 0, err
    assert "documents: 3 new" in out
    assert "new: notes:ferry.md … and 2 more" in out
    assert "parse        3 if they come so far" in out
    plan = json.loads(call("plan", config, "--json", "--limit", "2")[1])
    assert (plan["documents"], plan["left_out"]) == ({"new": 2}, 1)
    assert plan["stages"][0] == {"stage": "fetch", "certain": 2, "following": 0, "exact": True, "settled": True}
    code, _, err = call("plan", config, "--only", "no-such-source")
    assert code == 2
    assert "what to do: give the name of a source" in err
    assert not (tmp_path / "lake").exists()


def test_a_mass_deletion_ends_with_3_and_a_partial_run_says_that_it_is_one(
    tmp_path: Path, recorded_command_line: CommandLine
) -> None:
    write_notes(tmp_path / "notes")
    config = str(configured(tmp_path))
    call = recorded_command_line(tmp_path)
    code, out, err = call("run", config, "--limit", "14")
    assert code == 0, err
    assert "(14 documents taken in, 0 as they were, 2 left out)" in " ".join(out.split())
    for path in sorted((tmp_path / "notes").iterdir())[:12]:
        path.unlink()
    assert "the run would stop: 12 of the 14 live documents" in call("plan", config)[1]
    code, _, err = call("run", config)
    assert code == 3
    assert "would delete 12 of the 14 live documents of source 'notes'" in err
    assert "--allow-mass-delete" in err
    code, out, err = call("run", config, "--allow-mass-delete")
    assert code == 0, out + err
