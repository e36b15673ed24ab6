"""Building metric rows: the one place where a figure's value follows from its numerator and denominator."""

from collections.abc import Iterable, Mapping, Sequence
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
        self._many: list[pa.Table] = []

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

    def ratios(self, metric: str, document_ids: pa.Array | Sequence[str], numerators: Any) -> None:
        """Adds `ratio` with denominator 1 of many documents at once, of version 1; `numerators` may be an array."""
        amounts = _array(numerators).cast(pa.float64())
        self._add_many(metric, document_ids, amounts, amounts, pa.repeat(1.0, len(amounts)))

    def values(self, metric: str, document_ids: pa.Array | Sequence[str], values: Any) -> None:
        """Adds `value` of many documents at once, of version 1; `values` may be an array."""
        nothing = pa.nulls(len(values), pa.float64())
        self._add_many(metric, document_ids, _array(values).cast(pa.float64()), nothing, nothing)

    def _add_many(
        self,
        metric: str,
        document_ids: pa.Array | Sequence[str],
        values: pa.Array,
        numerators: pa.Array,
        denominators: pa.Array,
    ) -> None:
        shared = {"metric": metric, "metric_version": 1, "status": MetricStatus.OK.value}
        own = {"document_id": document_ids, "value": values, "numerator": numerators, "denominator": denominators}
        self._many.append(self._as_table(shared | own, len(values)))

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
        own = self._as_table(self._columns, len(self._columns["metric"]))
        return sort_rows(pa.concat_tables([own, *self._many]).unify_dictionaries())

    def _as_table(self, given: Mapping[str, Any], count: int) -> pa.Table:
        """Rows in the `MEASURES` schema: a column of them, or one value that they share."""
        columns = []
        for field in MEASURES:
            value = self._stage.value if field.name == "stage" else given.get(field.name)
            if value is None:
                columns.append(pa.nulls(count, field.type))
            elif isinstance(value, (str, int)):
                plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
                columns.append(pa.repeat(pa.scalar(value, plain), count).cast(field.type))
            else:
                columns.append(_array(value, field.type))
        return pa.Table.from_arrays(columns, schema=MEASURES)


def _array(values: Any, kind: pa.DataType | None = None) -> pa.Array | pa.ChunkedArray:
    return values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, kind)


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
