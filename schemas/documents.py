"""Tables that describe the documents of a run, apart from what stages make of them."""

import pyarrow as pa

SCHEMA_VERSION = 1

TIMESTAMP = pa.timestamp("us", tz="UTC")

DOCUMENTS = pa.schema(
    [
        pa.field("document_id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("uri", pa.string(), nullable=False),
        pa.field("locator", pa.string(), nullable=False),
        pa.field("media_type_declared", pa.string()),
        pa.field("doc_class", pa.string(), nullable=False),
        pa.field("tenant", pa.string(), nullable=False),
        pa.field("groups", pa.list_(pa.string()), nullable=False),
        pa.field("content_sha", pa.string()),
        pa.field("size_bytes", pa.int64()),
        pa.field("commit_time", TIMESTAMP),
        pa.field("cohort", pa.string(), nullable=False),
        pa.field("previous_content_sha", pa.string()),
        pa.field("previous_uri", pa.string()),
        pa.field("source_version", pa.string()),
        pa.field("place", pa.string()),
    ]
)
"""One row per document of a run (`runs/<run>/plan.parquet`).

`uri` is the path relative to its source, or the canonical URL; `locator` is where the bytes are read
(an absolute path or a URL) and never leaves the plan. `content_sha` is the SHA-256 of the bytes, null
until fetched for a remote document. `commit_time` is when the source committed this content.
`source_version` is what the source
told about the content without showing it (an entity tag, a time and a size), null where it told nothing.
`place` is a digest of source and path where `uri` and `locator` are no longer as the source has them, since the lake
keeps no text from before redaction; else null.
Deleted documents have a row with cohort `deleted` and go through no stage.
"""

LOCATIONS = pa.schema(
    [
        pa.field("document_id", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("stage_key", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
        pa.field("file", pa.string()),
        pa.field("measures_file", pa.string()),
        pa.field("measures_key", pa.string()),
        pa.field("computed", pa.bool_(), nullable=False),
    ]
)
"""One row per (document, stage) of a run (`runs/<run>/locations.parquet`): where its rows are.

Files are relative to the lake. `computed` says whether this run made the rows (false: an earlier run did).
"""
