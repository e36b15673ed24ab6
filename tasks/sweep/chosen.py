"""Which measures a sweep shows: those asked for by name, else what the swept stage's labels measure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from schemas.names import StageName
from tasks.errors import ConfigurationError
from tasks.figures.catalogue import Catalogue, Metric

_NEEDS_INDEX = frozenset({(StageName.PII, "residual_pii")})
"""Measures of stages before the index that are taken in the built index all the same."""
_RECORDED = frozenset({"seconds", "bytes"})


@dataclass(frozen=True, slots=True)
class Chosen:
    """A measure at a stage."""

    stage: StageName
    metric: Metric

    @property
    def aggregation(self) -> str:
        """How the headline figure is put together."""
        return self.metric.aggregation[0]

    @property
    def name(self) -> str:
        """As it is asked for."""
        return f"{self.stage}.{self.metric.id}"

    @property
    def ranked(self) -> bool:
        """Whether one point can be called better than another: not of a signal, nor of what one clock said once."""
        return self.metric.direction != "none" and self.metric.unit not in _RECORDED

    @property
    def sign(self) -> int:
        """1 where higher is better, -1 where lower is."""
        return 1 if self.metric.direction == "higher" else -1


def measures_by_name(names: Sequence[str], catalogue: Catalogue, first: StageName) -> tuple[Chosen, ...]:
    """The measures asked for as `pair_f1` or, to name the stage too, `embed.seconds`.

    Without a stage it is that of the measure or, of a measure that every stage has, the `first` that is swept.

    Raises:
        ConfigurationError: there is no such measure, no point could differ in it, or it needs an index.
    """
    return tuple(dict.fromkeys(_by_name(name, catalogue, first) for name in names))


def usual_measures(catalogue: Catalogue, first: StageName) -> tuple[Chosen, ...]:
    """Every measure of the swept stage by which a point can be better, and the time it takes."""
    own = [m for m in catalogue.metrics if m.stage == first and m.direction != "none"]
    chosen = [Chosen(first, metric) for metric in own if (first, metric.id) not in _NEEDS_INDEX]
    return (*chosen, Chosen(first, catalogue.get(first, "seconds")))


def worth_showing(measures: Sequence[Chosen], counted: Collection[Chosen]) -> tuple[Chosen, ...]:
    """Of the usual measures those that counted anything; where labels measured something, what needs none is left out
    but for the time.
    """
    found = [chosen for chosen in measures if chosen in counted]
    gold = [chosen for chosen in found if chosen.metric.needs == "gold" or chosen.metric.id == "seconds"]
    return tuple(gold if any(chosen.metric.needs == "gold" for chosen in gold) else found)


def _by_name(name: str, catalogue: Catalogue, first: StageName) -> Chosen:
    stage_name, _, metric_id = name.rpartition(".")
    of_id = [metric for metric in catalogue.metrics if metric.id == metric_id]
    if stage_name:
        of_id = [metric for metric in of_id if metric.stage in (stage_name, "all") and stage_name in list(StageName)]
    if not of_id:
        near = get_close_matches(metric_id, sorted({metric.id for metric in catalogue.metrics}), n=3)
        raise ConfigurationError(
            f"there is no measure {name!r}" + (f"; there is {', '.join(near)}" if near else ""),
            remedy="docs/measures.md lists all of them; give it as `pair_f1` or `dedup.pair_f1`",
        )
    stages = [stage_name or (str(first) if metric.stage == "all" else metric.stage) for metric in of_id]
    if len(stages) > 1:
        raise ConfigurationError(
            f"several stages have a measure {metric_id}", remedy=f"name the stage: {stages[0]}.{metric_id}"
        )
    stage, order = StageName(stages[0]), list(StageName)
    if order.index(stage) < order.index(first):
        raise ConfigurationError(
            f"{stage}.{metric_id} is measured before {first}, where the points first differ: it is the same at all",
            remedy=f"ask for a measure of {first} or of a later stage",
        )
    if stage is StageName.INDEX or (stage, metric_id) in _NEEDS_INDEX:
        raise ConfigurationError(
            f"{stage}.{metric_id} is measured in the built index, and a sweep builds none",
            remedy="ask for a measure of an earlier stage; a run with the setting you decide for measures this one",
        )
    return Chosen(stage, of_id[0])
