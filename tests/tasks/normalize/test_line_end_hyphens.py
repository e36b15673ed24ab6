"""Line-end hyphens: those of the word stay, those of the typesetter go."""

import json
from pathlib import Path

import pymupdf
import pypdfium2
import pytest

from tasks.normalize.hyphens import WordForms, hyphenates
from tasks.normalize.settings import NormalizeSettings
from tasks.normalize.text import clean


def cleaned(text: str, elsewhere: str = "", *, soft_breaks: bool = True) -> str:
    forms = WordForms.of([text, elsewhere])
    return clean(text, "paragraph", forms, NormalizeSettings(), soft_breaks=soft_breaks).text


def by_mupdf(path: Path) -> str:
    return "".join(page.get_text() for page in pymupdf.open(path))


def by_pdfium(path: Path) -> str:
    return "".join(page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(path))


@pytest.mark.parametrize("read", [by_mupdf, by_pdfium])
def test_the_public_cases_hold_with_both_readers(cases: Path, read) -> None:
    folder = cases / "21-line-end-hyphens"
    expected = json.loads((folder / "case.json").read_text(encoding="utf-8"))["expect"]["files"]
    for name, expect in expected.items():
        text = cleaned(read(folder / name))
        assert not [part for part in expect.get("text_contains", []) if part not in text], name
        assert not [part for part in expect.get("text_absent", []) if part in text], name


@pytest.mark.parametrize("hyphen", ["-", "\u2010", "\ufffe"])
@pytest.mark.parametrize(
    ("left", "right", "elsewhere", "expected"),
    [
        ("tempera", "ture", "the temperature", "temperature"),
        ("tempera", "ture", "all temperatures", "temperature"),
        ("long", "term", "long-term", "long-term"),
        ("long", "term", "", "long-term"),
        ("n", "hexanol", "", "n-hexanol"),
        ("2-methyl-5", "hexenal", "", "2-methyl-5-hexenal"),
        ("COVID", "19", "", "COVID-19"),
        ("Anglo", "Saxon", "", "Anglo-Saxon"),
        ("Lade", "und", "", "Lade- und"),
        ("pre", "and", "", "pre- and"),
        ("infor", "mation", "", "information"),
        ("Gewässer", "schutz", "", "Gewässerschutz"),
        ("re", "cover", "we re-cover the seat", "re-cover"),
        ("re", "cover", "they recover soon", "recover"),
        ("like-for", "like", "", "like-for-like"),
        ("non-commer", "cial", "", "non-commercial"),
    ],
)
def test_the_document_decides_first_then_the_form_of_the_word(hyphen, left, right, elsewhere, expected) -> None:
    assert cleaned(f"so {left}{hyphen}\n{right}.", elsewhere) == f"so {expected}."


def test_a_soft_hyphen_at_the_line_end_joins_and_a_no_break_hyphen_stays() -> None:
    assert cleaned("a tempera\u00ad\nture of foot\u2011\nball") == "a temperature of foot-ball"


def test_an_address_broken_at_its_hyphen_keeps_it() -> None:
    assert cleaned("see https://example.org/north-\nshore today") == "see https://example.org/north-shore today"


def test_an_authors_own_hyphen_stays_where_nobody_breaks_words() -> None:
    assert cleaned("a foot-\nball", "his foot", soft_breaks=False) == "a foot-ball"
    assert cleaned("an infor-\nmation", soft_breaks=False) == "an information"
    assert cleaned("a foot-\nball", "football", soft_breaks=False) == "a football"


def test_a_program_hyphenates_when_many_lines_end_inside_a_word() -> None:
    assert hyphenates(["one tempera-\nture and\nanother line\nof words"])
    assert not hyphenates(["a line of words\n" * 99 + "mark-\nup"])


def test_a_dash_at_the_line_end_is_no_hyphen() -> None:
    assert cleaned("one -\ntwo") == "one - two"
    assert cleaned("the going train\u2013\nwell") == "the going train\u2013 well"
