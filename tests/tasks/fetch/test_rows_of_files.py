"""Rows of JSON Lines and Parquet files are documents; a bad row is named by its line and stops nobody."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.names import Cohort
from tasks.errors import ConfigurationError
from tests.tasks.fetch.sources_by_hand import Scan


def rows(folder: Path, **options: Any) -> dict[str, Any]:
    return {"type": "records", "root": str(folder)} | options


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


LINES = [
    b'\xef\xbb\xbf{"id": "a", "text": "Gr\\u00f6\\u00dfe: 5 \\u00b5m"}',
    b"{not json",
    b"",
    b'["a", "list"]',
    b'{"id": "a", "text": "again"}',
    b'{"id": true, "text": "x"}',
    b'{"id": 7, "text": 5}',
    b'{"id": 8, "text": "half \\ud800"}',
    b'{"id": 9, "text": "\xff"}',
    b"[" * 100_000,
    b'{"id": "empty", "text": ""}',
    b'{"id": 12, "text": "' + b"x" * 400 + b'"}',
    b'{"id": 13, "text": "the last line, without an end"}',
]
OUTCOMES = {
    "#a": "ok",
    "#(line 2)": "bad_row",
    "#(line 4)": "bad_row",
    "#(line 5)": "duplicate_id",
    "#(line 6)": "no_id",
    "#(line 7)": "no_content",
    "#(line 8)": "no_content",
    "#(line 9)": "bad_row",
    "#(line 10)": "too_large",
    "#empty": "empty",
    "#12": "too_large",
    "#13": "ok",
}


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_each_good_line_is_a_document_and_each_bad_one_is_named(tmp_path: Path, folder: Path, name: str) -> None:
    data = b"\r\n".join(LINES)
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    scan = Scan(tmp_path / "lake", 1, rows(folder), max_bytes=300)
    assert scan.outcomes == {name + place: outcome for place, outcome in OUTCOMES.items()}
    assert scan.bytes_of(f"{name}#a").decode() == "Größe: 5 µm"
    assert scan.bytes_of(f"{name}#13") == b"the last line, without an end"
    assert scan.message(f"{name}#(line 2)") == "line 2 is not JSON (from character 2 on)"
    assert scan.message(f"{name}#(line 5)") == "line 5 names its document as line 1 does"
    again = Scan(tmp_path / "lake", 2, rows(folder), max_bytes=300)
    assert not again.computed & {f"{name}#a", f"{name}#13"}


def test_a_message_about_a_row_names_no_file(tmp_path: Path, folder: Path) -> None:
    line = json.dumps({"id": 1, "text": "x", "link": "https://example.org/a"})
    for name in ("mara.jsonl", "rubija.jsonl"):
        (folder / name).write_text(line)
    scan = Scan(tmp_path / "lake", 1, rows(folder, url="link"))
    message = scan.message("rubija.jsonl#(line 1)")
    assert message == "line 1 names its document as line 1 of another file does"


def test_only_the_row_that_changed_is_taken_again(tmp_path: Path, folder: Path) -> None:
    many = [{"id": i, "text": f"text {i}"} for i in range(500)]
    write = folder / "a.jsonl.gz"
    write.write_bytes(gzip.compress("\n".join(map(json.dumps, many)).encode()))
    assert len(Scan(tmp_path / "lake", 1, rows(folder)).computed) == 500
    many[250]["text"] = "another text"
    del many[3]
    write.write_bytes(gzip.compress("\n".join(map(json.dumps, many)).encode()))
    again = Scan(tmp_path / "lake", 2, rows(folder))
    assert again.computed == {"a.jsonl.gz#250"}
    assert again.bytes_of("a.jsonl.gz#250") == b"another text"
    assert "a.jsonl.gz#3" not in again.plan
    assert len(list((tmp_path / "lake" / "cache" / "unpacked").glob("*-*"))) == 1


def test_columns_say_what_a_row_is(tmp_path: Path, folder: Path) -> None:
    lines = [
        {"key": 1, "body": "<p>a fragment</p>", "kind": "text/html", "at": "2024-05-01T10:00:00+02:00"},
        {"key": 2, "body": "plain", "at": 1_700_000_000, "link": "HTTPS://Example.org/a#top"},
        {"key": 3, "body": "plain", "at": "some day", "link": "no link"},
        {"key": 4, "body": "the same link", "link": "https://example.org/a"},
    ]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    names = {"id": "key", "content": "body", "media_type_column": "kind", "modified": "at", "url": "link"}
    scan = Scan(tmp_path / "lake", 1, rows(folder, media_type="text/markdown", **names))
    assert scan.outcomes == {
        "a.jsonl#1": "ok",
        "https://example.org/a": "ok",
        "a.jsonl#3": "ok",
        "a.jsonl#(line 4)": "duplicate_id",
    }
    assert scan.plan["a.jsonl#1"]["commit_time"] == datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert scan.plan["https://example.org/a"]["commit_time"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert scan.plan["a.jsonl#3"]["commit_time"] is None
    assert (scan.row("a.jsonl#1")["media_type"], scan.row("a.jsonl#3")["media_type"]) == ("text/html", "text/markdown")
    assert scan.row("a.jsonl#1")["media_type_declared"] == "text/html; charset=utf-8"


def test_parquet_rows_of_several_groups_hold_text_or_bytes(tmp_path: Path, folder: Path) -> None:
    table = pa.table(
        {
            "id": pa.array(range(1000), pa.int64()),
            "text": pa.array([None if i == 500 else f"text {i}".encode() for i in range(1000)], pa.binary()),
            "at": pa.array([datetime(2024, 5, 1, tzinfo=UTC)] * 1000, pa.timestamp("us", tz="UTC")),
        }
    )
    pq.write_table(table, folder / "a.parquet", row_group_size=300)
    scan = Scan(tmp_path / "lake", 1, rows(folder, modified="at"))
    outcomes = scan.outcomes
    assert outcomes.pop("a.parquet#(row 501)") == "no_content"
    assert set(outcomes.values()) == {"ok"}
    assert {scan.bytes_of(f"a.parquet#{i}") for i in (0, 299, 300, 999)} == {
        b"text 0", b"text 299", b"text 300", b"text 999",
    }  # fmt: skip
    assert scan.plan["a.parquet#9"]["commit_time"] == datetime(2024, 5, 1, tzinfo=UTC)


def test_a_row_that_moved_within_its_file_keeps_its_document(tmp_path: Path, folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"id": 1, "text": "one"}\n{"id": 2, "text": "two"}\n')
    before = Scan(tmp_path / "lake", 1, rows(folder))
    (folder / "a.jsonl").write_text('{"id": 2, "text": "two"}\n{"id": 0, "text": "new"}\n{"id": 1, "text": "one"}\n')
    after = Scan(tmp_path / "lake", 2, rows(folder))
    for uri in ("a.jsonl#1", "a.jsonl#2"):
        assert before.plan[uri]["document_id"] == after.plan[uri]["document_id"]
    assert after.computed == {"a.jsonl#0"}
    assert after.plan["a.jsonl#0"]["cohort"] == Cohort.NEW


def torn_gzip() -> bytes:
    return gzip.compress(b'{"id": 1, "text": "one"}\n' * 5000, mtime=0)[:-20]


def damaged_gzip() -> bytes:
    data = bytearray(
        gzip.compress(b"".join(f'{{"id": {i}, "text": "{i * 7919}"}}\n'.encode() for i in range(9999)), mtime=0)
    )
    data[len(data) // 2] ^= 0xFF
    return bytes(data)


def torn_parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": [1], "text": ["x" * 1000]}), sink)
    return bytes(sink.getvalue())[:-100]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.jsonl.gz", torn_gzip(), "the gzipped file ends early, near byte"),
        ("a.jsonl.gz", damaged_gzip(), "the gzipped file is damaged, near byte"),
        ("a.jsonl.gz", gzip.compress(b" " * 20_000_000, mtime=0), "unpacks to more times its size"),
        ("a.parquet", torn_parquet(), "the Parquet file is damaged or ends early"),
    ],
)
def test_a_file_that_cannot_be_read_to_its_end_stops_the_scan_and_deletes_nothing(
    tmp_path: Path, folder: Path, name: str, data: bytes, said: str
) -> None:
    (folder / "good.jsonl").write_text('{"id": 1, "text": "one"}\n')
    Scan(tmp_path / "lake", 1, rows(folder))
    (folder / name).write_bytes(data)
    with pytest.raises(ConfigurationError, match=rf"{name}: .*{said}") as caught:
        Scan(tmp_path / "lake", 2, rows(folder))
    assert "nothing was taken as deleted" in caught.value.remedy
    (folder / name).unlink()
    assert Scan(tmp_path / "lake", 3, rows(folder)).computed == set()


def test_a_column_that_no_row_can_have_is_a_mistake_of_the_configuration(tmp_path: Path, folder: Path) -> None:
    pq.write_table(pa.table({"id": [1], "body": ["x"]}), folder / "a.parquet")
    with pytest.raises(ConfigurationError, match="has no column 'text'"):
        Scan(tmp_path / "lake", 1, rows(folder))


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_file_that_is_written_anew_during_a_run_gives_no_document_another_ones_bytes(
    tmp_path: Path, folder: Path, name: str
) -> None:
    def write(texts: list[str]) -> None:
        if name == "a.parquet":
            pq.write_table(pa.table({"id": list(range(len(texts))), "text": texts}), folder / name)
        else:
            lines = [json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)]
            (folder / name).write_text("\n".join(lines))

    write(["zero", "ones", "twos"])
    scan = Scan(tmp_path / "lake", 1, rows(folder), between=lambda: write(["zero", "twos"]))
    assert scan.outcomes == {f"{name}#0": "ok", f"{name}#1": "changed", f"{name}#2": "changed"}
    assert Scan(tmp_path / "lake", 2, rows(folder)).outcomes == {f"{name}#0": "ok", f"{name}#1": "ok"}


def test_a_file_that_vanishes_during_a_run_is_unreadable(tmp_path: Path, folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"id": 1, "text": "one"}')
    scan = Scan(tmp_path / "lake", 1, rows(folder), between=(folder / "a.jsonl").unlink)
    assert scan.outcomes == {"a.jsonl#1": "unreadable"}


def test_an_id_that_looks_like_the_place_of_a_bad_row_is_still_another_document(tmp_path: Path, folder: Path) -> None:
    lines = ['{"id": "(line 2)", "text": "one"}', "bad", '{"id": "(line 4)", "text": "two"}', "bad"]
    (folder / "a.jsonl").write_text("\n".join(lines))
    assert Scan(tmp_path / "lake", 1, rows(folder)).outcomes == {
        "a.jsonl#(line 2)": "ok",
        "a.jsonl#(line 2)'": "bad_row",
        "a.jsonl#(line 4)": "ok",
        "a.jsonl#(line 4)'": "bad_row",
    }
