"""What a sweep is asked to do, checked before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.names import StageName
from tasks.errors import ConfigurationError
from tasks.figures.catalogue import Catalogue
from tasks.run.configuration import Configuration
from tasks.run.keys import stage_base
from tasks.run.preflight import check_stages
from tasks.run.registry import STAGES
from tasks.sweep.axes import Axis, Point, configuration_at, points_of
from tasks.sweep.chosen import Chosen, measures_by_name, usual_measures


@dataclass(frozen=True, slots=True)
class Order:
    """A sweep to run: what differs at its points, and through which stages these are taken.

    `first` is the first stage at which the points differ; stages before it are taken once for all. `asked` says that
    the measures were named; else they are all of the first stage's, of which those are shown that counted anything.
    `by` is `class`, the key of a measure's own slices, or null for all documents only.
    """

    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    configurations: tuple[Configuration, ...]
    first: StageName
    last: StageName
    measures: tuple[Chosen, ...]
    asked: bool
    by: str | None


def make_order(
    data: Any, path: Path, axes: Sequence[Axis], names: Sequence[str], by: str | None, catalogue: Catalogue
) -> Order:
    """Checks a sweep of the configuration that was read from `path` as `data`.

    Raises:
        ConfigurationError: a setting or value is wrong, points do not differ, or a measure cannot be had.
    """
    points = points_of(axes)
    configurations = tuple(configuration_at(data, path, point) for point in points)
    first = _first_difference(points, configurations)
    measures = measures_by_name(names, catalogue, first) if names else usual_measures(catalogue, first)
    slices = {key for chosen in measures for key in chosen.metric.slices}
    if by is not None and by != "class" and by not in slices:
        raise ConfigurationError(
            f"no measure of this sweep has figures by {by!r}",
            remedy=f"by: {', '.join(('class', *sorted(slices)))}",
        )
    for configuration in configurations:
        check_stages(configuration.stages)
    last = max((chosen.stage for chosen in measures), key=list(StageName).index)
    return Order(tuple(axes), points, configurations, first, last, measures, bool(names), by)


def _first_difference(points: Sequence[Point], configurations: Sequence[Configuration]) -> StageName:
    """The first stage that is not the same at all points.

    Raises:
        ConfigurationError: two points are the same, or the sources would have to be asked again.
    """
    bases = [
        tuple(stage_base(STAGES[stage], configuration.stages.of(stage)) for stage in StageName)
        for configuration in configurations
    ]
    for i, base in enumerate(bases):
        if base in bases[:i]:
            same = points[bases.index(base)]
            raise ConfigurationError(
                f"points {same.number} ({same.label}) and {points[i].number} ({points[i].label}) are the same in all "
                f"that shapes an output",
                remedy="give different values of a setting that shapes what a stage makes; docs/settings.md",
            )
    for i, stage in enumerate(StageName):
        if len({base[i] for base in bases}) > 1:
            if stage is StageName.FETCH:
                raise ConfigurationError(
                    "settings of fetch cannot be swept: a sweep asks no source, it works on the bytes in the lake",
                    remedy="sweep a setting of a later stage",
                )
            return stage
    raise ConfigurationError(
        "one point is no sweep", remedy="give a setting at least two values: stages.dedup.threshold=0.8,0.9"
    )
