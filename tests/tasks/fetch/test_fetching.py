"""Documents are taken from files and from the web; what cannot be taken fails alone and says why."""

import gzip
import hashlib
import sys
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import FETCH
from tasks.fetch.connections import is_public
from tasks.fetch.settings import FetchSettings
from tasks.fetch.stage import STAGE
from tasks.lake.raw import RawStore
from tasks.stage import Batch, Failure, Resources, StageOutput

sys.path.insert(0, str(Path(__file__).parent))
from web_server import Reply, Site, serving

PAGE = b"<!DOCTYPE html><title>Pumps</title><p>Serviced once a year."
PAGE_SHA = hashlib.sha256(PAGE).hexdigest()
LOCAL = FetchSettings(allow_private_addresses=True, backoff_seconds=0.0, max_wait_seconds=0.0, retries=2)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture
def resources(tmp_path: Path) -> Resources:
    return Resources(RawStore(tmp_path / "raw"), tmp_path / "cache")


def planned(locator: str, **known: Any) -> dict[str, Any]:
    return {
        "document_id": known.pop("document_id", locator),
        "source": "s",
        "uri": "u",
        "locator": locator,
        "doc_class": "unclassified",
        "tenant": "t",
        "groups": [],
        "cohort": "new",
    } | known


def fetch(
    resources: Resources, *documents: dict[str, Any], settings: FetchSettings = LOCAL, previous: Any = None
) -> StageOutput:
    tables = {} if previous is None else {StageName.FETCH: previous}
    return STAGE.run(Batch(pa.Table.from_pylist(list(documents), schema=DOCUMENTS), tables), settings, resources)


def failure(output: StageOutput) -> tuple[str, bool]:
    [failed] = output.failures
    assert isinstance(failed, Failure)
    assert failed.message
    assert failed.remedy
    assert output.table.num_rows == 0
    return failed.error_class, failed.transient


def test_a_file_becomes_stored_bytes_and_a_row_without_times(tmp_path: Path, resources: Resources) -> None:
    (tmp_path / "page.pdf").write_bytes(PAGE)
    document = planned(
        str(tmp_path / "page.pdf"),
        document_id="d",
        media_type_declared="application/pdf",
        commit_time=datetime(2024, 1, 1, tzinfo=UTC),
    )
    output = fetch(resources, document)
    assert output.table.schema == FETCH
    assert output.table.to_pylist() == [
        {
            "document_id": "d",
            "content_sha": PAGE_SHA,
            "media_type": "text/html",
            "media_type_declared": "application/pdf",
            "size_bytes": len(PAGE),
            "commit_time": None,
            "etag": None,
            "last_modified": None,
            "http_status": None,
            "unchanged": False,
        }
    ]
    assert resources.raw.read(PAGE_SHA) == PAGE
    again = fetch(resources, document | {"previous_content_sha": PAGE_SHA})
    assert again.table.column("unchanged").to_pylist() == [True]


def test_one_bad_file_does_not_stop_the_others_and_keeps_their_order(tmp_path: Path, resources: Resources) -> None:
    for name, data in {"a": b"alpha", "empty": b"", "large": b"x" * 101, "z": b"z" * 100}.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    names = ["z", "missing", "empty", "large", "link", ".", "a"]
    settings = LOCAL.model_copy(update={"max_bytes": 100})
    output = fetch(resources, *(planned(str(tmp_path / n), document_id=n) for n in names), settings=settings)
    assert output.table.column("document_id").to_pylist() == ["z", "a"]
    assert {failed.document_id: (failed.error_class, failed.transient) for failed in output.failures} == {
        "missing": ("unreadable", True),
        "empty": ("empty", False),
        "large": ("too_large", False),
        "link": ("unreadable", True),
        ".": ("not_a_file", False),
    }
    assert set(output.costs) == set(names)
    assert not [failed for failed in output.failures if str(tmp_path) in failed.message]


def test_a_page_is_fetched_with_what_its_server_says(site: Site, resources: Resources) -> None:
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "ETag": '"v1"',
        "Last-Modified": "Tue, 14 Nov 2023 22:13:20 GMT",
        "Date": "Wed, 15 Nov 2023 00:00:00 GMT",
    }
    url = site.on("/a.html", Reply(body=PAGE, headers=headers))
    [row] = fetch(resources, planned(url, document_id="d")).table.to_pylist()
    assert row == {
        "document_id": "d",
        "content_sha": PAGE_SHA,
        "media_type": "text/html",
        "media_type_declared": "text/html; charset=utf-8",
        "size_bytes": len(PAGE),
        "commit_time": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        "etag": '"v1"',
        "last_modified": "Tue, 14 Nov 2023 22:13:20 GMT",
        "http_status": 200,
        "unchanged": False,
    }
    assert resources.raw.read(PAGE_SHA) == PAGE
    [request] = site.requests["/a.html"]
    assert request["user-agent"] == "corpusgate/0.1"
    assert "if-none-match" not in request


