"""What a server's robots.txt asks is kept to, and nobody is asked more often than it wants."""

import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tasks.fetch.manners import Pace
from tests.tasks.fetch.sources_by_hand import Scan
from tests.tasks.fetch.web_server import Reply, Site, serving

QUICK = {"allow_private_addresses": True, "backoff_seconds": 0.0, "max_wait_seconds": 0.0, "retries": 1}


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


def pages(*urls: str) -> dict[str, Any]:
    return {"type": "http", "urls": list(urls)}


RULES = b"""\
User-agent: corpusgate
Disallow: /private/
Allow: /

User-agent: *
Disallow: /
"""


def test_what_robots_txt_forbids_is_not_asked_for(tmp_path: Path, site: Site) -> None:
    site.on("/robots.txt", Reply(body=RULES))
    a, b = site.on("/open", Reply(body=b"# a")), site.on("/private/b", Reply(body=b"# b"))
    hop = site.on("/hop", Reply(status=302, headers={"Location": "/private/b"}))
    scan = Scan(tmp_path / "lake", 1, pages(a, b, hop), **QUICK)
    assert len(scan.session.batches()) == 3
    assert scan.outcomes == {a: "ok", b: "robots_disallowed", hop: "robots_disallowed"}
    assert "/private/b" not in site.requests
    assert len(site.requests["/robots.txt"]) == 1
    other = Scan(tmp_path / "other", 1, pages(a), **QUICK, user_agent="somebody/1.0")
    assert other.outcomes == {a: "robots_disallowed"}
    ignoring = Scan(tmp_path / "third", 1, pages(b), **QUICK, robots="ignore")
    assert ignoring.outcomes == {b: "ok"}


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(status=404), "ok"),
        (Reply(status=403), "ok"),
        (Reply(body=b"\xff\xfe not a robots file <html>"), "ok"),
        (Reply(status=503), "http_server_error"),
        (Reply(status=302, headers={"Location": "/robots.txt"}), "ok"),
        (Reply(body=b"User-agent: *\nDisallow: /\n" + b"#" * 600_000), "robots_disallowed"),
    ],
)
def test_a_robots_txt_that_cannot_be_had_allows_or_forbids_as_rfc_9309_says(
    tmp_path: Path, site: Site, reply: Reply, outcome: str
) -> None:
    site.on("/robots.txt", reply)
    a = site.on("/a", Reply(body=b"# a"))
    assert Scan(tmp_path / "lake", 1, pages(a), **QUICK).outcomes == {a: outcome}


def test_each_turn_comes_after_the_gap_whoever_asks() -> None:
    pace = Pace()
    waits: list[float] = []
    asking = [threading.Thread(target=lambda: waits.append(pace.wait("http://example.org/a", 0.05))) for _ in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert sum(wait > 0 for wait in waits) == 3
    assert pace.wait("http://example.net/", 5.0) == 0.0


def test_a_pause_that_a_server_asks_for_holds_for_every_request_to_it() -> None:
    pace = Pace()
    pace.hold("http://example.org/a", 0.05)
    assert pace.wait("http://example.org/b", 0.0) > 0
    assert pace.wait("http://example.org/b", 0.0) == 0.0


def test_a_crawl_delay_is_kept_up_to_the_limit(tmp_path: Path, site: Site) -> None:
    site.on("/robots.txt", Reply(body=b"User-agent: *\nCrawl-delay: 3600\n"))
    urls = [site.on(f"/{name}", Reply(body=b"# a")) for name in "abc"]
    Scan(tmp_path / "lake", 1, pages(*urls), **QUICK, max_crawl_delay_seconds=0.1)
    times = sorted(when for name in "abc" for when in site.times[f"/{name}"])
    assert all(later - earlier > 0.09 for earlier, later in pairwise(times))


def test_a_server_that_asks_to_wait_is_asked_again_once_it_may_be(tmp_path: Path, site: Site) -> None:
    a = site.on("/a", Reply(status=429, headers={"Retry-After": "1"}), Reply(body=b"# a"))
    scan = Scan(tmp_path / "lake", 1, pages(a), **QUICK | {"max_wait_seconds": 5.0})
    assert scan.outcomes == {a: "ok"}
    first, second = site.times["/a"]
    assert second - first > 0.95


def test_a_body_without_end_is_cut_off_at_the_limit(tmp_path: Path, site: Site) -> None:
    a = site.on("/a", Reply(body=b"x" * 1000, endless=True))
    assert Scan(tmp_path / "lake", 1, pages(a), **QUICK, max_bytes=100_000).outcomes == {a: "too_large"}


def test_a_body_that_drips_is_given_up_at_the_limit_of_time(tmp_path: Path, site: Site) -> None:
    a = site.on("/a", Reply(body=b"x", endless=True, delay=0.05))
    outcomes = Scan(tmp_path / "lake", 1, pages(a), **QUICK | {"retries": 0}, total_seconds=0.4).outcomes
    assert outcomes == {a: "timeout"}


def test_headers_that_drip_are_given_up_as_well(tmp_path: Path, site: Site) -> None:
    a = site.on("/a", Reply(headers={f"X-{i}": "x" for i in range(100)}, delay=0.05, slow_headers=True))
    outcomes = Scan(tmp_path / "lake", 1, pages(a), **QUICK | {"retries": 0}, total_seconds=0.4).outcomes
    assert outcomes == {a: "timeout"}
