"""Captured pages are documents by their URL; what is no page is counted, and a damaged archive is named."""

import gzip
import io
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tasks.errors import ConfigurationError
from tests.tasks.fetch.sources_by_hand import Scan

PAGE = b"<!DOCTYPE html><title>Pumps</title><p>Serviced once a year."
HTML = ("Content-Type", "text/html; charset=utf-8")


def capture(
    writer: WARCWriter,
    url: str,
    body: bytes,
    *headers: tuple[str, str],
    status: str = "200 OK",
    kind: str = "response",
    date: str = "2024-05-01T10:00:00Z",
    **more: str,
) -> None:
    http = StatusAndHeaders(status, list(headers), protocol="HTTP/1.1")
    record = writer.create_warc_record(
        url, kind, payload=io.BytesIO(body), http_headers=http, warc_headers_dict={"WARC-Date": date} | more
    )
    writer.write_record(record)


def write(path: Path, fill: Callable[[WARCWriter], None], *, packed: bool) -> None:
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=packed)
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "a test"}))
        fill(writer)


def archives(folder: Path) -> dict[str, Any]:
    return {"type": "warc", "root": str(folder)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)


def pages(writer: WARCWriter) -> None:
    capture(writer, "http://Example.org/a#top", PAGE, HTML)
    capture(writer, "https://example.org/packed", gzip.compress(PAGE + b"gz"), HTML, ("Content-Encoding", "gzip"))
    capture(writer, "https://example.org/chunked", chunked(PAGE + b"ch"), HTML, ("Transfer-Encoding", "chunked"))
    capture(writer, "https://example.org/notes.md", b"# Weir", date="2023-01-01T00:00:00Z")
    capture(writer, "https://example.org/empty", b"", HTML)
    capture(writer, "https://example.org/br", b"\x0b\x02\x80abc\x03", HTML, ("Content-Encoding", "br"))
    capture(writer, "https://example.org/gone", b"no", HTML, status="404 Not Found")
    capture(writer, "https://example.org/a", b"", kind="request", status="GET / HTTP/1.1")
    capture(writer, "https://example.org/a", b"", kind="mara@example.org")
    capture(writer, "https://example.org/odd", PAGE, HTML, status="5551234 Odd")
    capture(writer, "https://example.org/cut", PAGE[:9], HTML, **{"WARC-Truncated": "length"})
    capture(writer, "http://example.org/a", PAGE + b"older", HTML, date="2020-01-01T00:00:00Z")


@pytest.mark.parametrize("packed", [True, False])
def test_the_newest_page_of_each_url_is_a_document(tmp_path: Path, folder: Path, packed: bool) -> None:
    write(folder / ("a.warc.gz" if packed else "a.warc"), pages, packed=packed)
    scan = Scan(tmp_path / "lake", 1, archives(folder), max_bytes=100_000)
    assert scan.outcomes == {
        "http://example.org/a": "ok",
        "https://example.org/packed": "ok",
        "https://example.org/chunked": "ok",
        "https://example.org/notes.md": "ok",
        "https://example.org/empty": "empty",
        "https://example.org/br": "unknown_encoding",
    }
    assert scan.bytes_of("http://example.org/a") == PAGE
    assert scan.bytes_of("https://example.org/packed") == PAGE + b"gz"
    assert scan.bytes_of("https://example.org/chunked") == PAGE + b"ch"
    assert scan.row("https://example.org/notes.md")["media_type"] == "text/markdown"
    assert scan.row("http://example.org/a")["media_type_declared"] == "text/html; charset=utf-8"
    assert scan.plan["http://example.org/a"]["commit_time"] == datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert scan.skipped == {
        "older capture of a URL": 1,
        "record of type request": 1,
        "record of type warcinfo": 1,
        "other record": 1,
        "no HTTP status": 1,
        "status 404": 1,
        "truncated by the crawler": 1,
    }
    assert not Scan(tmp_path / "lake", 2, archives(folder), max_bytes=100_000).computed & {"http://example.org/a"}


def test_an_address_is_one_of_the_web_however_its_scheme_and_host_are_written(tmp_path: Path, folder: Path) -> None:
    write(folder / "a.warc", lambda writer: capture(writer, "HTTP://Example.ORG:80/Case", PAGE, HTML), packed=False)
    scan = Scan(tmp_path / "lake", 1, archives(folder))
    assert scan.outcomes == {"http://example.org/Case": "ok"}
    assert scan.bytes_of("http://example.org/Case") == PAGE
    assert scan.skipped == {"record of type warcinfo": 1}