def test_a_modification_time_is_never_later_than_the_answer(site: Site, resources: Resources) -> None:
    headers = {"Last-Modified": "Wed, 15 Nov 2073 00:00:00 GMT", "Date": "Wed, 15 Nov 2023 00:00:00 GMT"}
    dated = site.on("/dated", Reply(body=PAGE, headers=headers))
    vague = site.on("/vague", Reply(body=PAGE, headers={"Last-Modified": "last week"}))
    rows = fetch(resources, planned(dated), planned(vague)).table.to_pylist()
    assert [row["commit_time"] for row in rows] == [datetime(2023, 11, 15, tzinfo=UTC), None]


def test_markdown_is_known_by_its_address_when_the_server_says_nothing(site: Site, resources: Resources) -> None:
    url = site.on("/READ%20ME.md?raw=1", Reply(body=b"# Pumps"))
    assert fetch(resources, planned(url)).table.column("media_type").to_pylist() == ["text/markdown"]


def test_an_unchanged_page_costs_no_body_and_keeps_its_row(site: Site, resources: Resources) -> None:
    headers = {"ETag": '"v1"', "Last-Modified": "Tue, 14 Nov 2023 22:13:20 GMT", "Content-Type": "text/html"}
    url = site.on("/a", Reply(body=PAGE, headers=headers), Reply(status=304, headers={"ETag": '"v1"'}))
    other = site.on("/b", Reply(body=b"new"))
    first = fetch(resources, planned(url, document_id="a"))
    second = fetch(resources, planned(other, document_id="b"), planned(url, document_id="a"), previous=first.table)
    assert (
        site.requests["/a"][1].items()
        >= {
            "if-none-match": '"v1"',
            "if-modified-since": "Tue, 14 Nov 2023 22:13:20 GMT",
        }.items()
    )
    expected = first.table.to_pylist()[0] | {"http_status": 304, "unchanged": True}
    assert second.table.to_pylist()[1] == expected
    assert second.table.column("document_id").to_pylist() == ["b", "a"]


@pytest.mark.parametrize(
    ("reply", "expected", "requests"),
    [
        (Reply(status=404), ("not_found", False), 1),
        (Reply(status=410), ("gone", False), 1),
        (Reply(status=403, body=b"secret reason"), ("http_client_error", False), 1),
        (Reply(status=304), ("http_client_error", False), 1),
        (Reply(status=200), ("empty", False), 1),
        (Reply(status=503), ("http_server_error", True), 3),
        (Reply(status=429, headers={"Retry-After": "3600"}), ("http_server_error", True), 3),
        (Reply(body=b"half", cut=True), ("unreachable", True), 3),
        (Reply(body=b"x" * 2001), ("too_large", False), 1),
        (
            Reply(body=gzip.compress(b"x" * 2001, mtime=0), headers={"Content-Encoding": "gzip"}),
            ("too_large", False),
            1,
        ),
        (Reply(body=b"plain words", headers={"Content-Encoding": "gzip"}), ("corrupt", False), 1),
        (Reply(body=b"plain words", headers={"Content-Encoding": "deflate"}), ("corrupt", False), 1),
        (Reply(body=gzip.compress(PAGE)[:-9], headers={"Content-Encoding": "gzip"}), ("truncated", True), 3),
        (Reply(body=gzip.compress(PAGE)[:5], headers={"Content-Encoding": "gzip"}), ("truncated", True), 3),
        (Reply(body=zlib.compress(PAGE)[:-5], headers={"Content-Encoding": "deflate"}), ("truncated", True), 3),
        (Reply(body=PAGE, headers={"Content-Encoding": "br"}), ("corrupt", False), 1),
        (Reply(status=302, headers={"Location": "file:///etc/passwd"}), ("bad_redirect", False), 1),
        (Reply(status=302), ("bad_redirect", False), 1),
        (Reply(status=302, headers={"Location": "/x"}), ("too_many_redirects", False), 11),
    ],
)
def test_a_refusal_says_what_it_is_and_is_tried_again_only_where_that_helps(
    site: Site, resources: Resources, reply: Reply, expected: tuple[str, bool], requests: int
) -> None:
    settings = LOCAL.model_copy(update={"max_bytes": 2000})
    output = fetch(resources, planned(site.on("/x", reply)), settings=settings)
    assert failure(output) == expected
    assert len(site.requests["/x"]) == requests
    assert "secret" not in output.failures[0].message


