"""Sitemaps name the pages of a site and when they changed; a sitemap that cannot be read deletes nothing."""

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import ConfigurationError
from tasks.fetch.sitemaps import lastmod
from tests.tasks.fetch.sources_by_hand import Scan
from tests.tasks.fetch.web_server import Reply, Site, serving

HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n'
SPACE = b'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
QUICK = {"allow_private_addresses": True, "backoff_seconds": 0.0, "max_wait_seconds": 0.0, "retries": 1}


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


def urlset(*entries: tuple[str, str | None]) -> bytes:
    made = b"".join(
        f"<url><loc> {loc}\n</loc>{f'<lastmod>{when}</lastmod>' if when else ''}</url>".encode()
        for loc, when in entries
    )
    return HEAD + b"<urlset " + SPACE + b">" + made + b"</urlset>"


def index(*urls: str) -> bytes:
    made = b"".join(f"<sitemap><loc>{url}</loc><lastmod>2024-01-01</lastmod></sitemap>".encode() for url in urls)
    return HEAD + b"<sitemapindex " + SPACE + b">" + made + b"</sitemapindex>"


def maps(*urls: str, **options: Any) -> dict[str, Any]:
    return {"type": "http", "sitemaps": list(urls)} | options


def test_an_index_leads_to_the_pages_and_their_times(tmp_path: Path, site: Site) -> None:
    a, b, c = (site.on(f"/{name}", Reply(body=f"# {name}".encode())) for name in "abc")
    first = site.on("/first.xml.gz", Reply(body=gzip.compress(urlset((a, "2024-05-01T10:00:00Z"), (b, None)))))
    second = site.on("/second.txt", Reply(body=f"{c}\n{a}\n".encode()))
    top = site.on("/index.xml", Reply(body=index(first, second, site.url + "/index.xml")))
    scan = Scan(tmp_path / "lake", 1, maps(top), **QUICK)
    assert scan.outcomes == {a: "ok", b: "ok", c: "ok"}
    assert scan.plan[a]["commit_time"] == datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert scan.plan[b]["commit_time"] is None
    assert scan.skipped == {"listed before": 1}


def test_a_page_whose_lastmod_stands_still_is_not_asked_for(tmp_path: Path, site: Site) -> None:
    dated = {"Content-Type": "text/html; charset=utf-8", "Last-Modified": "Wed, 15 May 2024 00:00:00 GMT"}
    a, b = (site.on(f"/{name}", Reply(body=f"<p>{name}".encode(), headers=dated)) for name in "ab")
    before = urlset((a, "2024-05-01"), (b, "2024-05-01"))
    after = urlset((a, "2024-05-01"), (b, "2024-05-09"))
    source = maps(site.on("/map.xml", Reply(body=before), Reply(body=after)))
    Scan(tmp_path / "lake", 1, source, **QUICK)
    again = Scan(tmp_path / "lake", 2, source, **QUICK)
    assert (len(site.requests["/a"]), len(site.requests["/b"])) == (1, 2)
    assert again.computed == {b}
    assert again.plan[a]["commit_time"] == datetime(2024, 5, 1, tzinfo=UTC)
    assert again.row(a)["media_type_declared"] == "text/html; charset=utf-8"
    Scan(tmp_path / "lake", 3, source | {"trust_lastmod": False}, **QUICK)
    assert len(site.requests["/a"]) == 2


def test_the_date_of_today_or_of_tomorrow_proves_nothing(tmp_path: Path, site: Site) -> None:
    today = datetime.now(UTC).date().isoformat()
    a = site.on("/a", Reply(body=b"# a"))
    b = site.on("/b", Reply(body=b"# b"))
    source = maps(site.on("/map.xml", Reply(body=urlset((a, today), (b, "2999-01-01")))))
    assert Scan(tmp_path / "lake", 1, source, **QUICK).plan[b]["commit_time"] is None
    Scan(tmp_path / "lake", 2, source, **QUICK)
    assert (len(site.requests["/a"]), len(site.requests["/b"])) == (2, 2)


def test_globs_choose_and_what_is_no_web_address_is_counted(tmp_path: Path, site: Site) -> None:
    a = site.on("/docs/a", Reply(body=b"# a"))
    listed = urlset(
        (a, None), (site.url + "/blog/b", None), (site.url + "/docs/old/c", None), ("mailto:me@example.org", None)
    )
    source = maps(site.on("/map.xml", Reply(body=listed)), include=["**/docs/**"], exclude=["**/old/**"])
    scan = Scan(tmp_path / "lake", 1, source, **QUICK)
    assert set(scan.plan) == {a}
    assert scan.skipped == {"left out by include or exclude": 2, "no web address in a sitemap": 1}


