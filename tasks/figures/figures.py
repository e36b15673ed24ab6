"""Figures of a run: metric rows aggregated as the catalogue says, headline and by class, cohort and own slice."""

import hashlib
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from schemas.figures import FIGURES
from tasks.figures.catalogue import Catalogue, Metric
from tasks.metrics.statistics import Interval, bootstrap_ratio, equal_values_interval, wilson

_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

_DETAIL = """
    CREATE OR REPLACE TEMP TABLE detail AS
    SELECT m.stage::VARCHAR AS stage, m.metric::VARCHAR AS metric, d.doc_class, d.cohort, m.document_id,
           m.slice_key::VARCHAR AS slice_key, m.slice_value::VARCHAR AS slice_value, m.status::VARCHAR AS status,
           CASE WHEN c.micro THEN m.numerator ELSE m.value END AS amount,
           CASE WHEN c.micro THEN m.denominator ELSE 1.0 END AS weight,
           m.value, m.numerator, m.denominator,
           m.status::VARCHAR IN ('ok', 'missing')
             AND CASE WHEN c.micro THEN m.denominator > 0 ELSE m.value IS NOT NULL END AS counts
    FROM measures m
    JOIN catalogue c ON c.metric = m.metric::VARCHAR AND c.stage IN (m.stage::VARCHAR, 'all')
    LEFT JOIN documents d ON d.document_id = m.document_id
    WHERE CASE c.per WHEN 'document' THEN m.unit_id IS NULL WHEN 'unit' THEN m.unit_id IS NOT NULL ELSE true END
"""

_GROUPS = """
    SELECT stage, metric, doc_class, cohort, slice_key, slice_value,
           sum(amount) FILTER (counts) AS amount, sum(weight) FILTER (counts) AS weight,
           sum(value) FILTER (counts) AS total, max(value) FILTER (counts) AS highest,
           min(value) FILTER (counts) AS lowest,
           quantile_cont(value, [0.5, 0.95, 0.99]) FILTER (counts) AS quantiles,
           sum(numerator) FILTER (counts) AS numerator, sum(denominator) FILTER (counts) AS denominator,
           count(*) FILTER (counts) AS items, count(DISTINCT document_id) FILTER (counts) AS documents,
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

_SAMPLES = """
    SELECT stage, metric, doc_class, cohort, slice_key, slice_value, document_id,
           sum(amount) AS amount, sum(weight) AS weight
    FROM detail JOIN catalogue c USING (metric)
    WHERE counts AND c.sample AND c.stage IN (detail.stage, 'all')
    GROUP BY ALL ORDER BY ALL
"""


def run_figures(connection: duckdb.DuckDBPyConnection, catalogue: Catalogue) -> pa.Table:
    """Aggregates the views `measures` and `documents` of a connection into `FIGURES` rows.

    Micro figures are sums over sums, so a document without a denominator weighs nothing; macro figures are means of
    values. Rows of status `missing` count with the score that the catalogue gives them, all other statuses are only
    counted. Sample figures get a 95 % interval: Wilson where every document is one trial, a bootstrap over documents
    otherwise, a binomial bound where all documents agree.
    """
    connection.register("catalogue", _catalogue_table(catalogue))
    connection.execute(_DETAIL)
    samples = _samples(connection)
    rows: list[dict[str, Any]] = []
    for group in connection.sql(_GROUPS).to_arrow_table().to_pylist():
        metric = catalogue.get(group["stage"], group["metric"])
        for aggregation in metric.aggregation:
            rows.append(_figure(group, metric, aggregation, samples.get(_place(group))))
    connection.unregister("catalogue")
    return pa.Table.from_pylist(rows, schema=FIGURES)


def _figure(group: dict[str, Any], metric: Metric, aggregation: str, sample: tuple[Any, Any] | None) -> dict[str, Any]:
    value = _value(group, aggregation)
    interval = None
    if sample is not None and value is not None and aggregation in ("micro", "macro"):
        interval = _interval(metric, value, *sample)
    return {name: group.get(name) for name in FIGURES.names if name in group} | {
        "aggregation": aggregation,
        "value": value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
    }


def _value(group: dict[str, Any], aggregation: str) -> float | None:
    if not group["items"]:
        return None
    if aggregation in ("micro", "macro"):
        return float(group["amount"] / group["weight"]) if group["weight"] else None
    if aggregation == "sum":
        return float(group["total"])
    if aggregation == "max":
        return float(group["highest"])
    if aggregation == "min":
        return float(group["lowest"])
    return float(group["quantiles"][list(_QUANTILES).index(aggregation)])


def _interval(metric: Metric, value: float, amounts: Any, weights: Any) -> Interval | None:
    lowest, highest = metric.range
    bounded = lowest == 0 and highest == 1
    if bounded and np.all(weights == 1) and np.all((amounts == 0) | (amounts == 1)):
        return wilson(float(amounts.sum()), float(len(amounts)))
    # The seed follows from the measure, so that a figure is the same alone as beside others and on a re-run.
    seed = int.from_bytes(hashlib.blake2b(f"{metric.stage}/{metric.id}".encode(), digest_size=4).digest(), "big")
    interval = bootstrap_ratio(amounts, weights, seed=seed)
    if interval is not None and interval.low == interval.high and lowest is not None and highest is not None:
        return equal_values_interval(value, len(amounts), lowest, highest)
    return interval


def _samples(connection: duckdb.DuckDBPyConnection) -> dict[tuple[Any, ...], tuple[Any, Any]]:
    """Amount and weight per document of each sample figure's group."""
    collected: dict[tuple[Any, ...], tuple[list[float], list[float]]] = {}
    for row in connection.sql(_SAMPLES).to_arrow_table().to_pylist():
        for doc_class, cohort in {(None, None), (row["doc_class"], None), (None, row["cohort"])}:
            place = _place(row | {"doc_class": doc_class, "cohort": cohort})
            amounts, weights = collected.setdefault(place, ([], []))
            amounts.append(row["amount"])
            weights.append(row["weight"])
    return {place: (np.asarray(a, float), np.asarray(w, float)) for place, (a, w) in collected.items()}


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("stage", "metric", "doc_class", "cohort", "slice_key", "slice_value"))


def _catalogue_table(catalogue: Catalogue) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "stage": metric.stage,
                "metric": metric.id,
                "per": metric.per,
                "micro": "micro" in metric.aggregation,
                "sample": metric.basis == "sample",
            }
            for metric in catalogue.metrics
        ],
        schema=pa.schema(
            [
                ("stage", pa.string()),
                ("metric", pa.string()),
                ("per", pa.string()),
                ("micro", pa.bool_()),
                ("sample", pa.bool_()),
            ]
        ),
    )
