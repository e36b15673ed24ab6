"""Building metric rows: the one place where a figure's value follows from its numerator and denominator."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from schemas.measures import MEASURES
from schemas.names import MetricStatus, StageName

SORT_ORDER = [
    (column, "ascending") for column in ("metric", "document_id", "unit_id", "slice_key", "slice_value", "stage_key")
]

_GIVEN = (
    "metric",
    "metric_version",
    "document_id",
    "unit_id",
    "slice_key",
    "slice_value",
    "value",
    "numerator",
    "denominator",
    "status",
)
_TURNED_AT_ONCE = 1000


class MetricRows:
    """Collects the metric rows of one stage.

    `stage_key`, `gold_version` and `label_digest` are left null: the engine that calls the evaluator knows them
    and fills them in (`tasks.run.scoring`).
    """

    def __init__(self, stage: StageName) -> None:
        self._stage = stage
        # Columns, not a dict per row: the facts of a run have several rows for each of its documents.
        self._columns: dict[str, list[Any]] = {name: [] for name in _GIVEN}
        self._waiting: list[tuple[Any, ...]] = []

    def ratio(
        self,
        metric: str,
        document_id: str | None,
        numerator: float,
        denominator: float,
        *,
        unit_id: str | None = None,
        slice_of: tuple[str, str] | None = None,
        status: MetricStatus = MetricStatus.OK,
        version: int = 1,
    ) -> None:
        """Adds numerator / denominator; over an empty denominator the value is null."""
        value = numerator / denominator if denominator else None
        self._add(metric, document_id, value, numerator, denominator, unit_id, slice_of, status, version)

    def ratios(self, metric: str, document_ids: Sequence[str], numerators: Sequence[float]) -> None:
        """Adds `ratio` with denominator 1 of many documents at once, of version 1."""
        amounts = [float(numerator) for numerator in numerators]
        self._add_many(metric, document_ids, amounts, amounts, [1.0] * len(amounts))

    def values(self, metric: str, document_ids: Sequence[str], values: Sequence[float | None]) -> None:
        """Adds `value` of many documents at once, of version 1."""
        nothing = [None] * len(values)
        self._add_many(metric, document_ids, values, nothing, nothing)

    def _add_many(
        self,
        metric: str,
        document_ids: Sequence[str],
        values: Sequence[float | None],
        numerators: Sequence[float | None],
        denominators: Sequence[float | None],
    ) -> None:
        shared = {"metric": metric, "metric_version": 1, "status": MetricStatus.OK.value}
        own = {"document_id": document_ids, "value": values, "numerator": numerators, "denominator": denominators}
        self._settle()
        for name, column in self._columns.items():
            column.extend(own[name] if name in own else [shared.get(name)] * len(document_ids))

    def value(
        self,
        metric: str,
        document_id: str | None,
        value: float | None,
        *,
        numerator: float | None = None,
        denominator: float | None = None,
        unit_id: str | None = None,
        slice_of: tuple[str, str] | None = None,
        status: MetricStatus = MetricStatus.OK,
        version: int = 1,
    ) -> None:
        """Adds a figure that is not a ratio of two sums (seconds, TEDS of one table, a median)."""
        self._add(metric, document_id, value, numerator, denominator, unit_id, slice_of, status, version)

    def without_value(
        self,
        metric: str,
        document_id: str | None,
        status: MetricStatus,
        *,
        unit_id: str | None = None,
        slice_of: tuple[str, str] | None = None,
        version: int = 1,
    ) -> None:
        """Adds a row that says why there is no value; it is counted and never averaged in."""
        self._add(metric, document_id, None, None, None, unit_id, slice_of, status, version)

    def _add(
        self,
        metric: str,
        document_id: str | None,
        value: float | None,
        numerator: float | None,
        denominator: float | None,
        unit_id: str | None,
        slice_of: tuple[str, str] | None,
        status: MetricStatus,
        version: int,
    ) -> None:
        slice_key, slice_value = slice_of or (None, None)
        # In the order of `_GIVEN`.
        self._waiting.append(
            (metric, version, document_id, unit_id, slice_key, slice_value, value, numerator, denominator, status)
        )
        if len(self._waiting) >= _TURNED_AT_ONCE:
            self._settle()

    def _settle(self) -> None:
        """Turns the rows that wait into columns: many at once cost a fifth of one by one."""
        for column, items in zip(self._columns.values(), zip(*self._waiting, strict=True), strict=False):
            column.extend(items)
        self._waiting.clear()

    def table(self) -> pa.Table:
        """The rows, sorted, in the `MEASURES` schema."""
        self._settle()
        count = len(self._columns["metric"])
        columns = []
        for field in MEASURES:
            if field.name == "stage":
                columns.append(pa.repeat(self._stage.value, count).dictionary_encode())
            elif field.name in self._columns:
                columns.append(pa.array(self._columns[field.name], field.type))
            else:
                columns.append(pa.nulls(count, field.type))
        return sort_rows(pa.Table.from_arrays(columns, schema=MEASURES))


def sort_rows(table: pa.Table) -> pa.Table:
    """Metric rows in their canonical order, with dictionaries rebuilt, so that equal rows are equal bytes."""
    plain = pa.schema(
        [
            pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type, f.nullable)
            for f in MEASURES
        ]
    )
    return table.cast(plain).sort_by(SORT_ORDER).cast(MEASURES).combine_chunks()


def concat_rows(tables: Iterable[pa.Table]) -> pa.Table:
    """Several tables of metric rows as one, sorted."""
    parts = [table.unify_dictionaries() for table in tables]
    if not parts:
        return MEASURES.empty_table()
    return sort_rows(pa.concat_tables(parts).unify_dictionaries())
