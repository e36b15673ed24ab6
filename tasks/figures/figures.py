"""Figures of a run: metric rows aggregated as the catalogue says, headline and by class, cohort and own slice."""

import hashlib
from collections.abc import Collection, Iterator
from statistics import NormalDist
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.figures import FIGURES
from schemas.names import StageName
from tasks.figures.catalogue import Catalogue, Metric
from tasks.figures.samples import details, samples_in_parts
from tasks.metrics.statistics import Interval, bootstrap_ratio, equal_values_interval, wilson

Floats: TypeAlias = NDArray[np.float64]
_Place: TypeAlias = tuple[str | None, ...]

_PLACE = ("stage", "metric", "doc_class", "cohort", "slice_key", "slice_value")
_QUANTILES = {"p50": 0, "p95": 1, "p99": 2}

_MANY = 2000
"""From so many documents on, resampling gives what the delta method gives at once."""

_GROUPS = """
    SELECT stage, metric, doc_class, cohort, slice_key, slice_value,
           sum(amount) FILTER (counts) AS amount, sum(weight) FILTER (counts) AS weight,
           sum(score) FILTER (counts) AS total, max(score) FILTER (counts) AS highest,
           min(score) FILTER (counts) AS lowest,
           quantile_cont(CASE WHEN ranked THEN score END, [0.5, 0.95, 0.99]) FILTER (counts) AS quantiles,
           sum(numerator) FILTER (counts) AS numerator, sum(denominator) FILTER (counts) AS denominator,
           count(*) FILTER (counts) AS items,
           -- A document has one row of its own, so that only documents of units need telling apart.
           count(document_id) FILTER (counts AND per <> 'unit')
             + count(DISTINCT CASE WHEN per = 'unit' THEN document_id END) FILTER (counts) AS documents,
           count(*) FILTER (status = 'missing') AS n_missing,
           count(*) FILTER (status = 'invalid') AS n_invalid,
           count(*) FILTER (status = 'not_applicable') AS n_not_applicable,
           count(*) FILTER (status = 'stale_label') AS n_stale_label,
           count(*) FILTER (status = 'lost_upstream') AS n_lost_upstream
    FROM detail
    GROUP BY GROUPING SETS ((stage, metric, slice_key, slice_value), (stage, metric, slice_key, slice_value, doc_class),
                            (stage, metric, slice_key, slice_value, cohort))
    HAVING (GROUPING(doc_class) = 1 OR doc_class IS NOT NULL) AND (GROUPING(cohort) = 1 OR cohort IS NOT NULL)
    ORDER BY ALL
"""

_SPREADS = """
    SELECT s.stage, s.metric, s.doc_class, s.cohort, s.slice_key, s.slice_value,
           list(s.amount ORDER BY s.document_id) AS amounts, list(s.weight ORDER BY s.document_id) AS weights
    FROM samples s
    GROUP BY GROUPING SETS ((s.stage, s.metric, s.slice_key, s.slice_value),
                            (s.stage, s.metric, s.slice_key, s.slice_value, s.doc_class),
                            (s.stage, s.metric, s.slice_key, s.slice_value, s.cohort))
"""


def run_figures(
    connection: duckdb.DuckDBPyConnection, catalogue: Catalogue, stages: Collection[str] = tuple(StageName)
) -> pa.Table:
    """Aggregates the views `measures` and `documents` of a connection into `FIGURES` rows, stage by stage.

    Micro figures are sums over sums, so a document without a denominator weighs nothing; macro figures are means of
    values. Rows of status `missing` count with the score that the catalogue gives them, all other statuses are only
    counted. Sample figures get a 95 % interval: Wilson where every document is one trial, a bootstrap over documents
    otherwise, a binomial bound where all documents agree; a ratio of the run itself counts its denominator as trials.
    """
    tables = [stage_figures(connection, catalogue, stage) for stage in details(connection, catalogue, stages)]
    return pa.concat_tables([FIGURES.empty_table(), *tables])


def stage_figures(connection: duckdb.DuckDBPyConnection, catalogue: Catalogue, stage: str) -> pa.Table:
    """`run_figures` of the stage whose rows the table `detail` of the connection holds."""
    rows: list[dict[str, Any]] = []
    intervals = _Intervals()
    sampled = {metric.id for metric in catalogue.of_stage(stage) if metric.basis == "sample"}
    spreads = dict(_spreads(connection, sampled))
    for group in connection.sql(_GROUPS).to_arrow_table().to_pylist():
        metric = catalogue.get(group["stage"], group["metric"])
        for aggregation in metric.aggregation:
            rows.append(_figure(group, metric, aggregation, spreads.get(_place(group)), intervals))
    return pa.Table.from_pylist(rows, schema=FIGURES)


