"""What a sweep varies: settings by their dotted path, their values, and the points that follow from them."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from tasks.errors import ConfigurationError
from tasks.run.configuration import Configuration, parse_configuration

MOST_POINTS = 200
_EXAMPLE = "write it as in: `corpusgate sweep stages.dedup.threshold=0.7,0.8,0.9`"


@dataclass(frozen=True, slots=True)
class Axis:
    """One setting and the values it takes, in their order; `labels` are the values as people read them."""

    path: str
    values: tuple[Any, ...]
    labels: tuple[str, ...]
    name: str

    @classmethod
    def of(cls, path: str, values: Sequence[Any], name: str | None = None, labels: Sequence[str] = ()) -> "Axis":
        """An axis; its name is the last word of the path, its labels the values, where none are given."""
        shown = tuple(labels) or tuple(shown_setting(value) for value in values)
        return cls(path, tuple(values), shown, name or path.rpartition(".")[2])


@dataclass(frozen=True, slots=True)
class Point:
    """One value of every axis. `places` are the values' positions on their axes."""

    number: int
    places: tuple[int, ...]
    given: tuple[tuple[str, Any], ...]
    label: str


def parse_axis(text: str) -> Axis:
    """`stages.dedup.hashes=64,128`: a path below `stages`, and values as YAML, with commas between them.

    >>> parse_axis("stages.dedup.threshold=0.7,0.8").values
    (0.7, 0.8)
    >>> parse_axis("stages.dedup={hashes: 64, bands: 16},{hashes: 128, bands: 32}").labels
    ('hashes 64, bands 16', 'hashes 128, bands 32')

    Raises:
        ConfigurationError: it is not of this form.
    """
    path, sign, written = text.partition("=")
    path = path.strip()
    parts = path.split(".")
    if not sign or not all(parts):
        raise ConfigurationError(f"{text!r} names no setting with values", remedy=_EXAMPLE)
    if parts[0] != "stages" or len(parts) < 2:
        raise ConfigurationError(
            f"{path}: only settings of stages can be swept, since nothing else shapes what is measured",
            remedy="give a path that begins with `stages.` (docs/settings.md lists them)",
        )
    try:
        values = yaml.safe_load(f"[{written}]")
    except yaml.YAMLError as error:
        raise ConfigurationError(
            f"{path}: {written!r} is no list of YAML values: {getattr(error, 'problem', error)}", remedy=_EXAMPLE
        ) from None
    if not values:
        raise ConfigurationError(f"{path} has no values to take", remedy=_EXAMPLE)
    return Axis.of(path, values)


def points_of(axes: Sequence[Axis]) -> tuple[Point, ...]:
    """Every combination of the axes' values, the last axis changing quickest; numbered from 1.

    Raises:
        ConfigurationError: an axis stands twice, or there are too many points.
    """
    paths = [axis.path for axis in axes]
    for path in paths:
        if paths.count(path) > 1:
            raise ConfigurationError(f"{path} is given twice", remedy="give all its values at once, with commas")
    combined = list(product(*(range(len(axis.values)) for axis in axes)))
    if len(combined) > MOST_POINTS:
        raise ConfigurationError(
            f"these are {len(combined)} points; a sweep takes {MOST_POINTS} at most", remedy="give fewer values"
        )
    points = []
    for number, places in enumerate(combined, start=1):
        chosen = list(zip(axes, places, strict=True))
        label = ", ".join(f"{axis.name} {axis.labels[i]}" for axis, i in chosen)
        points.append(Point(number, places, tuple((axis.path, axis.values[i]) for axis, i in chosen), label))
    return tuple(points)


def configuration_at(data: Any, path: Path, point: Point) -> Configuration:
    """The configuration read from `path` as `data`, with a point's settings in the place of its own.

    A mapping is laid over the one that stands there; any other value replaces what stands there.

    Raises:
        ConfigurationError: there is no such setting, or it does not take this value; the message has its path.
    """
    changed = copy.deepcopy(data)
    for setting, value in point.given:
        _replace(changed, setting, value)
    try:
        return parse_configuration(changed, path)
    except ConfigurationError as error:
        given = "; ".join(f"{setting} = {shown_setting(value)}" for setting, value in point.given)
        raise ConfigurationError(f"with {given}: {error}", remedy=error.remedy) from None


def shown_setting(value: Any) -> str:
    """A value of a setting as people read it.

    >>> shown_setting({"thresholds": {"PERSON": 0.5}, "fast": True}), shown_setting(None)
    ('thresholds.PERSON 0.5, fast true', 'null')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {shown}" for name, shown in _leaves(value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return "[" + ", ".join(shown_setting(item) for item in value) + "]"
    return str(value)


def _leaves(value: Mapping[Any, Any]) -> list[tuple[str, str]]:
    found = []
    for name, item in value.items():
        if isinstance(item, Mapping) and item:
            found += [(f"{name}.{inner}", shown) for inner, shown in _leaves(item)]
        else:
            found.append((str(name), "{}" if isinstance(item, Mapping) else shown_setting(item)))
    return found


def _replace(data: Any, setting: str, value: Any) -> None:
    *above, last = setting.split(".")
    node = data
    for i, part in enumerate(above):
        inner = node.get(part)
        if inner is None:
            inner = node[part] = {}
        if not isinstance(inner, dict):
            raise ConfigurationError(
                f"{setting}: {'.'.join(above[: i + 1])} holds no mapping, so nothing in it can be replaced",
                remedy=f"sweep {'.'.join(above[: i + 1])} as a whole",
            )
        node = inner
    node[last] = _laid_over(node.get(last), copy.deepcopy(value))


def _laid_over(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return old | {name: _laid_over(old.get(name), item) for name, item in new.items()}
    return new
