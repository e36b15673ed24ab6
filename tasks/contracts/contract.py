"""Data contracts (Open Data Contract Standard v3.1) of the lake's tables, read from `data_contracts/tables`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import yaml

from schemas.documents import DOCUMENTS, LOCATIONS, TIMESTAMP
from schemas.figures import FIGURES, SWEEP_FIGURES
from schemas.ledger import LEDGER, QUARANTINE
from schemas.measures import ALONE_INPUTS, MEASURES
from schemas.stages import INDEX_ROWS, SIGNATURE, STAGE_OUTPUTS
from tasks.gold.table import LABELS

TABLES: Mapping[str, pa.Schema] = MappingProxyType(
    {
        "documents": DOCUMENTS,
        "locations": LOCATIONS,
        "ledger": LEDGER,
        "quarantine": QUARANTINE,
        "measures": MEASURES,
        "alone_inputs": ALONE_INPUTS,
        "figures": FIGURES,
        "sweep_figures": SWEEP_FIGURES,
        "labels": LABELS,
        "signature": SIGNATURE,
        "index_rows": INDEX_ROWS,
        **{name.value: schema for name, schema in STAGE_OUTPUTS.items()},
    }
)
"""Every table that has a contract, with the Arrow schema that it must agree with."""

PHYSICAL_TYPES: Mapping[str, pa.DataType] = MappingProxyType(
    {
        "string": pa.string(),
        "binary": pa.binary(),
        "bool": pa.bool_(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "uint32": pa.uint32(),
        "uint64": pa.uint64(),
        "float32": pa.float32(),
        "float64": pa.float64(),
        "date32": pa.date32(),
        "timestamp[us, tz=UTC]": TIMESTAMP,
        "dictionary<string>": pa.dictionary(pa.int32(), pa.string()),
    }
)
"""`physicalType` of a contract → Arrow type; `list` and `struct` are made of their parts."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a part of a nested one: `items` of a list (name is empty), `properties` of a struct."""

    name: str
    physical_type: str
    required: bool
    description: str
    primary_key: bool
    items: "Column | None"
    properties: tuple["Column", ...]

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type that the contract states.

        Raises:
            KeyError: the physical type is not one of `PHYSICAL_TYPES`.
        """
        if self.physical_type == "list" and self.items is not None:
            return pa.list_(self.items.arrow_type)
        if self.physical_type == "struct":
            return pa.struct([part.field for part in self.properties])
        return PHYSICAL_TYPES[self.physical_type]

    @property
    def field(self) -> pa.Field:
        """The Arrow field that the contract states."""
        return pa.field(self.name, self.arrow_type, nullable=not self.required)


@dataclass(frozen=True, slots=True)
class QualityRule:
    """A query over `${table}` that counts what is wrong; the contract wants `must_be`, which is 0."""

    name: str
    description: str
    query: str
    must_be: int


@dataclass(frozen=True, slots=True)
class Contract:
    """What a table promises."""

    table: str
    version: str
    description: str
    columns: tuple[Column, ...]
    quality: tuple[QualityRule, ...]

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Columns that tell rows apart; empty where no single set of required columns does."""
        return tuple(column.name for column in self.columns if column.primary_key)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema that the contract states."""
        return pa.schema([column.field for column in self.columns])


@cache
def load_contract(table: str) -> Contract:
    """The contract of a table.

    Raises:
        KeyError: the table has none; the names that have one are in `TABLES`.
    """
    if table not in TABLES:
        raise KeyError(f"no contract for a table {table!r}; there is one for: {', '.join(TABLES)}")
    text = files("data_contracts").joinpath("tables", f"{table}.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, yaml.CSafeLoader)
    (described,) = data["schema"]
    return Contract(
        table=described["name"],
        version=data["version"],
        description=described["description"],
        columns=tuple(_column(column) for column in described["properties"]),
        quality=tuple(
            QualityRule(rule["name"], rule["description"], rule["query"], rule["mustBe"])
            for rule in described["quality"]
        ),
    )


def _column(data: dict[str, Any]) -> Column:
    items = data.get("items")
    return Column(
        name=data.get("name", ""),
        physical_type=data["physicalType"],
        required=data.get("required", False),
        description=data.get("description", ""),
        primary_key=data.get("primaryKey", False),
        items=_column(items) if items else None,
        properties=tuple(_column(part) for part in data.get("properties", ())),
    )
