"""Reports as pages and as Markdown, over a lake whose figures are worked out by hand."""

import io
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from schemas.measures import MEASURES
from schemas.names import MetricStatus, StageName
from tasks.errors import ConfigurationError
from tasks.figures.catalogue import load_catalogue
from tasks.lake.files import write_table
from tasks.lake.layout import Lake
from tasks.metrics.rows import MetricRows
from tasks.report.figure_lines import HEADLINES
from tasks.report.trace import print_trace, read_trace
from tasks.report.write import write_report
from tests.tasks.report.lake_by_hand import HOSTILE, NEW, OLD, REPORT, lake_by_hand

SHOWN_PATH = "reports/x | `y` <script>alert(1)</script> \\x1b[31m\\u202efdp.exe"
"""The hostile path as a reader must see it: on one line, its control characters written out."""


class _Page(HTMLParser):
    """What a browser would see: the tags, and the text of each table cell."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.headers_without_scope = 0
        self._open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")
            self._open = True
            self.headers_without_scope += tag == "th" and not dict(attrs).get("scope")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            self.cells[-1] += data


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The lake by hand, with the later run's report written."""
    made = lake_by_hand(tmp_path_factory.mktemp("lake"))
    write_report(made, NEW, load_catalogue())
    return made


@pytest.fixture(scope="module")
def page(lake: Lake) -> _Page:
    """The later run's page."""
    return _Page((lake.run(NEW) / "report.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def markdown(lake: Lake) -> str:
    """The later run's Markdown."""
    return (lake.run(NEW) / "report.md").read_text(encoding="utf-8")


def test_a_figure_stands_with_its_items_and_what_live_has(page: _Page, markdown: str) -> None:
    # Report: (3 + 10 missing) / (10 + 10); live had 1 / 10. Two tables of TEDS 1 and 0.5.
    (cell,) = [cell for cell in page.cells if "0.65" in cell and "n 2" in cell and "live 0.1" in cell][:1]
    assert "regressed" in cell
    assert "+0.55" in cell
    assert "1 missing" in cell
    row = next(line for line in markdown.splitlines() if line.startswith("| parse | Tree edit"))
    assert "0.75" in row
    assert "n=2" in row


def test_the_answer_and_the_cause_come_first(markdown: str) -> None:
    assert markdown.startswith("# FAIL: run 20260102t000000-bbbb")
    assert markdown.index("class report: parse (cer, worse by 0.2); then chunk") < markdown.index("## Blocking (2)")
    assert "0 held" not in markdown
    assert "1 held, 3 broken, 1 without data (not judged)" in markdown


def test_the_overview_names_measures_that_the_catalogue_has() -> None:
    catalogue = load_catalogue()
    unknown = [
        (stage, name)
        for stage, names in HEADLINES.items()
        for name in names
        if name not in {metric.id for metric in catalogue.of_stage(stage)}
    ]
    assert HEADLINES.keys() == set(StageName)
    assert unknown == []


def test_what_fails_says_why_and_what_to_do(page: _Page) -> None:
    at = page.cells.index(f"{SHOWN_PATH}{HOSTILE}")
    assert page.cells[at + 1] == "parse"
    assert page.cells[at + 2] == "corruptpage 3 | is <broken>"
    assert page.cells[at + 3] == "export it `again`"
    assert page.cells[at + 4] == "no"


def test_hostile_names_start_no_markup_in_the_page(lake: Lake, page: _Page) -> None:
    assert "script" not in page.tags
    text = (lake.run(NEW) / "report.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_hostile_names_start_no_markup_in_markdown(markdown: str) -> None:
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    page = _Page(rendered)
    assert "script" not in page.tags
    assert SHOWN_PATH in page.cells
    assert "\x1b" not in markdown
    # Every row of the quarantine table has its six cells, whatever stands in them.
    line = next(line for line in markdown.splitlines() if line.startswith(f"| {HOSTILE}"))
    assert line.replace("\\|", "").count("|") == 7


def test_the_page_needs_no_script_and_nothing_from_elsewhere(lake: Lake, page: _Page) -> None:
    text = (lake.run(NEW) / "report.html").read_text(encoding="utf-8")
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
    assert "url(" not in text
    assert page.headers_without_scope == 0


def test_no_text_of_a_document_and_no_place_of_the_source_is_shown(lake: Lake) -> None:
    for name in ("report.html", "report.md"):
        text = (lake.run(NEW) / name).read_text(encoding="utf-8")
        assert "PRIVATE TEXT" not in text
        assert "/secret/place" not in text
        assert "jane-roe" not in text  # the path of a document, as the pii stage left it


def test_worst_documents_and_labels_without_a_document_are_named(page: _Page, markdown: str) -> None:
    assert "reports/q3-[PERSON].pdfdoc-1111" in page.cells
    assert "articles/tide.htmldoc-3333" not in page.cells  # its figure is perfect
    assert "| Labels that name no document | demo 1 text: 2 |" in markdown


def test_a_first_run_has_no_baseline_and_says_so(lake: Lake) -> None:
    page = write_report(lake, OLD, load_catalogue())
    text = page.with_suffix(".md").read_text(encoding="utf-8")
    assert text.startswith("# PASS")
    assert "nothing: no index was live" in text
    assert ", was " not in text


def test_the_report_is_the_same_when_it_is_written_again(lake: Lake) -> None:
    before = (lake.run(NEW) / "report.html").read_bytes()
    write_report(lake, NEW, load_catalogue())
    assert (lake.run(NEW) / "report.html").read_bytes() == before
    assert not list(lake.run(NEW).glob("*.tmp"))


def test_a_verdict_that_was_altered_is_refused(tmp_path: Path) -> None:
    lake = lake_by_hand(tmp_path)
    path = lake.run(NEW) / "verdict.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"fail"', '"pass"'), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="altered"):
        write_report(lake, NEW, load_catalogue())
    path.unlink()
    with pytest.raises(ConfigurationError, match="not judged yet"):
        write_report(lake, NEW, load_catalogue())


def test_evidence_survival_is_drawn_and_its_falls_are_listed(tmp_path: Path) -> None:
    lake = lake_by_hand(tmp_path)
    for stage, kept in (("fetch", None), ("parse", 4), ("boilerplate", 3), ("chunk", 1)):
        rows = MetricRows(StageName(stage))
        if kept is None:
            rows.without_value("evidence_survival", REPORT, MetricStatus.NOT_APPLICABLE, unit_id="tides|1")
        else:
            rows.ratio("evidence_survival", REPORT, kept, 4, unit_id="tides|1")
        path = lake.run(NEW) / "facts" / f"{stage}-evidence.parquet"
        write_table(rows.table(), path, MEASURES)
    text = write_report(lake, NEW, load_catalogue()).read_text(encoding="utf-8")
    # All documents, and the one class. Fetch, where there is no text yet, is no point of the curve.
    assert text.count('<polyline points="0.0,0.0 50.0,25.0 100.0,75.0 "/>') == 2
    markdown = (lake.run(NEW) / "report.md").read_text(encoding="utf-8")
    line = next(line for line in markdown.splitlines() if line.startswith("| report | 1 (0.207 to 1), n=1 |"))
    assert [cell.split()[0] for cell in line.strip("| ").split(" | ")] == ["report", "1", "0.75", "0.25"]
    lines = [line for line in markdown.splitlines() if "tides" in line]
    assert [line.split(" | ")[0] + " " + line.split(" | ")[-1] for line in lines] == [
        "| boilerplate 4 → 3 of 4 |",
        "| chunk 3 → 1 of 4 |",
    ]
    trace = read_trace(lake, NEW, REPORT, load_catalogue())
    console = Console(width=200, record=True, file=io.StringIO())
    print_trace(console, trace, load_catalogue())
    shown = console.export_text()
    assert shown.index("boilerplate") < shown.index("question tides|1, passages 4 → 3 of 4") < shown.index("normalize")
    assert "question tides|1, passages 3 → 1 of 4" in shown
