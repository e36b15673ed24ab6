"""A folder of short notes as a source, which tests change between runs: a run takes a second or two."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from schemas.names import Cohort, StageName
from tasks.run.configuration import Configuration, parse_configuration
from tests.engine import EngineRun

SUBJECTS = (
    "lighthouse", "ferry", "harbour crane", "tide table", "customs shed", "pilot boat", "dry dock", "signal mast",
    "bonded store", "slipway", "fog horn", "mooring buoy", "chart room", "rope walk", "grain silo", "ice house",
)  # fmt: skip


def note(subject: str, extra: str = "") -> str:
    """A text that is like no other note's."""
    number = sum(map(ord, subject))
    return (
        f"# The {subject}\n\nWhoever looks after the {subject} signs the book number {number} before noon.\n\n"
        f"## Repairs\n\nThe {subject} was last mended in week {number % 50}, at a cost of {number * 7} euros. {extra}\n"
    )


def write_notes(folder: Path, count: int = len(SUBJECTS), *, start: int = 0) -> None:
    """Notes on so many subjects, one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    for subject in SUBJECTS[start : start + count]:
        (folder / f"{subject.replace(' ', '-')}.md").write_text(note(subject), encoding="utf-8")


def configuration(folder: Path, *sources: str, source: dict[str, Any] | None = None, **keys: Any) -> Configuration:
    """Sources of these names in folders of the same names; the gate lets everything through."""
    data = {
        "lake": "lake",
        "sources": [{"name": name, "type": "files", "root": name} | (source or {}) for name in sources or ("notes",)],
        "gate": {
            "disabled": ["fetch-success", "live-kept"],
            "expected_quarantine": [{"path": "**", "stage": stage} for stage in StageName],
        },
    }
    return parse_configuration(data | keys, folder / "corpusgate.yaml")


def cohorts(run: EngineRun) -> dict[str, int]:
    """How many documents of each cohort a run had."""
    plan = run.session.runs.plan(run.session.context.run_id)
    found = Counter(plan.column("cohort").to_pylist())
    return {cohort: found[cohort] for cohort in map(str, Cohort) if found[cohort]}


def computed(run: EngineRun) -> dict[str, int]:
    """How many documents each stage computed in a run; stages that computed none are absent."""
    locations = run.session.runs.locations(run.session.context.run_id)
    return dict(Counter(locations.filter(pc.field("computed")).column("stage").to_pylist()))


def live_names(run: EngineRun) -> set[str]:
    """The paths of the documents that the live generation holds."""
    return {row["uri"] for row in run.live_rows.values()}
