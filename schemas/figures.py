"""Aggregated figures of a run: what the gate judges and the reports show."""

import pyarrow as pa

FIGURES = pa.schema(
    [
        pa.field("stage", pa.string(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("aggregation", pa.string(), nullable=False),
        pa.field("doc_class", pa.string()),
        pa.field("cohort", pa.string()),
        pa.field("slice_key", pa.string()),
        pa.field("slice_value", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("items", pa.int64(), nullable=False),
        pa.field("documents", pa.int64(), nullable=False),
        pa.field("numerator", pa.float64()),
        pa.field("denominator", pa.float64()),
        pa.field("n_missing", pa.int64(), nullable=False),
        pa.field("n_invalid", pa.int64(), nullable=False),
        pa.field("n_not_applicable", pa.int64(), nullable=False),
        pa.field("n_stale_label", pa.int64(), nullable=False),
        pa.field("n_lost_upstream", pa.int64(), nullable=False),
    ]
)
"""One row per (stage, metric, aggregation, class or cohort or neither, own slice or none).

`low` and `high` bound a 95 % interval and are null for census figures. `items` counts the rows that entered the value
(documents, units such as tables; the trials of a ratio of the run itself), `documents` the documents they belong to.
A null value over `items` = 0 says that there was nothing to measure; it is neither good nor bad.
"""
