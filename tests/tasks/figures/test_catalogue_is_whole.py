"""The catalogue that ships says what every measure means, and the stages that exist have measures."""

from collections.abc import Mapping

import pytest

from schemas.names import StageName
from tasks.figures.catalogue import Metric, load_catalogue
from tasks.gold.kinds import LABEL_KINDS
from tasks.run.registry import STAGES

CATALOGUE = load_catalogue()
ORDER: Mapping[str, int] = {name: i for i, name in enumerate(["all", *StageName])}


def test_entries_are_sorted_and_none_stands_twice() -> None:
    keys = [(ORDER[metric.stage], metric.id) for metric in CATALOGUE.metrics]
    assert keys == sorted(set(keys))
    general = {metric.id for metric in CATALOGUE.metrics if metric.stage == "all"}
    assert not general & {metric.id for metric in CATALOGUE.metrics if metric.stage != "all"}


@pytest.mark.parametrize("metric", CATALOGUE.metrics, ids=lambda metric: f"{metric.stage}-{metric.id}")
def test_an_entry_does_not_contradict_itself(metric: Metric) -> None:
    assert metric.aggregation
    assert (metric.needs == "gold") == bool(metric.labels)
    assert set(metric.labels) <= set(LABEL_KINDS)
    for text in (metric.title, metric.definition, metric.empty, metric.missing_note, metric.source, metric.oracle):
        assert text.strip()
    lowest, highest = metric.range
    if metric.missing_score is not None:
        assert lowest is None or metric.missing_score >= lowest
        assert highest is None or metric.missing_score <= highest
        # What is missing must not flatter.
        assert metric.missing_score == {"higher": lowest, "lower": highest}.get(metric.direction) or highest is None


@pytest.mark.parametrize("stage", StageName)
def test_a_stage_reads_the_labels_that_its_measures_need(stage: StageName) -> None:
    needed = {label for metric in CATALOGUE.metrics if metric.stage == stage for label in metric.labels}
    assert needed <= set(STAGES[stage].labels)


def test_a_measure_of_every_stage_is_found_under_each() -> None:
    assert CATALOGUE.get("parse", "seconds").stage == CATALOGUE.get("index", "seconds").stage == "all"
    with pytest.raises(KeyError, match="no measure 'teds' of stage 'chunk'"):
        CATALOGUE.get("chunk", "teds")
