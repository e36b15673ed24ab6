"""One text in many formats comes out as that text, and the second reader finds every passage of it."""

import pytest

from tasks.documents.attribution import VERIFIED, attribute
from tasks.documents.raw_text import read_raw
from tasks.documents.sniff import declared_type, sniff
from tasks.metrics.text_distance import comparison_text, edit_counts
from tests.tasks.parse.stage_by_hand import parse

ERRORS = {
    "lorem-ipsum-pages-09-4.1-923.epub": 0,
    # Twelve words broken at line ends: hyphen and break stay as the page has them, and `normalize` joins them.
    "lorem-ipsum-pages-09-4.1-923.pdf": 24,
    "lorem-ipsum.oo3.2.export-pdfa.pdf": 0,
    "lorem-ipsum.oo3.2.export.pdf": 0,
    "lorem-ipsum.pdf": 0,
    "lorem-ipsum.rtf": 0,
    "lorem-ipsum.oo3.2.odt": 0,
    "lorem-ipsum.docx": 0,
}
"""Characters of 4,459 that differ from the text, after the normalization of `cer`."""


@pytest.fixture(scope="module")
def variations(shared_data):
    return shared_data / "messy" / "format-variations"


@pytest.fixture(scope="module")
def parsed(variations):
    paths = [path for path in variations.rglob("*.*") if path.is_file() and path.suffix not in (".md", ".txt")]
    rows, failures = parse(*paths)
    return {path.name: path for path in paths}, rows, failures


def test_the_texts_agree_with_the_reference(variations, parsed):
    _, rows, _ = parsed
    expected = comparison_text((variations / "lorem-ipsum.txt").read_text(encoding="utf-8"))
    distances = {
        name: edit_counts(expected, comparison_text("\n".join(e["text"] for e in rows[name]["elements"]))).distance
        for name in ERRORS
    }
    assert distances == ERRORS


def test_the_old_word_format_is_refused_with_what_to_do(parsed):
    _, _, failures = parsed
    old = [failure for name, failure in failures.items() if name.endswith(".doc")]
    assert [failure.error_class for failure in old] == ["unsupported_type"] * 2
    assert all("soffice --convert-to docx" in failure.remedy for failure in old)


def test_every_passage_is_found_by_the_second_reader(parsed):
    paths, rows, _ = parsed
    for name in ERRORS:
        data = paths[name].read_bytes()
        raw = read_raw(data, sniff(data, declared_type(name)))
        for e in rows[name]["elements"]:
            found = attribute(e["text"], raw, page_first=e["page"], page_last=e["page"], headings=e["section_path"])
            assert found in VERIFIED, (name, e)