def test_a_server_that_recovers_is_asked_again(site: Site, resources: Resources) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    url = site.on("/a", Reply(status=503, headers={"Retry-After": soon}), Reply(b"", cut=True), Reply(body=PAGE))
    site.replies["/a"][1] = Reply(body=b"half", cut=True)
    assert fetch(resources, planned(url)).table.column("content_sha").to_pylist() == [PAGE_SHA]


LONG = bytes(2**20 + 100)
"""More than is unpacked at once, and packed so well that nothing is left to be read when its end has been seen."""


@pytest.mark.parametrize(
    ("packed", "name"),
    [
        (gzip.compress(PAGE[:9]) + gzip.compress(PAGE[9:]), "gzip"),
        (gzip.compress(PAGE) + bytes(8), "x-gzip"),
        (zlib.compress(PAGE), "deflate"),
        (zlib.compress(PAGE)[2:-4], "deflate"),
        (zlib.compress(PAGE + LONG)[2:-4], "deflate"),
        (zlib.compress(gzip.compress(PAGE)), "gzip, deflate"),
        (PAGE, "utf-8"),
    ],
)
def test_a_packed_page_is_unpacked(site: Site, resources: Resources, packed: bytes, name: str) -> None:
    url = site.on("/packed", Reply(body=packed, headers={"Content-Encoding": name}))
    (sha,) = fetch(resources, planned(url)).table.column("content_sha").to_pylist()
    assert sha in (PAGE_SHA, hashlib.sha256(PAGE + LONG).hexdigest())


@pytest.mark.parametrize("limit", ["read_seconds", "total_seconds"])
def test_a_slow_server_times_out(site: Site, resources: Resources, limit: str) -> None:
    url = site.on("/slow", Reply(body=PAGE, delay=0.5))
    settings = LOCAL.model_copy(update={limit: 0.1, "retries": 0})
    assert failure(fetch(resources, planned(url), settings=settings)) == ("timeout", True)


def test_a_closed_port_and_an_impossible_host_are_unreachable(site: Site, resources: Resources) -> None:
    for url in ("http://127.0.0.1:9/", f"http://{'label-too-long' * 5}.test/"):
        settings = LOCAL.model_copy(update={"retries": 0})
        assert failure(fetch(resources, planned(url), settings=settings)) == ("unreachable", True)


def test_a_redirect_is_followed_with_its_conditions(site: Site, resources: Resources) -> None:
    url = site.on("/old", Reply(status=301, headers={"Location": "/new"}))
    site.on("/new", Reply(body=PAGE, headers={"ETag": '"n"'}), Reply(status=304))
    first = fetch(resources, planned(url))
    second = fetch(resources, planned(url), previous=first.table)
    assert second.table.to_pylist() == [first.table.to_pylist()[0] | {"http_status": 304, "unchanged": True}]


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"],
)
def test_private_addresses_are_refused_without_a_request(site: Site, resources: Resources, host: str) -> None:
    port = site.url.rpartition(":")[2]
    site.on("/x", Reply(body=PAGE))
    settings = FetchSettings(retries=0, connect_seconds=0.5)
    assert failure(fetch(resources, planned(f"http://{host}:{port}/x"), settings=settings)) == (
        "address_refused",
        False,
    )
    assert site.requests == {}


def test_every_hop_of_a_redirect_is_checked(site: Site, resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    # Loopback stands in for the public Internet, which tests do not reach; all else is as it is.
    monkeypatch.setattr(
        "tasks.fetch.connections.is_public", lambda address: address == "127.0.0.1" or is_public(address)
    )
    url = site.on("/x", Reply(status=302, headers={"Location": "http://127.0.0.2:1/metadata"}))
    assert failure(fetch(resources, planned(url), settings=FetchSettings(retries=0))) == ("address_refused", False)
    assert len(site.requests["/x"]) == 1


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("::ffff:8.8.8.8", True),
        ("172.16.0.1", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_public_addresses_are_those_of_the_registries(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_an_answer_does_not_depend_on_the_documents_asked_for_before(site: Site, resources: Resources) -> None:
    one = site.on("/one", Reply(body=PAGE, headers={"Set-Cookie": "session=1; Path=/"}))
    two = site.on("/two", Reply(body=PAGE))
    fetch(resources, planned(one), planned(two), settings=LOCAL.model_copy(update={"parallel_requests": 1}))
    assert "cookie" not in site.requests["/two"][0]