def test_robots_txt_may_name_the_sitemaps(tmp_path: Path, site: Site) -> None:
    a = site.on("/a", Reply(body=b"# a"))
    named = site.on("/map.xml", Reply(body=urlset((a, None))))
    robots = site.on("/robots.txt", Reply(body=f"User-agent: *\nDisallow: /map\n\nsitemap: {named}\n".encode()))
    assert Scan(tmp_path / "lake", 1, maps(robots), **QUICK).outcomes == {a: "ok"}


BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE u [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(9))
    + b"]><urlset><url><loc>http://example.org/&j;</loc></url></urlset>"
)
OUTSIDE = b'<?xml version="1.0"?><!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/hostname">]>' + (
    b"<urlset><url><loc>http://127.0.0.1/&x;</loc></url></urlset>"
)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (urlset(("http://example.org/", None))[:-20], "no well-formed XML"),
        (HEAD + b"<rss><item/></rss>", "no sitemap and no sitemap index"),
        (b"Not found", "neither XML nor a list of URLs"),
        (gzip.compress(b"<urlset/>" * 1000, mtime=0)[:-5], "gzip is damaged or ends early"),
        (gzip.compress(b" " * 60_000_000, mtime=0), "larger than 50 MiB"),
        (b"http://example.org/\n" * 50_001, "more than 50,000 entries"),
    ],
)
def test_a_sitemap_that_cannot_be_read_stops_the_scan(tmp_path: Path, site: Site, body: bytes, said: str) -> None:
    a = site.on("/a", Reply(body=b"# a"))
    url = site.on("/map.xml", Reply(body=urlset((a, "2024-05-01"))), Reply(body=body))
    Scan(tmp_path / "lake", 1, maps(url), **QUICK)
    with pytest.raises(ConfigurationError, match=rf"the sitemap {url} cannot be read: .*{said}") as caught:
        Scan(tmp_path / "lake", 2, maps(url), **QUICK)
    assert "nothing was taken as deleted" in caught.value.remedy


def test_a_sitemap_that_its_server_refuses_stops_the_scan(tmp_path: Path, site: Site) -> None:
    with pytest.raises(ConfigurationError, match="the server answered 503"):
        Scan(tmp_path / "lake", 1, maps(site.on("/map.xml", Reply(status=503))), **QUICK)
    private = QUICK | {"allow_private_addresses": False}
    with pytest.raises(ConfigurationError, match="private, loopback or link-local"):
        Scan(tmp_path / "lake", 2, maps(site.on("/map.xml", Reply(body=urlset()))), **private)


def test_entities_of_a_sitemap_are_not_expanded(tmp_path: Path, site: Site) -> None:
    with pytest.raises(ConfigurationError, match="no well-formed XML"):
        Scan(tmp_path / "lake", 1, maps(site.on("/bomb.xml", Reply(body=BOMB))), **QUICK)
    outside = maps(site.on("/outside.xml", Reply(body=OUTSIDE)))
    assert set(Scan(tmp_path / "lake", 2, outside, **QUICK | {"retries": 0}).plan) == {"http://127.0.0.1/"}


def test_more_urls_than_allowed_stop_the_scan(tmp_path: Path, site: Site) -> None:
    url = site.on("/map.xml", Reply(body=urlset(("http://example.org/a", None), ("http://example.org/b", None))))
    with pytest.raises(ConfigurationError, match="more than 1 URLs"):
        Scan(tmp_path / "lake", 1, maps(url, max_urls=1), **QUICK)


@pytest.mark.parametrize(
    ("stated", "first", "last"),
    [
        ("2024", "2024-01-01T00:00:00+00:00", "2025-01-01T14:00:00+00:00"),
        ("2024-02", "2024-02-01T00:00:00+00:00", "2024-03-01T14:00:00+00:00"),
        ("2024-02-29", "2024-02-29T00:00:00+00:00", "2024-03-01T14:00:00+00:00"),
        ("2024-05-01T19:20+01:00", "2024-05-01T18:20:00+00:00", "2024-05-01T18:20:00+00:00"),
        ("2024-05-01T19:20:30.45Z", "2024-05-01T19:20:30.450000+00:00", "2024-05-01T19:20:30.450000+00:00"),
    ],
)
def test_the_forms_of_w3c_datetime_are_read(stated: str, first: str, last: str) -> None:
    found = lastmod(stated)
    assert found is not None
    assert (found.first.isoformat(), found.last.isoformat()) == (first, last)


@pytest.mark.parametrize("stated", [None, "", "2024-13", "2024-02-30", "last week", "9999-12"])
def test_what_is_no_time_is_none(stated: str | None) -> None:
    assert lastmod(stated) is None
