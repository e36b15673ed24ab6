"""Documents of every kind of source go through the whole engine, into the index and back out by a search."""

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import fsspec
import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from schemas.names import Cohort, StageName
from tasks.run.configuration import Configuration, parse_configuration
from tests.engine import EngineRun, run_engine
from tests.tasks.fetch.web_server import Reply, Site, serving

BODY = (
    "The gate of {place} opens once the river stands three metres above its mean level. "
    "Two wardens turn the wheel by hand, since the motor was taken out after the flood. "
    "Every opening is written into the book of the station with the hour and the level."
)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


def page(place: str) -> bytes:
    text = BODY.format(place=place)
    head = f"<!DOCTYPE html><html><head><title>The {place} gate</title></head>"
    return f"{head}<body><main><h1>The {place} gate</h1><p>{text}</p></main></body></html>".encode()


def corpus(folder: Path, site: Site) -> Configuration:
    """A document or two in each kind of source, among them one of each that is bad."""
    bucket = f"bucket-{uuid4().hex}"
    fsspec.filesystem("memory").pipe(
        f"/{bucket}/notes/copper.md", b"# Copper gate\n\n" + BODY.format(place="copper").encode()
    )
    fsspec.filesystem("memory").store[f"/{bucket}/notes/copper.md"].created = datetime(2024, 5, 1, tzinfo=UTC)
    with zipfile.ZipFile(folder / "pages.zip", "w") as archive:
        archive.writestr("in/granite.html", page("granite"))
        archive.writestr("../marble.html", page("marble"))
    (folder / "rows").mkdir()
    rows = [
        {"id": "timber", "text": "# Timber gate\n\n" + BODY.format(place="timber")},
        {"id": "timber", "text": "again"},
    ]
    (folder / "rows" / "a.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    (folder / "crawl").mkdir()
    with (folder / "crawl" / "a.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for url, body, status in (
            ("https://example.org/plaster", page("plaster"), "200 OK"),
            ("https://example.org/heino", b"", "404 Not Found"),
        ):
            headers = StatusAndHeaders(status, [("Content-Type", "text/html")], protocol="HTTP/1.1")
            writer.write_record(writer.create_warc_record(url, "response", io.BytesIO(body), http_headers=headers))
    listed = site.on("/concrete", Reply(body=page("concrete"), headers={"Content-Type": "text/html"}))
    site.on("/robots.txt", Reply(body=b"User-agent: *\nDisallow: /kampen\n"))
    entries = "".join(
        f"<url><loc>{url}</loc><lastmod>2024-05-01</lastmod></url>" for url in (listed, site.url + "/kampen")
    )
    sitemap = site.on("/map.xml", Reply(body=f"<urlset>{entries}</urlset>".encode()))
    return parse_configuration(
        {
            "lake": "lake",
            "sources": [
                {"name": "store", "type": "fsspec", "url": f"memory://{bucket}"},
                {"name": "archive", "type": "fsspec", "url": f"zip::file://{folder}/pages.zip"},
                {"name": "rows", "type": "records", "root": "rows", "media_type": "text/markdown"},
                {"name": "crawl", "type": "warc", "root": "crawl"},
                {"name": "site", "type": "http", "sitemaps": [sitemap]},
            ],
            "stages": {"fetch": {"allow_private_addresses": True}},
            "gate": {
                "disabled": ["fetch-success"],  # three of eight fail, as they are meant to
                "expected_quarantine": [
                    {"path": path, "stage": "fetch", "error_class": error, "reason": "meant to fail"}
                    for path, error in (
                        ("../marble.html", "path_escape"),
                        ("a.jsonl.gz#(line 2)", "duplicate_id"),
                        ("**/kampen", "robots_disallowed"),
                    )
                ],
            },
        },
        folder / "corpusgate.yaml",
    )


def texts(run: EngineRun) -> str:
    return " ".join(row["text"] for row in run.live_rows.values())


def test_every_source_reaches_the_index_and_an_unchanged_one_costs_nothing(tmp_path: Path, site: Site) -> None:
    configuration = corpus(tmp_path, site)
    first = run_engine(configuration)
    taken = [
        "notes/copper.md",
        "in/granite.html",
        "a.jsonl.gz#timber",
        "https://example.org/plaster",
        site.url + "/concrete",
    ]
    assert {uri: first.outcome(uri) for uri in first.locations} == dict.fromkeys(taken, ("ok", StageName.INDEX)) | {
        "../marble.html": ("quarantined", StageName.FETCH),
        "a.jsonl.gz#(line 2)": ("quarantined", StageName.FETCH),
        site.url + "/kampen": ("quarantined", StageName.FETCH),
    }
    assert first.verdict.allows_promotion, first.promotion
    for place in ("copper", "granite", "timber", "plaster", "concrete"):
        assert place in texts(first)
    [best] = first.found("gate of plaster", 1, by="keyword")
    assert best["uri"] == "https://example.org/plaster"
    manifest = first.session.runs.manifest(first.session.context.run_id)
    assert manifest["skipped"] == {"crawl": {"status 404": 1}}

    second = run_engine(configuration, measured=False)
    assert "nothing to promote" in second.promotion
    computed = {uri for uri, stages in second.locations.items() if any(row["computed"] for row in stages.values())}
    assert computed.isdisjoint(taken)
    plan = second.session.runs.plan(second.session.context.run_id).to_pylist()
    assert {row["uri"] for row in plan if row["cohort"] == Cohort.UNCHANGED} >= set(taken)
