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

SAMPLES = pa.schema(
    [
        pa.field("stage", pa.string()),
        pa.field("metric", pa.string()),
        pa.field("slice_key", pa.string()),
        pa.field("slice_value", pa.string()),
        pa.field("document_id", pa.string()),
        pa.field("doc_class", pa.string()),
        pa.field("cohort", pa.string()),
        pa.field("content_hash", pa.uint64()),
        pa.field("metric_version", pa.int32()),
        pa.field("label_hash", pa.uint64()),
        pa.field("amount", pa.float64()),
        pa.field("weight", pa.float64()),
    ]
)
"""One row per measure, own slice and document that enters a figure: the document's part in it.

`amount` over `weight` is the document's own figure; sums over sums are the figure of many. `label_hash` and
`content_hash` are 64 bits of the digest of a document's labels and of its bytes: they are there to be compared.
"""

SWEEP_FIGURES = pa.schema(
    [
        pa.field("point", pa.int32(), nullable=False),
        pa.field("setting", pa.string(), nullable=False),
        *FIGURES,
        pa.field("standing", pa.string()),
        pa.field("p_value", pa.float64()),
    ]
)
"""The figures of a sweep: those of `FIGURES` for each of its points, whose number and setting come first.

`standing` is of headline figures: `best` where every other point is shown to be worse, `level` where the point is not
shown to be worse than the one that leads, `worse` where it is; null where no point can be better. `p_value` is that of
being no worse than the leader, corrected for the number of points; null of the leader and where nothing was tested.
"""
