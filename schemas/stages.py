"""The Arrow schema of each stage's output: one row per document, parts of a document as nested lists.

Rows hold nothing that differs between two runs over the same bytes: times, costs, attempts and run ids
stand in the ledger. Offsets count Unicode code points.
"""

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

from schemas.documents import TIMESTAMP
from schemas.names import StageName


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


FETCH = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("content_sha", pa.string()),
        _required("media_type", pa.string()),
        pa.field("media_type_declared", pa.string()),
        _required("size_bytes", pa.int64()),
        pa.field("commit_time", TIMESTAMP),
        pa.field("etag", pa.string()),
        pa.field("last_modified", pa.string()),
        pa.field("http_status", pa.int32()),
        _required("unchanged", pa.bool_()),
    ]
)
"""`media_type` is sniffed from the bytes; `unchanged` says that the source answered 304 or sent the same bytes."""

ELEMENT = pa.struct(
    [
        _required("element_id", pa.int32()),
        _required("kind", pa.string()),
        pa.field("level", pa.int32()),
        _required("text", pa.string()),
        pa.field("html", pa.string()),
        pa.field("page", pa.int32()),
        pa.field("bbox", pa.list_(pa.float32())),
        pa.field("anchor", pa.string()),
        _required("section_path", pa.list_(pa.string())),
        pa.field("part", pa.string()),
        pa.field("source", pa.string()),
    ]
)
"""`element_id` counts from 0 in reading order. `page` counts from 1; `bbox` is x0, y0, x1, y1 in points from the
top left. `level` is a heading's or list item's depth from 1. A table's `text` has a line per row and a tab between
cells; its `html` keeps spans. `anchor` is the nearest HTML id. `section_path` is the texts of the headings above
(a heading's own text not included). `part` is the part of the document that holds it (an attachment, a sheet, a sheet
of an attachment: `plan.xlsx / Costs`); null in documents without parts and in a message itself.
`source` is `text` or `ocr` for what stands on a page, else null."""

DOCUMENT_PART = pa.struct(
    [
        _required("name", pa.string()),
        pa.field("media_type", pa.string()),
        _required("first_page", pa.int32()),
        _required("pages", pa.int32()),
        pa.field("error_class", pa.string()),
    ]
)
"""`pages` pages of the document, from `first_page`, are the part's own. `error_class` says why a part gave nothing."""

PARSE = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("parser", pa.string()),
        _required("parser_version", pa.string()),
        _required("pages", pa.int32()),
        _required("pages_without_output", pa.list_(pa.int32())),
        pa.field("encoding", pa.string()),
        pa.field("meta_title", pa.string()),
        _required("meta_authors", pa.list_(pa.string())),
        pa.field("meta_published", pa.string()),
        pa.field("meta_modified", pa.string()),
        pa.field("meta_language", pa.string()),
        pa.field("parts", pa.list_(DOCUMENT_PART)),
        _required("elements", pa.list_(ELEMENT)),
        pa.field("pages_hidden", pa.list_(pa.int32())),
    ]
)
"""`pages` is 1 for a format without pages. A document of several parts counts its pages through: a workbook has a page
for each sheet; a message is page 1, and the pages of its attachments follow. `parts` names them, null where there are
none. `pages_without_output` are page numbers that are not blank and gave
no element, `pages_hidden` sheets and slides that the file hides, which are not read; null where there are none.
`meta_*` is what the file itself declares; dates are ISO 8601 as text."""

ELEMENT_CUT = pa.struct(
    [
        _required("element_id", pa.int32()),
        _required("start", pa.int32()),
        _required("end", pa.int32()),
        _required("reason", pa.string()),
    ]
)

BOILERPLATE = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("extractor", pa.string()),
        _required("extractor_version", pa.string()),
        _required("keep", pa.list_(pa.bool_())),
        _required("reasons", pa.list_(pa.string())),
        pa.field("cuts", pa.list_(ELEMENT_CUT)),
    ]
)
"""`keep` and `reasons` are parallel to the parsed elements; a kept element's reason is the empty string. `cuts` are
code points [start, end) of the parsed text of kept elements that go too, sorted, not overlapping; null is none."""

ELEMENT_SPAN = pa.struct(
    [_required("element_id", pa.int32()), _required("start", pa.int32()), _required("end", pa.int32())]
)

OFFSET_RUN = pa.struct(
    [
        _required("start", pa.int32()),
        _required("end", pa.int32()),
        _required("element_id", pa.int32()),
        _required("source_start", pa.int32()),
        _required("source_end", pa.int32()),
    ]
)

