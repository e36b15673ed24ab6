"""Holding a table against its contract: columns, nulls at any depth, keys, and the contract's own quality rules."""

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tasks.contracts.contract import Column, Contract


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a table breaks, and in how many rows (or values of a nested column)."""

    table: str
    rule: str
    count: int
    description: str


def check_table(table: pa.Table, contract: Contract) -> list[Violation]:
    """Everything in which a table breaks its contract; empty where it holds. Vectorised, no row is looped over.

    A table whose columns or types differ is not looked into further.
    """
    shape = contract.arrow_schema
    if table.schema.names != shape.names or table.schema.types != shape.types:
        differing = [
            name
            for name in sorted({*table.schema.names, *shape.names})
            if name not in table.schema.names
            or name not in shape.names
            or table.schema.field(name).type != shape.field(name).type
        ]
        said = f"columns or types differ from the contract: {', '.join(differing) or 'another order'}"
        return [Violation(contract.table, "columns", len(differing) or 1, said)]
    found = list(_nulls(table, contract))
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.register("checked", table)
        return found + list(check_rows(connection, "checked", contract))


def check_rows(connection: duckdb.DuckDBPyConnection, relation: str, contract: Contract) -> Iterator[Violation]:
    """Breaches of the contract's key and quality rules in a relation that a connection already knows."""
    quoted = f'"{relation}"'
    if contract.primary_key:
        key = ", ".join(contract.primary_key)
        twice = f"SELECT COUNT(*) FROM (SELECT 1 FROM {quoted} GROUP BY {key} HAVING COUNT(*) > 1)"  # noqa: S608
        if count := _count(connection, twice):
            yield Violation(contract.table, "primary-key", count, f"({key}) is not unique")
    for rule in contract.quality:
        count = _count(connection, rule.query.replace("${table}", quoted))
        if count != rule.must_be:
            yield Violation(contract.table, rule.name, count, rule.description)


def _count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    (found,) = connection.sql(query).fetchall()
    return int(found[0])


def _nulls(table: pa.Table, contract: Contract) -> Iterator[Violation]:
    for column in contract.columns:
        for path, count in _null_paths(table.column(column.name).combine_chunks(), column, column.name):
            yield Violation(contract.table, "required", count, f"{path} is required and has nulls")


def _null_paths(values: pa.Array, column: Column, path: str) -> Iterator[tuple[str, int]]:
    if column.required and values.null_count:
        yield path, values.null_count
    if column.items is not None:
        yield from _null_paths(pc.list_flatten(values), column.items, f"{path}[]")
    for i, part in enumerate(column.properties):
        # Parts of a struct that is itself null are no nulls of their own.
        yield from _null_paths(pc.struct_field(values.filter(values.is_valid()), [i]), part, f"{path}.{part.name}")
