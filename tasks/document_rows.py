"""Rows of tables by the documents that they belong to, and some of their columns."""

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc


def select(table: pa.Table, document_ids: Sequence[str]) -> pa.Table:
    """The rows of these documents, in this order.

    Raises:
        KeyError: a document has no row.
    """
    positions = {document_id: i for i, document_id in enumerate(table.column("document_id").to_pylist())}
    return table.take(pa.array([positions[document_id] for document_id in document_ids], pa.int64()))


def without(documents: pa.Table, document_ids: Collection[str]) -> pa.Table:
    """The rows of a table that are not of these documents, in their order."""
    if not document_ids:
        return documents
    gone = pa.array(document_ids, pa.string())
    return documents.filter(pc.invert(pc.is_in(documents.column("document_id"), gone)))


def narrowed(table: pa.Table, wanted: Sequence[str]) -> pa.Table:
    """Some columns of a table; `elements.text` is that field of the records in the lists of a column.

    >>> narrowed(pa.table({"a": [1], "b": [[{"c": 2, "d": 3}]]}), ["b.c"]).to_pylist()
    [{'b': [{'c': 2}]}]
    """
    fields: dict[str, list[str]] = {}
    for path in wanted:
        column, _, field_name = path.partition(".")
        fields.setdefault(column, []).extend([field_name] if field_name else [])
    return pa.table({name: _only(table.column(name), names) for name, names in fields.items()})


def _only(column: pa.ChunkedArray, names: Sequence[str]) -> pa.ChunkedArray:
    if not names:
        return column
    kind = pa.list_(pa.struct([column.type.value_type.field(name) for name in names]))
    parts = []
    for chunk in column.chunks:
        whole = pa.concat_arrays([chunk]) if chunk.offset else chunk
        records = pa.StructArray.from_arrays([whole.values.field(name) for name in names], fields=list(kind.value_type))
        mask = whole.is_null() if whole.null_count else None
        parts.append(pa.ListArray.from_arrays(whole.offsets, records, type=kind, mask=mask))
    return pa.chunked_array(parts, kind)


def ids_of(table: pa.Table) -> list[str]:
    """The document ids of a table, in its order."""
    return list(table.column("document_id").to_pylist())
