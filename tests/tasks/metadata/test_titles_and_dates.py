"""Titles and dates of documents, chosen among what is declared and what stands on the page."""

import gzip
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import jiwer
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents import DOCUMENTS
from schemas.stages import FETCH, LANGUAGE, NORMALIZE, PARSE, PII
from tasks.documents.cage import CageLimits
from tasks.documents.titles import choose_title
from tasks.gold.kinds import MetadataLabel
from tasks.gold.labels import NO_LABELS, BoundLabel, Labels
from tasks.metadata.dates import page_date, stated_date
from tasks.metadata.evaluator import title_similarity
from tasks.metadata.settings import MetadataSettings
from tasks.metadata.stage import STAGE, run
from tasks.stage import Batch, Evidence, Resources
from tests.raw_bytes import OneRawFile

LATEST = date(2035, 12, 31)
PAGE = "<html><head><title>x</title>{}</head><body><article><h1>T</h1>{}<p>{}</p></article>{}</body></html>"
BODY = "We counted mosses on forty dry stone walls between the two valleys, and old mortar made no difference."


@pytest.fixture
def described(tmp_path: Path) -> Callable[..., tuple[dict[str, Any], Batch, pa.Table]]:
    """Runs the stage on one document."""

    def make(
        data: bytes = b"", text: str = "Heading\n\nText", media_type: str = "text/html", title: str = "", **parsed: Any
    ) -> tuple[dict[str, Any], Batch, pa.Table]:
        heading = text.partition("\n\n")[0]
        element = {"element_id": 0, "kind": "heading", "level": 1, "text": heading, "section_path": []}
        rows = {
            FETCH: {"content_sha": "c", "media_type": media_type, "size_bytes": len(data), "unchanged": False},
            PARSE: {
                "parser": "p", "parser_version": "1", "pages": 1, "pages_without_output": [], "meta_authors": [],
                "elements": [element],
            } | parsed,
            NORMALIZE: {
                "text": text, "elements": [{"element_id": 0, "start": 0, "end": len(heading)}], "offsets": [],
            },
            LANGUAGE: {"language": "en", "confidence": 1.0, "model": "m"},
            PII: {
                "coverage": "model", "spans": [], "text": text,
                "fields": [
                    {"name": "uri", "value": "a/[EMAIL].html", "types": ["EMAIL"]},
                    {"name": "title", "value": title, "types": []},
                    {"name": "author", "value": " Ada  Moor ", "types": []},
                    {"name": "author", "value": "admin", "types": []},
                ],
            },
        }  # fmt: skip
        document = {
            "document_id": "d", "source": "s", "uri": "u", "locator": "l", "doc_class": "x", "tenant": "t",
            "groups": ["g"], "content_sha": "c", "cohort": "new",
        }  # fmt: skip
        tables = {
            name: pa.Table.from_pylist([{"document_id": "d"} | row], schema=schema)
            for name, (schema, row) in zip(STAGE.reads, rows.items(), strict=True)
        }
        batch = Batch(pa.Table.from_pylist([document], schema=DOCUMENTS), tables)
        (tmp_path / "bytes").write_bytes(data)
        output = run(batch, MetadataSettings(), Resources(raw=OneRawFile(tmp_path / "bytes"), cache_dir=tmp_path))
        return output.table.to_pylist()[0], batch, output.table

    return make


@pytest.mark.parametrize("name", ["reservoir.html", "ice.html", "moss.html"])
def test_the_date_on_a_page_is_that_of_publication(cases: Path, name: str) -> None:
    folder = cases / "33-page-dates"
    expected = json.loads((folder / "case.json").read_text())["expect"]["files"][name]
    html = (folder / name).read_bytes()
    # What a parser reads in JSON-LD is declared; without it the visible note must give the same day.
    assert page_date(html, LATEST) == date.fromisoformat(expected["date"])


@pytest.mark.parametrize(
    ("head", "top", "foot"),
    [
        ("", "<p>Received 3 October 2020. Accepted 28 April 2022.</p>", ""),
        ("", "<p>Last updated: 3 May 2021</p>", ""),
        ('<script>var c = {"starts": "2019-02-01", "expires": "2029-09-30"}</script>', "", ""),
        ("", "", "<footer>© 2026 Water board</footer>"),
        ("", "<!-- 2018-03-04 -->", ""),
    ],
)
def test_other_dates_are_not_taken_for_publication(head: str, top: str, foot: str) -> None:
    assert page_date(PAGE.format(head, top, BODY, foot).encode(), LATEST) is None
    posted = top + "<p>Posted 5 March 2021</p>"
    assert page_date(PAGE.format(head, posted, BODY, foot).encode(), LATEST) == date(2021, 3, 5)


def test_dates_of_labelled_pages_agree_with_the_published_level(shared_data: Path) -> None:
    folder = shared_data / "metadata/htmldate-eval"
    gold = json.loads((folder / "eval_default.json").read_text())
    right = 0
    for label in gold.values():
        found = page_date(gzip.decompress((folder / "html" / (label["file"] + ".gz")).read_bytes()), LATEST)
        right += found is not None and found.isoformat() == label["date"]
    assert len(gold) == 111
    # htmldate 1.11 by itself: 100; it also takes dates out of scripts and notes, which is refused here.
    assert right >= 97


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Date: 2023-05-12", date(2023, 5, 12)),
        ("Published on May 12, 2023", date(2023, 5, 12)),
        ("Veröffentlicht am 12. März 2023", date(2023, 3, 12)),
        ("Issued: 1.2.2023", date(2023, 2, 1)),
        ("Published: 31 February 2023", None),
        ("The order was issued by the board on Monday", None),
    ],
)
def test_a_date_stated_in_a_text(text: str, expected: date | None) -> None:
    assert stated_date(text, LATEST) == expected


