"""Metric rows as the catalogue weighs them: one amount and one weight per document, ready to be summed or resampled."""

import hashlib
from collections.abc import Collection, Iterator, Mapping

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from schemas.figures import SAMPLES
from tasks.figures.catalogue import Catalogue

_ROWS_AT_ONCE = 200_000
"""A query a measure takes longer than a small corpus's samples."""

_DETAIL = """
    CREATE OR REPLACE TEMP TABLE detail AS
    SELECT m.stage::VARCHAR AS stage, m.metric::VARCHAR AS metric, m.metric_version,
           md5_number_lower(m.label_digest) AS label_hash, d.content_hash,
           d.doc_class, d.cohort, m.document_id,
           m.slice_key::VARCHAR AS slice_key, m.slice_value::VARCHAR AS slice_value, m.status::VARCHAR AS status,
           m.numerator, m.denominator, c.per, c.ranked,
           CASE WHEN m.status::VARCHAR = 'missing' THEN coalesce(m.value, c.missing_score) ELSE m.value END AS score,
           CASE WHEN c.micro THEN m.numerator ELSE score END AS amount,
           CASE WHEN c.micro THEN m.denominator ELSE 1.0 END AS weight,
           m.status::VARCHAR IN ('ok', 'missing')
             AND CASE WHEN c.micro THEN m.denominator > 0 ELSE score IS NOT NULL END AS counts
    FROM measures m
    JOIN catalogue c ON c.metric = m.metric::VARCHAR AND c.stage IN (m.stage::VARCHAR, 'all')
    LEFT JOIN (SELECT document_id, doc_class, cohort, md5_number_lower(content_sha) AS content_hash FROM documents) d
           ON d.document_id = m.document_id
    WHERE CASE c.per WHEN 'document' THEN m.unit_id IS NULL OR m.status::VARCHAR NOT IN ('ok', 'missing')
                     WHEN 'unit' THEN m.unit_id IS NOT NULL OR (m.value IS NULL AND m.denominator IS NULL)
                     ELSE true END
      AND m.stage::VARCHAR = $stage AND ($metrics IS NULL OR list_contains($metrics, m.metric::VARCHAR))
"""

# A document has one row of its own for each slice; only its units need summing.
_SAMPLES = """
    SELECT stage, metric, slice_key, slice_value, document_id, doc_class, cohort, content_hash, metric_version,
           label_hash, amount, weight
    FROM detail WHERE counts AND document_id IS NOT NULL AND per <> 'unit' AND list_contains($metrics, metric)
    UNION ALL
    SELECT stage, metric, slice_key, slice_value, document_id, any_value(doc_class), any_value(cohort),
           any_value(content_hash), min(metric_version), min(label_hash), sum(amount), sum(weight)
    FROM detail WHERE counts AND document_id IS NOT NULL AND per = 'unit' AND list_contains($metrics, metric)
    GROUP BY stage, metric, slice_key, slice_value, document_id
    ORDER BY stage, metric, slice_key NULLS FIRST, slice_value NULLS FIRST, document_id
"""


def details(
    connection: duckdb.DuckDBPyConnection,
    catalogue: Catalogue,
    stages: Collection[str],
    metrics: Mapping[str, Collection[str]] | None = None,
) -> Iterator[str]:
    """Each stage in turn, with its table `detail`, made from the views `measures` and `documents` of a connection.

    One stage at a time, so that a run's figures take the memory of its largest stage; of the measures in `metrics` by
    stage where that is given. Leaves the table `catalogue` on the connection.

    `detail` holds the metric rows of the kind that the catalogue aggregates (documents, units or the run), so that a
    document and its parts never enter one figure. A row of the other kind that only says why there is no value (a
    document without units, a labelled segment that was lost) stays, to be counted. `amount` over `weight` is a row's
    part of the figure: numerator and denominator of a micro figure, value and 1 of any other. `counts` says whether
    the row enters it at all. `label_hash` and `content_hash` stand for the digest of a document's labels and for its
    bytes: they are there to be compared, and take an eighth of what they stand for.
    """
    add_catalogue(connection, catalogue)
    for stage in stages:
        wanted = None if metrics is None else sorted(metrics.get(stage, ()))
        connection.execute(_DETAIL, {"stage": str(stage), "metrics": wanted})
        yield str(stage)
    connection.execute("DROP TABLE IF EXISTS detail")


def add_catalogue(connection: duckdb.DuckDBPyConnection, catalogue: Catalogue) -> None:
    """Makes the table `catalogue`: how each measure enters its figures."""
    connection.register("catalogue_rows", _catalogue_table(catalogue))
    connection.execute("CREATE OR REPLACE TEMP TABLE catalogue AS SELECT * FROM catalogue_rows")
    connection.unregister("catalogue_rows")


def document_samples(connection: duckdb.DuckDBPyConnection, metrics: Collection[str]) -> pa.Table:
    """One row (`SAMPLES`) per measure (of these), own slice and document that counts, with its summed `amount` and
    `weight`.

    Needs the table `detail` (`details`). Sorted by measure, slice and document: what is drawn by chance from them is
    the same whenever they are.
    """
    return connection.sql(_SAMPLES, params={"metrics": sorted(metrics)}).to_arrow_table().cast(SAMPLES)


def samples_in_parts(
    connection: duckdb.DuckDBPyConnection, metrics: Collection[str] | None = None
) -> Iterator[tuple[list[str], pa.Table]]:
    """`document_samples` of all measures of the table `detail` (or of these), in the order of their names: as many
    measures at once as have some hundred thousand rows together. One that `detail` has no row of is left out."""
    counted = connection.sql("SELECT metric, count(*) FROM detail GROUP BY ALL ORDER BY 1").fetchall()
    names: list[str] = []
    rows = 0
    for name, count in counted:
        if metrics is not None and name not in metrics:
            continue
        if names and rows + count > _ROWS_AT_ONCE:
            yield names, document_samples(connection, names)
            names, rows = [], 0
        names.append(name)
        rows += count
    if names:
        yield names, document_samples(connection, names)


def samples_by_metric(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, pa.Table]]:
    """`document_samples` of all measures of the table `detail`, measure by measure in the order of their names."""
    for names, samples in samples_in_parts(connection):
        for name in names:
            yield name, samples.filter(pc.field("metric") == name)


def hash_of(digests: pa.ChunkedArray) -> pa.Array:
    """What `detail` holds of digests: the lower 64 bits of their MD5, as DuckDB's `md5_number_lower` has it."""
    hashed = (
        None if digest is None else hashlib.md5(digest.encode(), usedforsecurity=False).digest()
        for digest in digests.to_pylist()
    )
    return pa.array([None if known is None else int.from_bytes(known[8:], "little") for known in hashed], pa.uint64())


def _catalogue_table(catalogue: Catalogue) -> pa.Table:
    rows = [
        {
            "stage": metric.stage,
            "metric": metric.id,
            "per": metric.per,
            "micro": "micro" in metric.aggregation,
            "ranked": any(aggregation.startswith("p") for aggregation in metric.aggregation),
            "missing_score": metric.missing_score,
        }
        for metric in catalogue.metrics
    ]
    kinds = {
        "stage": pa.string(),
        "metric": pa.string(),
        "per": pa.string(),
        "micro": pa.bool_(),
        "ranked": pa.bool_(),
        "missing_score": pa.float64(),
    }
    return pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items())))
