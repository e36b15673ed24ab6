"""`plan` and the options of a run from the command line: exit codes, JSON, what is said."""

import json
from pathlib import Path

import yaml

from tests.flows.corpus import corpusgate
from tests.tasks.run.notes import write_notes


def configured(folder: Path) -> Path:
    path = folder / "corpusgate.yaml"
    data = {"lake": "lake", "sources": [{"name": "notes", "type": "files", "root": "notes"}]}
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


def test_a_plan_is_told_for_people_and_for_machines(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 3)
    config = configured(tmp_path)
    told = corpusgate("plan", config, "--names", "1")
    assert told.returncode == 0, told.stderr
    assert "documents: 3 new" in told.stdout
    assert "new: notes:ferry.md … and 2 more" in told.stdout
    assert "parse        3 if they come so far" in told.stdout
    plan = json.loads(corpusgate("plan", config, "--json", "--limit", "2").stdout)
    assert (plan["documents"], plan["left_out"]) == ({"new": 2}, 1)
    assert plan["stages"][0] == {"stage": "fetch", "certain": 2, "following": 0, "exact": True}
    nobody = corpusgate("plan", config, "--only", "no-such-source")
    assert nobody.returncode == 2
    assert "what to do: give the name of a source" in nobody.stderr
    assert not (tmp_path / "lake").exists()


def test_a_mass_deletion_ends_with_3_and_a_partial_run_says_that_it_is_one(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes")
    config = configured(tmp_path)
    part = corpusgate("run", config, "--limit", "14")
    assert part.returncode == 0, part.stderr
    assert "(14 documents taken in, 0 as they were, 2 left out)" in " ".join(part.stdout.split())
    for path in sorted((tmp_path / "notes").iterdir())[:12]:
        path.unlink()
    assert "the run would stop: 12 of the 14 live documents" in corpusgate("plan", config).stdout
    stopped = corpusgate("run", config)
    assert stopped.returncode == 3
    assert "would delete 12 of the 14 live documents of source 'notes'" in stopped.stderr
    assert "--allow-mass-delete" in stopped.stderr
    meant = corpusgate("run", config, "--allow-mass-delete")
    assert meant.returncode == 0, meant.stdout + meant.stderr
