"""The outcome of a sweep: its figures, how the points stand, and what it cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
import pyarrow as pa

from schemas.figures import SWEEP_FIGURES
from schemas.names import StageName
from tasks.figures.catalogue import Catalogue
from tasks.figures.samples import details, document_samples
from tasks.figures.stored import read_stage_figures
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.lake.views import connect_stage
from tasks.run.facts import stage_locations
from tasks.sweep.chosen import Chosen, worth_showing
from tasks.sweep.drive import Driven
from tasks.sweep.order import Order
from tasks.sweep.standing import Standing, stand


@dataclass(frozen=True)
class Result:
    """A finished sweep. `figures` has the schema `SWEEP_FIGURES`; `groups` are the parts of the documents that tables
    and plots show, null (all of them) first; `without` are measures that had nothing to measure.
    """

    order: Order
    driven: Driven
    measures: tuple[Chosen, ...]
    without: tuple[Chosen, ...]
    groups: tuple[str | None, ...]
    figures: pa.Table
    standings: tuple[Standing, ...]

    def groups_of(self, chosen: Chosen) -> list[str | None]:
        """The groups in which a measure counted anything."""
        place = (str(chosen.stage), chosen.metric.id)
        known = {key[3] for key in self.cells if key[1:3] == place}
        return [group for group in self.groups if group in known]

    @cached_property
    def cells(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        """Headline figures by point, stage, measure and group."""
        return _cells_of(self.figures.to_pylist(), self.order.by)


def read_result(order: Order, driven: Driven, lake: Lake, catalogue: Catalogue) -> Result:
    """Reads the figures of all points back from the lake and compares them."""
    figures = _figures(order, driven, lake, catalogue)
    headline = _cells_of(figures, order.by)
    counted = {chosen for chosen in order.measures if any(_is(key, chosen) for key in headline)}
    measures = order.measures if order.asked else worth_showing(order.measures, counted)
    groups: dict[str | None, None] = {None: None}
    named = sorted({key[3] for key in headline if key[3] is not None})
    # One class that holds all documents would say everything twice.
    groups |= dict.fromkeys(named if order.by != "class" or len(named) > 1 else ())
    standings = list(_standings(order, driven, lake, catalogue, measures, tuple(groups), headline))
    told = {(s.chosen.stage, s.chosen.metric.id, s.group): s for s in standings}
    for key, row in headline.items():
        standing = told.get(key[1:])
        if standing is not None:
            row["standing"], row["p_value"] = standing.of(key[0]), standing.p_values.get(key[0])
    shown = tuple(chosen for chosen in measures if chosen in counted)
    return Result(
        order,
        driven,
        shown,
        tuple(chosen for chosen in measures if chosen not in counted),
        tuple(groups),
        pa.Table.from_pylist(figures, schema=SWEEP_FIGURES),
        tuple(standings),
    )


def _figures(order: Order, driven: Driven, lake: Lake, catalogue: Catalogue) -> list[dict[str, Any]]:
    wanted = {(str(chosen.stage), chosen.metric.id) for chosen in order.measures}
    rows = []
    for point, done in zip(order.points, driven.done, strict=True):
        for stage in dict.fromkeys(chosen.stage for chosen in order.measures):
            for figure in read_stage_figures(lake, done.run_id, stage, catalogue).to_pylist():
                if (figure["stage"], figure["metric"]) in wanted and figure["cohort"] is None:
                    rows.append({"point": point.number, "setting": point.label, **figure, "standing": None})
    return [row | {"p_value": None} for row in rows]


def _cells_of(figures: Sequence[dict[str, Any]], by: str | None) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The first aggregation of each measure comes first among its figures; what counted nothing is left out."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for figure in figures:
        group = figure["doc_class"] if by == "class" else figure["slice_value"]
        plain = figure["doc_class"] is None and figure["slice_key"] is None
        own = figure["slice_key"] is None if by == "class" else figure["slice_key"] == by and not figure["doc_class"]
        if figure["value"] is None or not (plain or (by is not None and own)):
            continue
        key = (figure["point"], figure["stage"], figure["metric"], None if plain else group)
        found.setdefault(key, figure)
    return found


def _is(key: tuple[Any, ...], chosen: Chosen) -> bool:
    return bool(key[1:3] == (chosen.stage, chosen.metric.id))


def _standings(
    order: Order,
    driven: Driven,
    lake: Lake,
    catalogue: Catalogue,
    measures: Sequence[Chosen],
    groups: Sequence[str | None],
    headline: Mapping[tuple[Any, ...], dict[str, Any]],
) -> Iterator[Standing]:
    plan = Runs(lake).plan(driven.source_run)
    for stage in dict.fromkeys(chosen.stage for chosen in measures):
        here = [chosen for chosen in measures if chosen.stage is stage]
        sampled = sorted({chosen.metric.id for chosen in here if chosen.ranked and chosen.metric.basis == "sample"})
        samples = {
            point.number: _samples(lake, done.run_id, stage, done.batches, plan, catalogue, sampled)
            for point, done in zip(order.points, driven.done, strict=True)
            if sampled
        }
        for chosen in here:
            for group in groups:
                values = {
                    p.number: headline.get((p.number, str(stage), chosen.metric.id, group), {}).get("value")
                    for p in order.points
                }
                parts = {n: _part(frame, chosen.metric.id, order.by, group) for n, frame in samples.items()}
                standing = stand(chosen, group, values, parts)
                if standing is not None:
                    yield standing


def _samples(
    lake: Lake,
    run_id: str,
    stage: StageName,
    batches: Sequence[Any],
    plan: pa.Table,
    catalogue: Catalogue,
    metrics: Sequence[str],
) -> pl.DataFrame:
    """Each document's part in these measures at one point, as the figures have it."""
    with connect_stage(lake, run_id, stage, stage_locations(batches, stage), plan) as connection:
        (found,) = [
            document_samples(connection, metrics)
            for _ in details(connection, catalogue, (stage,), {str(stage): metrics})
        ]
    columns = ["metric", "document_id", "doc_class", "slice_key", "slice_value", "amount", "weight"]
    return pl.DataFrame(found.select(columns))


def _part(samples: pl.DataFrame, metric: str, by: str | None, group: str | None) -> pl.DataFrame:
    own = samples.filter(pl.col("metric") == metric)
    if group is None or by == "class":
        own = own.filter(pl.col("slice_key").is_null())
        return own if group is None else own.filter(pl.col("doc_class") == group)
    return own.filter((pl.col("slice_key") == by) & (pl.col("slice_value") == group))
