"""Which point is called best, and when none is."""

from collections.abc import Sequence

import polars as pl

from schemas.names import StageName
from tasks.figures.catalogue import load_catalogue
from tasks.sweep.chosen import Chosen, measures_by_name
from tasks.sweep.standing import Standing, stand

CATALOGUE = load_catalogue()


def chosen(name: str) -> Chosen:
    return measures_by_name([name], CATALOGUE, StageName.PARSE)[0]


def samples(values: Sequence[float], weights: Sequence[float] | None = None) -> pl.DataFrame:
    rows = zip(values, weights or [1.0] * len(values), strict=True)
    return pl.DataFrame(
        [{"document_id": f"d{i:02}", "amount": a, "weight": w} for i, (a, w) in enumerate(rows) if w],
        schema={"document_id": pl.String, "amount": pl.Float64, "weight": pl.Float64},
    )


def standing(name: str, *points: Sequence[float]) -> Standing:
    frames = {i: samples(values) for i, values in enumerate(points, start=1)}
    values = {i: sum(v) / len(v) for i, v in enumerate(points, start=1)}
    found = stand(chosen(name), None, values, frames)
    assert found is not None
    return found


def test_the_best_of_two_is_best_once_five_documents_show_it() -> None:
    assert standing("language_accuracy", [1] * 4, [0] * 4).level == (1, 2)  # 1 of 16 exchanges
    assert not standing("language_accuracy", [1] * 4, [0] * 4).enough
    assert standing("language_accuracy", [1] * 5, [0] * 5).level == (1,)  # 1 of 32
    assert standing("language_accuracy", [1] * 5, [0] * 5).enough
    assert standing("language_accuracy", [1] * 5, [0] * 5).of(1) == "best"


def test_more_points_ask_for_more() -> None:
    three = standing("language_accuracy", [1] * 5, [0] * 5, [0] * 5)
    assert three.p_values == {2: 1 / 16, 3: 1 / 16}  # Holm: twice 1 of 32
    assert three.level == (1, 2, 3)
    assert standing("language_accuracy", [1] * 6, [0] * 6, [0] * 6).level == (1,)


def test_lower_is_better_where_the_catalogue_says_so() -> None:
    found = standing("cer", [0.5] * 8, [0.1] * 8)
    assert (found.leader, found.level, found.of(1)) == (2, (2,), "worse")


def test_equal_figures_are_level_and_the_first_leads() -> None:
    found = standing("language_accuracy", [1, 0], [1, 0])
    assert (found.leader, found.level, found.of(1)) == (1, (1, 2), "level")


def test_a_census_needs_no_test() -> None:
    found = stand(chosen("page_completeness"), None, {1: 1.0, 2: 0.99, 3: 1.0, 4: None}, {})
    assert found is not None
    assert (found.level, [found.of(point) for point in (1, 2, 3, 4)]) == ((1, 3), ["level", "worse", "level", None])


def test_a_figure_without_parts_by_document_shows_nothing() -> None:
    found = stand(chosen("bcubed_f1"), None, {1: 0.9, 2: 0.5}, {1: samples([]), 2: samples([])})
    assert found is not None
    assert (found.tested, found.of(1), found.of(2)) == (False, "level", "level")


def test_signals_and_recorded_times_are_not_ranked() -> None:
    assert stand(chosen("dedup.duplicate_rate"), None, {1: 0.1, 2: 0.5}, {}) is None
    assert stand(chosen("dedup.seconds"), None, {1: 1.0, 2: 2.0}, {}) is None
    assert stand(chosen("cer"), None, {1: None, 2: None}, {}) is None


def test_false_alarms_on_documents_that_only_one_point_weighs_count() -> None:
    # Ten pairs: both merge five rightly, the second five more wrongly. Its precision is 5 of 10.
    frames = {1: samples([1] * 5 + [0] * 5, [1] * 5 + [0] * 5), 2: samples([1] * 5 + [0] * 5)}
    found = stand(chosen("pair_precision"), None, {1: 1.0, 2: 0.5}, frames)
    assert found is not None
    assert (found.p_values, found.of(1), found.of(2)) == ({2: 1 / 32}, "best", "worse")
