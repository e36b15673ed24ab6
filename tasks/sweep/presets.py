"""Ready-made sweeps: the settings that are worth trying first, their values, and the measures that tell them apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from schemas.names import StageName
from schemas.stages import STAGE_OUTPUTS
from tasks.errors import ConfigurationError
from tasks.lake.layout import Lake
from tasks.lake.packed import read_stored
from tasks.lake.runs import Runs
from tasks.parse.backends import FORMATS, OUTSIDE
from tasks.pii.settings import DEFAULT_THRESHOLDS
from tasks.sweep.axes import Axis, parse_axis

_SCORES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Preset:
    """Axes for the media types that a corpus has, measures by name (none: the stage's own), and what to slice by."""

    axes: Callable[[frozenset[str]], tuple[Axis, ...]]
    measures: tuple[str, ...] = ()
    by: str | None = None


def wanted(
    settings: Sequence[str], preset: str | None, lake: Lake, run_id: str
) -> tuple[tuple[Axis, ...], tuple[str, ...], str | None]:
    """The axes, measures and slice asked for, by settings or by the name of a preset.

    Raises:
        ConfigurationError: neither or both are given, or there is no such preset.
    """
    if (preset is None) == (not settings):
        raise ConfigurationError(
            "give either settings with values or a preset" if preset is None else "settings and a preset are too much",
            remedy=f"`corpusgate sweep stages.dedup.threshold=0.7,0.8`, or --preset {'|'.join(PRESETS)}",
        )
    if preset is None:
        return tuple(parse_axis(text) for text in settings), (), None
    if preset not in PRESETS:
        raise ConfigurationError(f"there is no preset {preset!r}", remedy=f"there are: {', '.join(PRESETS)}")
    found = PRESETS[preset]
    return found.axes(_media_types(lake, run_id)), found.measures, found.by


def _parsers(media_types: frozenset[str]) -> tuple[Axis, ...]:
    """The default parsers, then each other one of a format that the corpus has, alone."""
    choices = [
        (name, backend)
        for name, kind in FORMATS.items()
        if not media_types.isdisjoint(kind.media_types)
        for backend, parser in kind.backends.items()
        if parser is not OUTSIDE and parser.extra is None and backend != kind.default
    ]
    values: list[dict[str, str]] = [{name: backend} for name, backend in choices]
    if not values:
        raise ConfigurationError(
            "no format of this corpus has a choice of parsers", remedy="docs/formats.md lists the parsers of each"
        )
    defaults = {name: FORMATS[name].default for name, _ in choices}
    labels = ["defaults", *(f"{name} {backend}" for name, backend in choices)]
    return (Axis.of("stages.parse.backends", [defaults, *(defaults | value for value in values)], "parser", labels),)


def _extractors(_: frozenset[str]) -> tuple[Axis, ...]:
    return (Axis.of("stages.boilerplate.extractor", ("trafilatura", "resiliparse", "justext")),)


def _near_duplicates(_: frozenset[str]) -> tuple[Axis, ...]:
    """Four hashes to a band throughout, so that pairs down to 0.5 meet more often than not at each point."""
    hashes = (64, 128, 256)
    return (
        Axis.of("stages.dedup", [{"hashes": n, "bands": n // 4} for n in hashes], "hashes", [str(n) for n in hashes]),
        Axis.of("stages.dedup.threshold", (0.5, 0.6, 0.7, 0.8, 0.85, 0.9)),
    )


def _thresholds(_: frozenset[str]) -> tuple[Axis, ...]:
    """One threshold for all types, those included that have one of their own by default."""
    values: list[Any] = [
        {"default_threshold": score, "thresholds": dict.fromkeys(DEFAULT_THRESHOLDS, score)} for score in _SCORES
    ]
    return (Axis.of("stages.pii", values, "threshold", [str(score) for score in _SCORES]),)


def _chunks(_: frozenset[str]) -> tuple[Axis, ...]:
    """Sizes in tokens, each with no overlap and with 10, 20 and 30 % of it; as small chunks as these leave room for."""
    sizes, shares = (128, 256, 512, 1024), (0, 10, 20, 30)
    values = [
        {"max_tokens": size, "overlap_tokens": size * share // 100, "min_tokens": size // 6}
        for size in sizes
        for share in shares
    ]
    labels = [f"{size}, {share} % overlap" for size in sizes for share in shares]
    return (Axis.of("stages.chunk", values, "tokens", labels),)


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "parsers": Preset(_parsers, by="class"),
        "boilerplate": Preset(_extractors, by="class"),
        "dedup": Preset(_near_duplicates, ("pair_f1", "pair_precision", "pair_recall", "false_merge_rate")),
        "pii": Preset(_thresholds, ("pii_f2", "pii_recall", "pii_precision"), "entity_type"),
        "chunks": Preset(
            _chunks, ("retrieved_evidence_recall", "retrieved_evidence_iou", "domain_ndcg", "evidence_precision")
        ),
    }
)
"""The presets by name."""


def _media_types(lake: Lake, run_id: str) -> frozenset[str]:
    """The media types that the run's parsers met."""
    locations = Runs(lake).locations(run_id)
    files = {
        row["file"]
        for row in locations.select(["stage", "file"]).to_pylist()
        if row["stage"] == StageName.FETCH and row["file"] is not None
    }
    schema = STAGE_OUTPUTS[StageName.FETCH]
    found: set[str] = set()
    for file in sorted(files):
        found.update(read_stored(lake, file, schema).column("media_type").to_pylist())
    return frozenset(found)
