"""Contracts agree with the schemas that the code writes, and with the standard they claim to follow."""

import json
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
import yaml

from schemas.documents import DOCUMENTS
from schemas.names import Cohort, MetricStatus, Outcome, StageName
from schemas.stages import CHUNK, PARSE
from tasks.contracts.check import check_table
from tasks.contracts.contract import TABLES, Column, load_contract
from tasks.gold.kinds import LABEL_KINDS

STANDARD = json.loads(files("open_data_contract_standard").joinpath("schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("table", TABLES)
def test_columns_types_and_nulls_are_those_of_the_schema(table: str) -> None:
    stated = load_contract(table).arrow_schema
    assert stated.names == TABLES[table].names
    for field in TABLES[table]:
        assert stated.field(field.name).equals(field), field.name


@pytest.mark.parametrize("table", TABLES)
def test_a_contract_follows_the_standard(table: str) -> None:
    text = files("data_contracts").joinpath("tables", f"{table}.yaml").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    jsonschema.Draft201909Validator(STANDARD).validate(data)
    assert data["apiVersion"] == "v3.1.0"
    assert data["id"] == f"corpusgate.{table}"


def test_every_contract_file_belongs_to_a_table() -> None:
    found = {path.name.removesuffix(".yaml") for path in files("data_contracts").joinpath("tables").iterdir()}
    assert {name for name in found if not name.startswith("__")} == set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_described_and_every_rule_runs(table: str) -> None:
    contract = load_contract(table)

    def undescribed(column: Column, path: str) -> list[str]:
        parts = list(column.properties) + list(column.items.properties if column.items else ())
        own = [] if column.description else [path]
        return own + [name for part in parts for name in undescribed(part, f"{path}.{part.name}")]

    assert [name for column in contract.columns for name in undescribed(column, column.name)] == []
    assert contract.quality
    assert check_table(TABLES[table].empty_table(), contract) == []


def test_closed_vocabularies_are_those_of_the_code() -> None:
    def rule(table: str, name: str) -> str:
        return next(rule.query for rule in load_contract(table).quality if rule.name == name)

    for table, name, values in (
        ("documents", "cohort-is-known", list(Cohort)),
        ("locations", "outcome-is-known", list(Outcome)),
        ("locations", "stage-is-known", list(StageName)),
        ("measures", "status-is-known", list(MetricStatus)),
        ("labels", "kind-is-known", list(LABEL_KINDS)),
    ):
        assert rule(table, name).split("NOT IN ")[1] == f"({', '.join(repr(str(value)) for value in values)})"


def document(document_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "source": "s",
        "uri": "u",
        "locator": "l",
        "doc_class": "c",
        "tenant": "t",
        "groups": [],
        "size_bytes": 1,
        "commit_time": datetime(2026, 1, 1, tzinfo=UTC),
        "cohort": "new",
    } | changes


def broken(table: pa.Table, name: str) -> dict[str, int]:
    return {violation.rule: violation.count for violation in check_table(table, load_contract(name))}


def test_breaches_are_named_and_counted() -> None:
    def documents(*rows: dict[str, Any]) -> pa.Table:
        return pa.Table.from_pylist(list(rows), schema=DOCUMENTS)

    assert broken(documents(document("a"), document("b")), "documents") == {}
    assert broken(documents(document("a"), document("a")), "documents") == {"primary-key": 1}
    assert broken(documents(document("a", cohort="old"), document("b", cohort="moved")), "documents") == {
        "cohort-is-known": 1,
        "moved-has-previous-uri": 1,
    }
    assert broken(documents(document("a", size_bytes=-1)), "documents") == {"size-is-not-negative": 1}
    assert broken(documents(document("a")).drop_columns("uri"), "documents") == {"columns": 1}


def test_a_null_deep_inside_is_found() -> None:
    chunk = {
        "chunk_id": "d/1",
        "ordinal": 0,
        "start": 0,
        "end": 4,
        "text": "text",
        "prefix_length": 0,
        "section_path": [],
        "element_ids": [0],
        "tokens": None,
        "text_sha": "0",
    }
    row = {"document_id": "d", "chunks": [chunk, chunk | {"ordinal": 1, "chunk_id": "d/2", "tokens": 3}], "dropped": []}
    (violation,) = check_table(pa.Table.from_pylist([row], schema=CHUNK), load_contract("chunk"))
    assert (violation.rule, violation.count) == ("required", 1)
    assert violation.description == "chunks[].tokens is required and has nulls"


def test_nested_rules_look_at_every_element() -> None:
    element = {"element_id": 0, "kind": "table", "text": "a\tb", "html": None, "page": 3, "section_path": []}
    row = {
        "document_id": "d",
        "parser": "p",
        "parser_version": "1",
        "pages": 2,
        "pages_without_output": [5],
        "pages_hidden": [3],
        "meta_authors": [],
        "elements": [element, element | {"element_id": 7, "page": 1, "html": "<table></table>"}],
    }
    assert broken(pa.Table.from_pylist([row], schema=PARSE), "parse") == {
        "elements-are-numbered": 1,
        "pages-exist": 1,
        "lost-pages-exist": 1,
        "hidden-pages-exist": 1,
        "tables-have-html": 1,
    }
