"""Which rules judge a run, and what is said of a rule that cannot."""

import pytest
from pydantic import ValidationError

from schemas.names import StageName
from tasks.errors import ConfigurationError
from tasks.figures.catalogue import load_catalogue
from tasks.gate.rules import default_rules, rules_in_force
from tasks.gate.settings import ExpectedQuarantine, GateSettings, Rule


def test_the_rules_that_ship_name_measures_that_exist_and_ids_once() -> None:
    rules = rules_in_force(GateSettings(), load_catalogue())
    assert len({rule.id for rule in default_rules()}) == len(default_rules()) == len(rules)
    assert {rule.stage for rule in rules} == set(StageName)


def test_a_rule_of_the_same_id_replaces_the_one_that_ships() -> None:
    own = Rule(id="teds", stage="parse", metric="teds", kind="floor", threshold=0.5)
    rules = {rule.id: rule for rule in rules_in_force(GateSettings(rules=(own,)), load_catalogue())}
    assert rules["teds"].threshold == 0.5
    assert len(rules) == len(default_rules())


def test_a_disabled_rule_is_out() -> None:
    assert "teds" not in {rule.id for rule in rules_in_force(GateSettings(disabled=("teds",)), load_catalogue())}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"metric": "tedz"}, "the catalogue has no measure 'tedz' of stage parse"),
        ({"aggregation": "p50"}, "teds is not aggregated as 'p50'"),
        ({"slice": "language"}, "teds has no slice 'language'"),
        ({"metric": "length_ratio", "kind": "guard", "threshold": None, "max_loss": 0.1}, "no better or worse"),
        ({"kind": "drift", "slice": "class"}, "drift has no feature 'teds'"),
        ({"metric": "peak_rss", "kind": "guard", "threshold": None, "max_loss": 1.0}, "no mean"),
    ],
)
def test_a_rule_that_cannot_judge_is_refused_with_what_is_possible(changes: dict[str, object], said: str) -> None:
    fields = {"id": "own", "stage": "parse", "metric": "teds", "kind": "floor", "threshold": 0.5} | changes
    with pytest.raises(ConfigurationError) as raised:
        rules_in_force(GateSettings(rules=(Rule.model_validate(fields),)), load_catalogue())
    assert said in str(raised.value)
    assert raised.value.remedy


def test_a_misspelt_disabled_rule_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="there is no rule tedz"):
        rules_in_force(GateSettings(disabled=("tedz",)), load_catalogue())


@pytest.mark.parametrize(
    "bounds",
    [
        {"kind": "floor"},
        {"kind": "guard", "threshold": 0.5},
        {"kind": "proof", "threshold": 0.5, "max_loss": 0.1},
        {"kind": "drift", "threshold": 0.5},
    ],
)
def test_a_rule_has_the_bound_that_its_kind_needs(bounds: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Rule.model_validate({"id": "own", "stage": "parse", "metric": "teds", **bounds})


@pytest.mark.parametrize(
    ("uri", "stage", "error", "covered"),
    [
        ("old/a/b.pdf", "parse", "corrupt", True),
        ("old/b.pdf", "parse", "corrupt", True),
        ("new/b.pdf", "parse", "corrupt", False),
        ("old/b.pdf", "fetch", "corrupt", False),
        ("old/b.pdf", "parse", "timeout", False),
    ],
)
def test_expected_quarantine_covers_what_it_names(uri: str, stage: str, error: str, covered: bool) -> None:
    expected = ExpectedQuarantine(path="old/**/*.pdf", stage=StageName.PARSE, error_class="corrupt")
    assert expected.covers("any", uri, stage, error) is covered