def test_the_creation_date_of_a_pdf_is_no_publication(described: Callable[..., Any]) -> None:
    made, _, _ = described(media_type="application/pdf", meta_published="2020-01-01")
    assert made["published"] is None
    made, _, _ = described(text="Report\n\nPublished: 3 May 2021", media_type="application/pdf")
    assert made["published"] == date(2021, 5, 3)
    made, _, _ = described(
        media_type="text/markdown", meta_published="2020-01-01", meta_modified="2020-02-01T00:00:00Z"
    )
    assert (made["published"], made["modified"]) == (date(2020, 1, 1), date(2020, 2, 1))


def test_a_row_holds_redacted_fields_and_the_access_scope(described: Callable[..., Any]) -> None:
    made, _, _ = described(title="Heading | Site")
    assert (made["title"], made["authors"], made["uri"]) == ("Heading", ["Ada Moor"], "a/[EMAIL].html")
    assert (made["tenant"], made["groups"], made["language"]) == ("t", ["g"], "en")
    assert made["sections"] == [{"level": 1, "title": "Heading", "page": None}]


@pytest.mark.parametrize(
    ("declared", "heading", "expected"),
    [
        ("Microsoft Word - minutes.doc", "Minutes of May", "Minutes of May"),
        ("Microsoft Word - Minutes of May", "Agenda", "Minutes of May"),
        ("report final v2.pdf", "Report", "Report"),
        ("untitled", None, None),
        ("Canal News: Ice on the canal", "Ice on the canal", "Ice on the canal"),
        ("Ice on the canal - Canal News - Home", "ICE ON THE CANAL", "Ice on the canal"),
        ("Ice on the canal - a report", "Contents", "Ice on the canal - a report"),
        (None, " Ice\non the canal ", "Ice on the canal"),
        ("", None, None),
    ],
)
def test_titles(declared: str | None, heading: str | None, expected: str | None) -> None:
    assert choose_title(declared, heading) == expected


@given(st.text("abcd", min_size=1, max_size=30), st.text("abcd", max_size=30))
def test_the_similarity_of_titles_follows_from_the_edits_of_jiwer(one: str, other: str) -> None:
    edits = jiwer.process_characters(one, other)
    distance = edits.substitutions + edits.deletions + edits.insertions
    assert title_similarity(one, other) == pytest.approx(1 - distance / max(len(one), len(other)))


def test_gold_figures(described: Callable[..., Any]) -> None:
    _, batch, output = described(title="Heading of a page", media_type="text/plain")
    label = MetadataLabel(title="Heading of a pages", authors=("Moor, Ada", "B. C."), published="2020-01-01")
    labels = Labels("v1", {("d", "metadata"): BoundLabel.of(label, "c", stale=False)})
    rows = STAGE.evaluate(Evidence(batch, output, labels, {}, OneRawFile(Path())), MetadataSettings()).to_pylist()
    figures = {row["metric"]: (row["value"], row["status"]) for row in rows}
    assert figures == {
        "title_present": (1.0, "ok"),
        "date_present": (0.0, "ok"),
        "date_search_failed": (None, "not_applicable"),
        "entities_unread": (None, "not_applicable"),
        "title_exact": (0.0, "ok"),
        "title_similarity": (pytest.approx(1 - 1 / 18), "ok"),
        "author_precision": (1.0, "ok"),
        "author_recall": (0.5, "ok"),
        "author_f1": (pytest.approx(2 / 3), "ok"),
        "date_accuracy": (0.0, "missing"),
    }


def test_a_long_run_of_blanks_is_searched_at_once(described: Callable[..., Any]) -> None:
    row, _, _ = described(data=b"<html><body><p>Received" + b" " * 400_000 + b"today</p></body></html>")
    assert row["published"] is None


def test_a_page_that_is_searched_for_too_long_goes_on_without_a_date(
    described: Callable[..., Any], tmp_path: Path
) -> None:
    _, batch, _ = described()
    page = tmp_path / "links.html"
    entries = "".join(f'<li><a href="/a/{i}">Entry number {i} here</a></li>' for i in range(400_000))
    page.write_text(f"<html><body><ul>{entries}</ul></body></html>")
    settings = MetadataSettings(limits=CageLimits(seconds_per_document=1))
    output = run(batch, settings, Resources(raw=OneRawFile(page), cache_dir=tmp_path))
    (row,) = output.table.to_pylist()
    assert (row["title"], row["published"], row["date_search"]) == ("Heading", None, "timeout")
    assert (output.failures, set(output.partial)) == ((), {"d"})
    assert output.costs["d"].seconds >= 1
    assert search_failures(batch, output.table) == [(1.0, "ok")]


def test_a_search_that_ends_has_not_failed_and_only_pages_without_a_date_are_searched(
    described: Callable[..., Any],
) -> None:
    row, batch, output = described(data=PAGE.format("", "", BODY, "").encode())
    assert (row["published"], row["date_search"]) == (None, "done")
    assert search_failures(batch, output) == [(0.0, "ok")]
    row, batch, output = described(meta_published="2020-02-03")
    assert (row["published"], row["date_search"]) == (date(2020, 2, 3), None)
    assert search_failures(batch, output) == [(None, "not_applicable")]


def search_failures(batch: Batch, output: pa.Table) -> list[tuple[float | None, str]]:
    """Value and status of `date_search_failed`."""
    rows = STAGE.evaluate(Evidence(batch, output, NO_LABELS, {}, OneRawFile(Path())), MetadataSettings()).to_pylist()
    return [(row["value"], row["status"]) for row in rows if row["metric"] == "date_search_failed"]
