"""A bound that always or never holds is a mistake of unit (95 for 0.95), and is refused."""

import pytest

from tasks.errors import ConfigurationError
from tasks.figures.catalogue import load_catalogue
from tasks.gate.rules import rules_in_force
from tasks.gate.settings import GateSettings


def in_force(**rule: object) -> None:
    """The default rules and one more."""
    settings = GateSettings.model_validate({"rules": [{"id": "own", "stage": "parse"} | rule]})
    rules_in_force(settings, load_catalogue())


@pytest.mark.parametrize("threshold", [95, -0.1, 1.01])
@pytest.mark.parametrize("kind", ["floor", "ceiling", "equal", "proof"])
def test_a_share_has_no_bound_outside_zero_to_one(kind: str, threshold: float) -> None:
    with pytest.raises(ConfigurationError, match="lies between 0 and 1"):
        in_force(metric="page_completeness", kind=kind, threshold=threshold)


@pytest.mark.parametrize("threshold", [0, 0.95, 1])
def test_the_ends_of_the_range_are_bounds(threshold: float) -> None:
    in_force(metric="page_completeness", kind="floor", threshold=threshold)


def test_an_error_rate_may_be_bounded_above_one_and_not_below_zero() -> None:
    in_force(metric="cer", kind="ceiling", threshold=1.5)
    with pytest.raises(ConfigurationError, match="between 0 and no bound"):
        in_force(metric="cer", kind="ceiling", threshold=-0.1)


def test_a_loss_as_large_as_the_range_guards_nothing() -> None:
    in_force(metric="teds", kind="guard", max_loss=0.02)
    with pytest.raises(ConfigurationError, match="can be larger"):
        in_force(metric="teds", kind="guard", max_loss=2)
