"""New questions are scored from stored outputs; what they do not touch keeps the rows that it has."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from schemas.names import StageName
from tasks.gold.writing import write_gold_set
from tasks.run.configuration import parse_configuration
from tests.engine import EngineRun, run_engine
from tests.tasks.survival.quay_by_hand import MEASURED, curve

pytestmark = pytest.mark.xdist_group("survival")

TEXTS = {
    "sluice.txt": "The sluice opens at three metres.",
    "mole.txt": "The mole is lit from dusk until the last ferry.",
}
SCORED_WITH_DOCUMENTS = [stage for stage in MEASURED if stage is not StageName.INDEX]


def label(folder: Path, version: str, **quotes: str) -> None:
    """Writes a gold set with one question to each note named, by the passage that answers it."""
    rows: list[dict[str, Any]] = [
        {
            "document": f"notes:{name}.txt",
            "content_sha": hashlib.sha256(TEXTS[f"{name}.txt"].encode()).hexdigest(),
            "label": {"questions": [{"question_id": name, "question": "?", "evidence": [{"exact": quote}]}]},
        }
        for name, quote in quotes.items()
    ]
    write_gold_set(folder / "gold", "notes", version, {"questions": rows})


def measures(run: EngineRun, path: str) -> dict[StageName, str]:
    """The measures files of a document by stage."""
    return {stage: row["measures_file"] for stage, row in run.locations[path].items()}


def test_new_questions_run_no_stage_and_leave_other_documents_alone(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "in" / name).write_text(text, encoding="utf-8")
    data = {"lake": "lake", "sources": [{"name": "notes", "type": "files", "root": "in"}], "gold": ["gold"]}
    configuration = parse_configuration(data, tmp_path / "corpusgate.yaml")
    label(tmp_path, "1", sluice="opens at three metres", mole="lit from dusk")
    first = run_engine(configuration)
    assert curve(first.session) == dict.fromkeys(MEASURED, 1.0)

    label(tmp_path, "2", sluice="at three metres the sluice opens", mole="lit from dusk")
    second = run_engine(configuration)
    assert curve(second.session) == dict.fromkeys(MEASURED, 0.5)
    assert not any(row["computed"] for stages in second.locations.values() for row in stages.values())
    before, after = measures(first, "mole.txt"), measures(second, "mole.txt")
    assert before == after
    before, after = measures(first, "sluice.txt"), measures(second, "sluice.txt")
    assert all(before[stage] != after[stage] for stage in SCORED_WITH_DOCUMENTS)

    # Other bytes: the label says nothing of them, and what is stale is no loss.
    (tmp_path / "in" / "sluice.txt").write_text("The sluice stays shut in spring.", encoding="utf-8")
    third = run_engine(configuration)
    assert curve(third.session) == dict.fromkeys(MEASURED, 1.0)
