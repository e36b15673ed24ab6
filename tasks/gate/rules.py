"""The rules in force: those that ship, replaced, added to and disabled by the configuration."""

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import yaml
from pydantic import TypeAdapter

from tasks.errors import ConfigurationError
from tasks.figures.catalogue import Catalogue
from tasks.gate.features import FEATURES, MEASURED
from tasks.gate.settings import GateSettings, Rule

_BROAD_SLICES = ("all", "class", "cohort")


@lru_cache(maxsize=1)
def default_rules() -> tuple[Rule, ...]:
    """The rules that ship with the project (`data_contracts/gate.yaml`)."""
    text = files("data_contracts").joinpath("gate.yaml").read_text(encoding="utf-8")
    return TypeAdapter(tuple[Rule, ...]).validate_python(yaml.load(text, yaml.CSafeLoader))


def rules_in_force(
    settings: GateSettings, catalogue: Catalogue, defaults: Sequence[Rule] | None = None
) -> tuple[Rule, ...]:
    """Default rules and the configuration's own, in a stable order.

    Raises:
        ConfigurationError: a rule names a measure, aggregation or slice that does not exist, two of the
            configuration's rules share an id, or `disabled` names no rule.
    """
    shipped = default_rules() if defaults is None else defaults
    own = [rule.id for rule in settings.rules]
    if len(set(own)) != len(own):
        twice = sorted({name for name in own if own.count(name) > 1})
        raise ConfigurationError(f"gate.rules: {', '.join(twice)} stands there twice", remedy="give each rule its id")
    merged = {rule.id: rule for rule in (*shipped, *settings.rules)}
    unknown = sorted(set(settings.disabled) - merged.keys())
    if unknown:
        raise ConfigurationError(
            f"gate.disabled: there is no rule {', '.join(unknown)}",
            remedy=f"the rules are: {', '.join(sorted(merged))}",
        )
    rules = tuple(rule for name, rule in merged.items() if name not in settings.disabled)
    for rule in rules:
        _check(rule, catalogue)
    return rules


def _check(rule: Rule, catalogue: Catalogue) -> None:
    if rule.kind == "drift":
        if (rule.stage, rule.metric) not in FEATURES.keys() | MEASURED:
            known = ", ".join(f"{stage} {name}" for stage, name in (*FEATURES, *sorted(MEASURED)))
            raise ConfigurationError(
                f"gate rule {rule.id!r}: drift has no feature {rule.metric!r} of stage {rule.stage}",
                remedy=f"the features are: {known}",
            )
        return
    try:
        metric = catalogue.get(rule.stage, rule.metric)
    except KeyError:
        known = ", ".join(sorted(metric.id for metric in catalogue.of_stage(rule.stage)))
        raise ConfigurationError(
            f"gate rule {rule.id!r}: the catalogue has no measure {rule.metric!r} of stage {rule.stage}",
            remedy=f"the measures of {rule.stage} are: {known}",
        ) from None
    if rule.aggregation is not None and rule.aggregation not in metric.aggregation:
        raise ConfigurationError(
            f"gate rule {rule.id!r}: {rule.metric} is not aggregated as {rule.aggregation!r}",
            remedy=f"it has: {', '.join(metric.aggregation)}",
        )
    if rule.slice not in _BROAD_SLICES and rule.slice not in metric.slices:
        raise ConfigurationError(
            f"gate rule {rule.id!r}: {rule.metric} has no slice {rule.slice!r}",
            remedy=f"it has: {', '.join((*_BROAD_SLICES, *metric.slices))}",
        )
    if metric.direction == "none" and (rule.kind == "guard" or rule.max_loss is not None):
        raise ConfigurationError(
            f"gate rule {rule.id!r}: {rule.metric} has no better or worse, so there is no loss to guard against",
            remedy="use a floor, a ceiling or a drift rule",
        )
    if rule.max_loss is not None and (rule.aggregation or metric.aggregation[0]) not in ("micro", "macro"):
        raise ConfigurationError(
            f"gate rule {rule.id!r}: {rule.metric} is no mean over documents, so that documents cannot be paired",
            remedy="use a ceiling or a floor",
        )
    lowest, highest = metric.range
    if rule.threshold is not None and not (
        (lowest is None or rule.threshold >= lowest) and (highest is None or rule.threshold <= highest)
    ):
        raise ConfigurationError(
            f"gate rule {rule.id!r}: {rule.metric} lies between {_end(lowest)} and {_end(highest)}, so that a bound of "
            f"{rule.threshold:g} always or never holds",
            remedy="give the bound in the measure's own unit: a share is 0.95, not 95",
        )
    if rule.max_loss is not None and None not in metric.range and rule.max_loss >= (highest or 0) - (lowest or 0):
        raise ConfigurationError(
            f"gate rule {rule.id!r}: no loss of {rule.metric} can be larger than {rule.max_loss:g}",
            remedy="give the loss in the measure's own unit: two points of a share are 0.02, not 2",
        )
    if rule.kind == "proof" and rule.threshold is not None and metric.direction == "none":
        raise ConfigurationError(
            f"gate rule {rule.id!r}: {rule.metric} has no better or worse, so it is not known which side to clear",
            remedy="use a floor or a ceiling",
        )


def _end(value: float | None) -> str:
    return "no bound" if value is None else f"{value:g}"
