"""The key under which a run looks for a document's output of a stage, or makes it."""

from collections.abc import Mapping

import pyarrow as pa

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from tasks.run.context import RunContext
from tasks.run.keys import DocumentKeys
from tasks.run.registry import STAGES


def stage_keys(
    context: RunContext, name: StageName, documents: pa.Table, previous: Mapping[str, str]
) -> dict[str, str]:
    """The stage key of each document (rows of `DOCUMENTS`), from its key of the stage before, in their order."""
    stage, settings = STAGES[name], context.settings(name)
    columns = key_columns(name)
    named, keys = DocumentKeys(), {}
    for document_id, doc_class, *shaped in zip(*(documents.column(name).to_pylist() for name in columns), strict=True):
        shaping = dict(zip(columns[2:], shaped, strict=True))
        if stage.attachments:
            row = {"document_id": document_id, "doc_class": doc_class, **shaping}
            shaping = {column: row[column] for column in stage.context} | dict(stage.attachments(row, settings))
        keys[document_id] = named.of(context.base(name, doc_class), previous[document_id], shaping)
    return keys


def key_columns(name: StageName) -> list[str]:
    """The columns of `DOCUMENTS` that `stage_keys` reads: the id, the class, and what shapes the output."""
    stage = STAGES[name]
    others = [column for column in DOCUMENTS.names if column not in ("document_id", "doc_class")]
    if stage.attachments:
        return ["document_id", "doc_class", *others]
    return ["document_id", "doc_class", *stage.context]
