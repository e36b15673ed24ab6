"""The long format of every figure."""

import pyarrow as pa

_DICTIONARY = pa.dictionary(pa.int32(), pa.string())

MEASURES = pa.schema(
    [
        pa.field("stage", _DICTIONARY, nullable=False),
        pa.field("stage_key", pa.string()),
        pa.field("metric", _DICTIONARY, nullable=False),
        pa.field("metric_version", pa.int32(), nullable=False),
        pa.field("document_id", pa.string()),
        pa.field("unit_id", pa.string()),
        pa.field("slice_key", _DICTIONARY),
        pa.field("slice_value", _DICTIONARY),
        pa.field("value", pa.float64()),
        pa.field("numerator", pa.float64()),
        pa.field("denominator", pa.float64()),
        pa.field("status", _DICTIONARY, nullable=False),
        pa.field("gold_version", _DICTIONARY),
        pa.field("label_digest", pa.string()),
    ]
)
"""One row per measured unit, sorted by (metric, document_id, unit_id, slice_key, slice_value).

A row without `unit_id` is the document's figure; one with `unit_id` is a part of it (a table, a pair, a chunk).
`slice_key`/`slice_value` narrow a figure to a part of the document (entity type, language, element kind);
the headline of a metric is made of the rows whose `slice_key` is null. An empty denominator gives a null value.
Run facts that belong to no document (drift, ANN recall) have a null `document_id`.
"""

ALONE_INPUTS = pa.schema(
    [
        pa.field("document_id", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("alone_key", pa.string(), nullable=False),
        pa.field("scored", pa.bool_(), nullable=False),
        pa.field("reason", pa.string()),
        pa.field("made_from", pa.string()),
        pa.field("stands_in", pa.list_(pa.string()), nullable=False),
    ]
)
"""One row per labelled document and stage that was to be scored alone (`runs/<run>/alone/inputs/*.parquet`).

`reason` says why the stage could not be scored on gold inputs, null where it was. `made_from` is the kind of label that
the gold elements are (`structure`, `text`, `content`). `stands_in` are the stages before this one whose output no label
of the document gives: what they made of their own gold inputs stands in.
"""
