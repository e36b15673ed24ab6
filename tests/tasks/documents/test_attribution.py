"""Passages verify at the place they come from, and nowhere else."""

import io
import zipfile
from collections import Counter
from pathlib import Path

import pymupdf
import pytest
from rapidfuzz import fuzz

from tasks.documents.attribution import VERIFIED, Attribution, _partial_ratio, attribute
from tasks.documents.raw_text import RawText, UnreadableError, lookup_key, read_raw


@pytest.fixture(scope="module")
def passages(shared_data: Path) -> list[tuple[str, int, RawText]]:
    """(text block of at least 60 key characters by PyMuPDF, its page, PDFium's reading) of real many-page PDFs."""
    found = []
    for path in sorted((shared_data / "tables/icdar2013/competition-dataset-eu").glob("*.pdf")):
        with pymupdf.open(path) as document:
            raw = read_raw(path.read_bytes(), "application/pdf")
            assert raw is not None
            assert len(raw.pages) == len(document)
            if len(document) < 2:
                continue
            for number, page in enumerate(document, start=1):
                blocks = [block[4] for block in page.get_text("blocks") if len(lookup_key(block[4])) >= 60]
                found += [(block, number, raw) for block in blocks[:4]]
    assert len(found) > 150
    return found


def test_the_right_page_verifies(passages: list[tuple[str, int, RawText]]) -> None:
    outcomes = Counter(attribute(text, raw, page_first=page, page_last=page) for text, page, raw in passages)
    assert sum(outcomes[outcome] for outcome in VERIFIED) == len(passages), outcomes


def test_a_wrong_page_does_not_verify(passages: list[tuple[str, int, RawText]]) -> None:
    tried = wrong = 0
    for text, page, raw in passages:
        others = [
            n
            for n in range(1, len(raw.pages) + 1)
            # Running headers really stand on several pages.
            if n != page and fuzz.partial_ratio(lookup_key(text), lookup_key(raw.pages[n - 1])) < 90
        ]
        tried += len(others)
        wrong += sum(attribute(text, raw, page_first=n, page_last=n) in VERIFIED for n in others)
    assert tried > 300
    # Three table captions and column headings whose words stand close together on a neighbouring page too.
    assert wrong <= 3


def test_a_page_that_does_not_exist_fails(passages: list[tuple[str, int, RawText]]) -> None:
    text, _, raw = passages[0]
    beyond = len(raw.pages) + 1
    assert attribute(text, raw, page_first=beyond, page_last=beyond) is Attribution.FAILED


def test_the_probed_window_agrees_with_the_full_partial_ratio(passages: list[tuple[str, int, RawText]]) -> None:
    for text, page, raw in passages[:80]:
        key, page_key = lookup_key(text), lookup_key(raw.pages[page - 1])
        damaged = "".join("q" if i % 40 == 17 else char for i, char in enumerate(key))
        assert (_partial_ratio(damaged, page_key) >= 95) == (fuzz.partial_ratio(damaged, page_key) >= 95)


HTML = b"""<html><head><style>p {}</style><script>var hidden = "<p>not shown</p>";</script></head><body>
<h1>Water board</h1><h2 id="pump">The pump</h2><p>The pump was <b>oi</b>led on Monday &amp; the float was hung.</p>
<!-- <p>an old note that nobody reads</p> --><h2 id="mill">The mill</h2>
<p>The mill was shut for the whole winter.</p></body>"""


@pytest.fixture
def page() -> RawText:
    raw = read_raw(HTML, "text/html")
    assert raw is not None
    return raw


@pytest.mark.parametrize(
    ("text", "anchor", "headings", "expected"),
    [
        ("The pump was oiled on Monday & the float was hung.", "pump", ("Water board", "The pump"), Attribution.EXACT),
        ("The mill was shut for the whole winter.", "pump", ("Water board", "The mill"), Attribution.EXACT),
        ("The pump was oiled on Monday & the float was hung.", "mill", ("Water board",), Attribution.FAILED),
        ("The pump was oiled on Monday & the float was hung.", "gone", (), Attribution.FAILED),
        ("The pump was oiled on Monday & the float was hung.", "pump", ("The mill",), Attribution.FAILED),
        ("on Monday the float was hung & the pump was oiled", "pump", (), Attribution.REORDERED),
        ("an old note that nobody reads", None, (), Attribution.FAILED),
        ("not shown not shown not shown", None, (), Attribution.FAILED),
        ("the whole winter", None, (), Attribution.SHORT),
        ("the whole summer", None, (), Attribution.FAILED),
        ("* * *", None, (), Attribution.NO_LETTERS),
    ],
)
def test_html_passages(
    page: RawText, text: str, anchor: str | None, headings: tuple[str, ...], expected: Attribution
) -> None:
    assert attribute(text, page, anchor=anchor, headings=headings) is expected


def test_a_scan_without_a_text_layer_says_nothing_and_a_blank_page_fails() -> None:
    pixmap = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 40, 40))
    pixmap.clear_with(90)
    with pymupdf.open() as document:
        document.new_page().insert_image(pymupdf.Rect(0, 0, 300, 300), pixmap=pixmap)
        document.new_page()
        raw = read_raw(document.tobytes(), "application/pdf")
    assert raw is not None
    passage = "Twenty letters and some more of them"
    assert attribute(passage, raw, page_first=1, page_last=1) is Attribution.NO_TEXT_LAYER
    assert attribute(passage, raw, page_first=2, page_last=2) is Attribution.FAILED


def test_other_formats_are_read_and_images_are_not() -> None:
    markdown = read_raw(b"# Weir\n\nThe **old** [pump](https://example.org/x) &amp; float", "text/markdown")
    assert markdown is not None
    assert markdown.key == "weirtheoldpumpfloat"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        body = "<w:p><w:r><w:t>The mill</w:t></w:r></w:p><w:p><w:r><w:t>was shut</w:t></w:r></w:p>"
        archive.writestr("word/document.xml", f'<w:document xmlns:w="urn:w"><w:body>{body}</w:body></w:document>')
    office = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    word = read_raw(packed.getvalue(), office)
    assert word is not None
    assert word.pages == ("The mill\nwas shut",)
    assert read_raw(b"\x89PNG", "image/png") is None
    with pytest.raises(UnreadableError):
        read_raw(b"not a PDF", "application/pdf")
    with pytest.raises(UnreadableError):
        read_raw(b"not a zip", office)


FAR_APART = RawText(
    "thefifthlightfestivallasteduntilmayadvertisementnotshowncopyrightbythemuseum",
    (
        "The fifth light festival lasted until May. Advertisement, not shown. "
        + "word " * 90
        + "Copyright by the museum",
    ),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The fifth light festival lasted until May.\n\nCopyright by the museum", Attribution.REORDERED),
        ("The fifth light festival lasted until May.\n\nCopyright by the town", Attribution.FAILED),
        ("until May\n\nby the museum", Attribution.FAILED),
    ],
)
def test_a_passage_with_a_gap_is_looked_up_by_paragraph(text: str, expected: Attribution) -> None:
    assert attribute(text, FAR_APART) is expected


def test_on_a_page_the_second_parser_may_read_the_foot_before_the_heading() -> None:
    raw = RawText("thejournalpage27of312dataforreportingnextpage", ("", ""), page_starts=(0, 37))
    foot = "The Journal, page 27 of 312"
    assert attribute(foot, raw, page_first=1, page_last=1, headings=["Data for reporting"]) is Attribution.EXACT
    assert attribute(foot, raw, page_first=1, page_last=1, headings=["Next page"]) is Attribution.FAILED