def test_a_newer_archive_replaces_a_page_and_leaves_the_others(tmp_path: Path, folder: Path) -> None:
    write(folder / "a.warc.gz", pages, packed=True)
    Scan(tmp_path / "lake", 1, archives(folder))
    write(
        folder / "b.warc.gz",
        lambda writer: capture(writer, "http://example.org/a", PAGE + b"new", HTML, date="2025-01-01T00:00:00Z"),
        packed=True,
    )
    again = Scan(tmp_path / "lake", 2, archives(folder))
    assert "http://example.org/a" in again.computed
    assert again.computed.isdisjoint({"https://example.org/packed", "https://example.org/chunked"})
    assert again.bytes_of("http://example.org/a") == PAGE + b"new"


def test_a_record_of_other_bytes_than_it_states_fails_alone(tmp_path: Path, folder: Path) -> None:
    write(folder / "a.warc", pages, packed=False)
    data = (folder / "a.warc").read_bytes()
    (folder / "a.warc").write_bytes(data.replace(b"<title>Pumps", b"<title>Bumps", 1))
    scan = Scan(tmp_path / "lake", 1, archives(folder))
    assert scan.outcomes["http://example.org/a"] == "corrupt"
    assert scan.outcomes["https://example.org/chunked"] == "ok"
    assert re.fullmatch(r"the record at byte [\d,]+ does not have the digest .*", scan.message("http://example.org/a"))


def packed_archive() -> bytes:
    file = io.BytesIO()
    pages(WARCWriter(file, gzip=True))
    return file.getvalue()


def plain_archive() -> bytes:
    file = io.BytesIO()
    pages(WARCWriter(file, gzip=False))
    return file.getvalue()


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


def within(data: bytes, mark: bytes) -> bytes:
    return data[: data.rindex(mark) + len(mark)]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.warc.gz", packed_archive()[:-50], "ends early, near byte"),
        ("a.warc.gz", flipped(packed_archive()), "is damaged, near byte|damaged"),
        ("a.warc.gz", gzip.compress(plain_archive()), "cannot be read as WARC from byte"),
        ("a.warc", within(plain_archive(), b"<title>"), r"the record at byte [\d,]+ ends [\d,]+ bytes early"),
        ("a.warc", within(plain_archive(), b"WARC-Target-URI"), r"cannot be read as WARC from byte [\d,]+ on"),
        ("a.warc", within(plain_archive(), b"HTTP/1.1 200"), r"at byte [\d,]+ ends"),
        ("a.warc", b"<html>no archive", "cannot be read as WARC"),
    ],
)
def test_a_damaged_archive_stops_the_scan_by_name_and_deletes_nothing(
    tmp_path: Path, folder: Path, name: str, data: bytes, said: str
) -> None:
    write(folder / "good.warc.gz", pages, packed=True)
    before = Scan(tmp_path / "lake", 1, archives(folder))
    (folder / name).write_bytes(data)
    with pytest.raises(ConfigurationError, match=rf"{name}: the archive is damaged: .*({said})"):
        Scan(tmp_path / "lake", 2, archives(folder))
    (folder / name).unlink()
    after = Scan(tmp_path / "lake", 3, archives(folder))
    assert {uri: row["document_id"] for uri, row in after.plan.items()} == {
        uri: row["document_id"] for uri, row in before.plan.items()
    }


def test_an_archive_that_unpacks_without_end_stops_the_scan(tmp_path: Path, folder: Path) -> None:
    (folder / "a.warc.gz").write_bytes(packed_archive() + gzip.compress(b"WARC/1.0\r\n" + b" " * 60_000_000))
    with pytest.raises(ConfigurationError, match=r"a\.warc\.gz: the archive unpacks to more than 100 times its size"):
        Scan(tmp_path / "lake", 1, archives(folder), max_archive_ratio=100)


def test_a_page_that_unpacks_without_end_fails_alone(tmp_path: Path, folder: Path) -> None:
    def bomb(writer: WARCWriter) -> None:
        body = gzip.compress(b"<p>" + b" " * 3_000_000)
        capture(writer, "https://example.org/bomb", body, HTML, ("Content-Encoding", "gzip"))
        capture(writer, "https://example.org/a", PAGE, HTML)

    write(folder / "a.warc.gz", bomb, packed=True)
    scan = Scan(tmp_path / "lake", 1, archives(folder), max_bytes=1_000_000)
    assert scan.outcomes == {"https://example.org/a": "ok", "https://example.org/bomb": "too_large"}


def test_real_pages_come_out_of_an_archive_as_they_went_in(shared_data: Path, tmp_path: Path, folder: Path) -> None:
    packed = sorted((shared_data / "boilerplate" / "article-extraction-benchmark" / "html").glob("*.gz"))[:40]
    real = {f"https://example.org/{path.stem}": gzip.decompress(path.read_bytes()) for path in packed}
    assert len(real) == 40
    write(
        folder / "a.warc.gz",
        lambda writer: [capture(writer, url, body, HTML) for url, body in real.items()],
        packed=True,
    )
    scan = Scan(tmp_path / "lake", 1, archives(folder))
    assert {uri: scan.bytes_of(uri) for uri in scan.plan} == real
    assert {scan.row(uri)["media_type"] for uri in real} == {"text/html"}