NORMALIZE = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("text", pa.string()),
        _required("elements", pa.list_(ELEMENT_SPAN)),
        _required("offsets", pa.list_(OFFSET_RUN)),
    ]
)
"""`text` is the clean text: kept elements joined by a blank line. `elements` says where each one lies in it.
`offsets` leads back: code points [start, end) of the clean text come from [source_start, source_end) of the
element's parsed text; runs of equal length map one to one, others as a whole."""

SECTION_LANGUAGE = pa.struct(
    [
        _required("start", pa.int32()),
        _required("end", pa.int32()),
        _required("language", pa.string()),
        _required("confidence", pa.float64()),
    ]
)

LANGUAGE_SHARE = pa.struct(
    [_required("language", pa.string()), _required("characters", pa.int64()), _required("share", pa.float64())]
)

LANGUAGE = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("language", pa.string()),
        _required("confidence", pa.float64()),
        _required("model", pa.string()),
        pa.field("sections", pa.list_(SECTION_LANGUAGE)),
        pa.field("shares", pa.list_(LANGUAGE_SHARE)),
        pa.field("mixed", pa.bool_()),
    ]
)
"""`language` is an ISO 639 code, or `und` where the confidence is under the limit. `sections` are parts of the clean
text in order, each with its own language; `shares` say how much of the prose in them is in which language (`und` among
them), the most first. `mixed` says that two languages or more have each their part. The three are null where sections
were not looked at."""

SIGNATURE = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("scope", pa.string()),
        _required("text_sha", pa.string()),
        _required("shingles", pa.int32()),
        _required("bands", pa.list_(pa.uint64())),
        pa.field("anchors", pa.list_(pa.uint32())),
    ]
)
"""What near-duplicate search needs of a document; made once per text and kept. `scope` is its access scope; `anchors`
are a sample of its shingles that depends on the shingles alone, by which a text is found inside a longer one."""

DEDUP = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("decision", pa.string()),
        _required("cluster_id", pa.string()),
        pa.field("duplicate_of", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("similarity", pa.float64()),
        pa.field("contained_in", pa.string()),
        pa.field("containment", pa.float64()),
    ]
)
"""`decision` is `kept` or `dropped`; `cluster_id` is the kept document's id; `kind` is `exact`, `near` or `contained`;
`similarity` is the exact Jaccard similarity with the kept document where the two were compared directly.
`contained_in` is a longer kept document that holds this one, kept or dropped, and `containment` how much of it: the
share of its distinct shingles that stand there."""

PII_SPAN = pa.struct(
    [
        _required("start", pa.int32()),
        _required("end", pa.int32()),
        _required("type", pa.string()),
        _required("score", pa.float64()),
        _required("action", pa.string()),
        _required("redacted_start", pa.int32()),
        _required("redacted_end", pa.int32()),
    ]
)

PII_FIELD = pa.struct(
    [
        _required("name", pa.string()),
        _required("value", pa.string()),
        _required("types", pa.list_(pa.string())),
    ]
)

READ_NAME = pa.struct(
    [
        _required("start", pa.int32()),
        _required("end", pa.int32()),
        _required("type", pa.string()),
        _required("score", pa.float64()),
    ]
)

READ_PASSAGE = pa.struct(
    [
        _required("start", pa.int32()),
        _required("end", pa.int32()),
        _required("names", pa.list_(READ_NAME)),
    ]
)
"""[start, end) is in clean text; names are in the passage as a reader sees it, without invisible characters."""

PII = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("coverage", pa.string()),
        _required("spans", pa.list_(PII_SPAN)),
        _required("text", pa.string()),
        _required("fields", pa.list_(PII_FIELD)),
        pa.field("read_by", pa.string()),
        pa.field("passages", pa.list_(READ_PASSAGE)),
    ]
)
"""`spans` are in clean text, sorted, not overlapping; [redacted_start, redacted_end) is what replaced each one in
`text`, the redacted clean text. `coverage` is `model` (model and patterns) or `unsupported_language` (patterns only).
`fields` are title, author (one row each), uri after the policy was applied. `passages` are those that the model
`read_by` has read, with all that it found; both are null where none has."""

CHUNK_ITEM = pa.struct(
    [
        _required("chunk_id", pa.string()),
        _required("ordinal", pa.int32()),
        _required("start", pa.int32()),
        _required("end", pa.int32()),
        _required("text", pa.string()),
        _required("prefix_length", pa.int32()),
        _required("section_path", pa.list_(pa.string())),
        pa.field("page_first", pa.int32()),
        pa.field("page_last", pa.int32()),
        pa.field("anchor", pa.string()),
        _required("element_ids", pa.list_(pa.int32())),
        _required("tokens", pa.int32()),
        _required("text_sha", pa.string()),
        pa.field("context", pa.string()),
    ]
)
"""[start, end) is in clean text. `text` is what is indexed: redacted, with `prefix_length` leading code points that are
repeated (a table's header rows). `context` is what the model reads before `text` (the document's title, the headings
above), with the line end between the two; null where there is none. `tokens` counts both by the embedding model's own
tokenizer."""