def interval_of(metric: Metric, value: float, amounts: Floats, weights: Floats) -> Interval | None:
    """The 95 % interval of a micro or macro figure from what each document adds to it; null where nothing weighs.

    Where all documents agree a bootstrap would say "certain"; the rule of three then bounds what the documents that
    were not seen may be, as far as the measure's range is bounded.
    """
    lowest, highest = metric.range
    bounded = lowest == 0 and highest == 1
    if bounded and np.all(weights == 1) and np.all((amounts == 0) | (amounts == 1)):
        return wilson(float(amounts.sum()), float(len(amounts)))
    if len(amounts) > _MANY:
        return _linear_interval(metric, value, amounts, weights)
    interval = bootstrap_ratio(amounts, weights, seed=seed_of(metric))
    if interval is not None and interval.low == interval.high and lowest is not None and highest is not None:
        return equal_values_interval(value, len(amounts), lowest, highest)
    return interval


class _Intervals:
    """Intervals that were worked out: documents that are all of one cohort give the figure of all documents again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, float, bytes], Interval | None] = {}

    def of(self, metric: Metric, value: float, amounts: Floats, weights: Floats) -> Interval | None:
        """`interval_of`."""
        digest = hashlib.blake2b(amounts.tobytes() + weights.tobytes(), digest_size=16).digest()
        key = (metric.stage, metric.id, value, digest)
        if key not in self._known:
            self._known[key] = interval_of(metric, value, amounts, weights)
        return self._known[key]


def _linear_interval(metric: Metric, value: float, amounts: Floats, weights: Floats) -> Interval:
    """The delta method's interval of a ratio of sums (Cochran, Sampling Techniques, 1977, 6.13), within the range."""
    error = float(np.sqrt(np.sum((amounts - value * weights) ** 2)) / weights.sum())
    reach = NormalDist().inv_cdf(0.975) * error
    lowest, highest = (
        end if end is not None else value + side for end, side in zip(metric.range, (-reach, reach), strict=True)
    )
    return Interval(max(lowest, value - reach), min(highest, value + reach))


def seed_of(metric: Metric) -> int:
    """The seed of a measure's resamples, so that a figure is the same alone as beside others and on a re-run."""
    return int.from_bytes(hashlib.blake2b(f"{metric.stage}/{metric.id}".encode(), digest_size=4).digest(), "big")


def _figure(
    group: dict[str, Any],
    metric: Metric,
    aggregation: str,
    spread: tuple[Floats, Floats] | None,
    intervals: "_Intervals",
) -> dict[str, Any]:
    value = _value(group, aggregation)
    interval, items = None, group["items"]
    if spread is not None and value is not None and aggregation in ("micro", "macro"):
        interval = intervals.of(metric, value, *spread)
    if metric.per == "run" and aggregation == "micro" and value is not None:
        items = int(group["weight"])
        if metric.basis == "sample" and metric.range == (0, 1):
            interval = wilson(group["amount"], group["weight"])
    return {name: group[name] for name in FIGURES.names if name in group} | {
        "aggregation": aggregation,
        "items": items,
        "value": value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
    }


def _value(group: dict[str, Any], aggregation: str) -> float | None:
    if not group["items"]:
        return None
    if aggregation in ("micro", "macro"):
        return float(group["amount"] / group["weight"]) if group["weight"] else None
    if aggregation in _QUANTILES:
        return float(group["quantiles"][_QUANTILES[aggregation]])
    return float(group[{"sum": "total", "max": "highest", "min": "lowest"}[aggregation]])


def _spreads(
    connection: duckdb.DuckDBPyConnection, metrics: Collection[str]
) -> Iterator[tuple[_Place, tuple[Floats, Floats]]]:
    """Amount and weight per document of each sample figure."""
    for _, samples in samples_in_parts(connection, metrics):
        connection.register("samples", samples)
        table = connection.sql(_SPREADS).to_arrow_table().combine_chunks()
        connection.unregister("samples")
        places = table.select(list(_PLACE)).to_pylist()
        amounts, weights = table.column("amounts"), table.column("weights")
        for i, row in enumerate(places):
            yield (
                _place(row),
                (
                    amounts[i].values.to_numpy(zero_copy_only=False).astype(np.float64),
                    weights[i].values.to_numpy(zero_copy_only=False).astype(np.float64),
                ),
            )


def _place(row: dict[str, Any]) -> _Place:
    return tuple(row[name] for name in _PLACE)
