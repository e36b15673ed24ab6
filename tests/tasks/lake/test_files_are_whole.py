"""Tables are written whole, checked at the border, and read by newer code too."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.errors import RunError
from tasks.lake.files import read_table, write_table

SCHEMA = pa.schema([pa.field("document_id", pa.string(), nullable=False), pa.field("n", pa.int32())])


def test_a_null_in_a_required_column_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    table = pa.table({"document_id": pa.array([None], pa.string()), "n": pa.array([1], pa.int32())})
    with pytest.raises(RunError, match="document_id"):
        write_table(table, tmp_path / "x.parquet", SCHEMA)
    assert list(tmp_path.iterdir()) == []


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    table = pa.table({"document_id": ["a"], "n": pa.array([1], pa.int64())})
    with pytest.raises(RunError, match="int64 instead of int32"):
        write_table(table, tmp_path / "x.parquet", SCHEMA)


def test_columns_added_since_read_as_null_and_types_are_cast(tmp_path: Path) -> None:
    pq.write_table(pa.table({"document_id": ["a"]}), tmp_path / "old.parquet")
    assert read_table(tmp_path / "old.parquet", SCHEMA).to_pylist() == [{"document_id": "a", "n": None}]


def test_a_torn_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    write_table(pa.Table.from_pylist([{"document_id": "a", "n": 1}], schema=SCHEMA), tmp_path / "x.parquet", SCHEMA)
    data = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(RunError, match=r"x\.parquet") as caught:
        read_table(tmp_path / "x.parquet", SCHEMA)
    assert "doctor" in caught.value.remedy


def test_only_the_wanted_documents_are_read(tmp_path: Path) -> None:
    rows = [{"document_id": f"d{i}", "n": i} for i in range(100)]
    write_table(pa.Table.from_pylist(rows, schema=SCHEMA), tmp_path / "x.parquet", SCHEMA)
    assert read_table(tmp_path / "x.parquet", SCHEMA, document_ids=["d7", "d42"]).column("n").to_pylist() == [7, 42]


@pytest.mark.parametrize("text", ["x'; DROP TABLE y; --", "ü/ø.md", "a\nb"])
def test_odd_ids_survive(tmp_path: Path, text: str) -> None:
    write_table(pa.Table.from_pylist([{"document_id": text, "n": 1}], schema=SCHEMA), tmp_path / "x.parquet", SCHEMA)
    assert read_table(tmp_path / "x.parquet", SCHEMA, document_ids=[text]).num_rows == 1
