"""Tables of the lake's bookkeeping: what is done, and what could not be."""

import pyarrow as pa

from schemas.documents import TIMESTAMP

LEDGER = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("document_id", pa.string(), nullable=False),
        pa.field("content_sha", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("stage_key", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
        pa.field("file", pa.string()),
        pa.field("seconds", pa.float64()),
        pa.field("peak_rss_bytes", pa.int64()),
        pa.field("attempt", pa.int32(), nullable=False),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("recorded_at", TIMESTAMP, nullable=False),
    ]
)
"""What is done: one row per (kind, document, stage, key) and, of outputs, per file: the newest is read, and the others
say what their files cost. What no row names does not exist.

`kind` is `output` (a stage's rows) or `measures` (an evaluator's rows; `stage_key` is then the measures key).
`reason` is the reason of a drop or the error class of a quarantine; of an output that a forced stage made otherwise
than before under the same key it is `output <digest>`, and the next stage goes on from a key that holds it.
"""

QUARANTINE = pa.schema(
    [
        pa.field("document_id", pa.string(), nullable=False),
        pa.field("content_sha", pa.string()),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("stage_version", pa.int32(), nullable=False),
        pa.field("stage_key", pa.string(), nullable=False),
        pa.field("error_class", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
        pa.field("remedy", pa.string(), nullable=False),
        pa.field("transient", pa.bool_(), nullable=False),
        pa.field("attempt", pa.int32(), nullable=False),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("recorded_at", TIMESTAMP, nullable=False),
    ]
)
"""One row per document that a stage could not process, with the cause and what to do. Never holds PII values."""