DROPPED_SPAN = pa.struct(
    [_required("start", pa.int32()), _required("end", pa.int32()), _required("reason", pa.string())]
)

CHUNK = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("chunks", pa.list_(CHUNK_ITEM)),
        _required("dropped", pa.list_(DROPPED_SPAN)),
    ]
)

SECTION = pa.struct([_required("level", pa.int32()), _required("title", pa.string()), pa.field("page", pa.int32())])

ENTITY = pa.struct(
    [
        _required("type", pa.string()),
        _required("text", pa.string()),
        _required("start", pa.int32()),
        _required("end", pa.int32()),
    ]
)

RELATION = pa.struct([_required("type", pa.string()), _required("head", pa.int32()), _required("tail", pa.int32())])

METADATA = pa.schema(
    [
        _required("document_id", pa.string()),
        pa.field("title", pa.string()),
        _required("authors", pa.list_(pa.string())),
        pa.field("published", pa.date32()),
        pa.field("modified", pa.date32()),
        _required("sections", pa.list_(SECTION)),
        _required("language", pa.string()),
        _required("uri", pa.string()),
        _required("tenant", pa.string()),
        _required("groups", pa.list_(pa.string())),
        pa.field("date_search", pa.string()),
        pa.field("entities", pa.list_(ENTITY)),
        pa.field("relations", pa.list_(RELATION)),
        pa.field("entity_coverage", pa.string()),
    ]
)
"""`date_search` is null where the page was not searched for a date, `done` where it was, else why the search failed: an
error class such as `timeout`. `published` is null then, as it is where a search found nothing.
`entities` lie at code points [start, end) of the clean text, outside what redaction replaced; a relation's `head` and
`tail` are positions in that list. `entity_coverage` is `model`, `partial` (some of the prose is in a language without a
model) or `unsupported_language`. The three are null where entities are not asked for, `relations` also without rules
for the language."""

EMBEDDING = pa.struct(
    [
        _required("chunk_id", pa.string()),
        _required("vector", pa.list_(pa.float32())),
        _required("tokens", pa.int32()),
        _required("truncated", pa.bool_()),
    ]
)

EMBED = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("model", pa.string()),
        _required("model_version", pa.string()),
        _required("dimension", pa.int32()),
        _required("embeddings", pa.list_(EMBEDDING)),
        pa.field("token_vectors", pa.list_(pa.list_(pa.float32()))),
    ]
)
"""`token_vectors` is parallel to `embeddings`: a chunk's token vectors, one after the other; null where they were not
asked for."""

INDEX = pa.schema(
    [
        _required("document_id", pa.string()),
        _required("chunk_ids", pa.list_(pa.string())),
        _required("rows_sha", pa.string()),
    ]
)
"""What the document contributes to the index: its chunk ids and a SHA-256 over their text hashes and access scope."""

INDEX_ROWS = pa.schema(
    [
        _required("chunk_id", pa.string()),
        _required("document_id", pa.string()),
        _required("index_key", pa.string()),
        _required("text", pa.string()),
        _required("text_sha", pa.string()),
        pa.field("title", pa.string()),
        _required("authors", pa.list_(pa.string())),
        _required("section_path", pa.list_(pa.string())),
        pa.field("page_first", pa.int32()),
        pa.field("page_last", pa.int32()),
        pa.field("published", pa.date32()),
        _required("language", pa.string()),
        _required("uri", pa.string()),
        _required("tenant", pa.string()),
        _required("groups", pa.list_(pa.string())),
        pa.field("doc_class", pa.string()),
        pa.field("context", pa.string()),
        pa.field("token_vectors", pa.list_(pa.float32())),
    ]
)
"""A row of the index, less its `vector` column (fixed_size_list<float32>[dimension]), added when the table is made."""

STAGE_OUTPUTS: Mapping[StageName, pa.Schema] = MappingProxyType(
    {
        StageName.FETCH: FETCH,
        StageName.PARSE: PARSE,
        StageName.BOILERPLATE: BOILERPLATE,
        StageName.NORMALIZE: NORMALIZE,
        StageName.LANGUAGE: LANGUAGE,
        StageName.DEDUP: DEDUP,
        StageName.PII: PII,
        StageName.CHUNK: CHUNK,
        StageName.METADATA: METADATA,
        StageName.EMBED: EMBED,
        StageName.INDEX: INDEX,
    }
)
