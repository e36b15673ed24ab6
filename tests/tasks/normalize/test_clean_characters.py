"""What becomes of characters: against Unicode's conformance vectors and ftfy's own cases."""

import json
import unicodedata
from pathlib import Path

import pytest

from tasks.normalize import characters
from tasks.normalize.hyphens import WordForms
from tasks.normalize.mapped import MappedText
from tasks.normalize.settings import NormalizeSettings
from tasks.normalize.text import clean

SETTINGS = NormalizeSettings()
NO_FORMS = WordForms.of([])


def cleaned(text: str, kind: str = "paragraph") -> str:
    return clean(text, kind, NO_FORMS, SETTINGS).text


def composed(text: str) -> str:
    mapped = MappedText(text)
    mapped.apply(characters.composed(text))
    return mapped.text


def test_nfc_conforms_to_the_official_vectors_of_this_unicode_version(shared_data: Path) -> None:
    newer = rows = 0
    lines = (shared_data / "normalize/unicode-data/NormalizationTest.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line[:1] in {"#", "@", ""}:
            continue
        source, nfc, nfd, nfkc, _ = ("".join(chr(int(p, 16)) for p in c.split()) for c in line.split(";")[:5])
        if any(unicodedata.category(c) == "Cn" for c in source + nfc + nfd + nfkc):
            newer += 1
            continue
        rows += 1
        assert composed(source) == composed(nfc) == composed(nfd) == nfc
        assert composed(nfkc) == nfkc
    assert rows > 18_900
    assert newer < 100


@pytest.mark.parametrize("name", ["negative", "in-the-wild", "synthetic", "language-names"])
def test_mojibake_is_repaired_and_look_alikes_stay(shared_data: Path, name: str) -> None:
    path = shared_data / f"normalize/ftfy-cases/tests/test-cases/{name}.json"
    for case in json.loads(path.read_text(encoding="utf-8")):
        expected = case.get("fixed-encoding", case["fixed"])
        assert cleaned(case["original"]) == cleaned(expected), case["label"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e\ufb03cient \ufb02oor", "efficient floor"),
        ("m\u00b2 and \u00bd, x\u2082", "m² and ½, x₂"),
        ("cafe\u0301", "café"),
        ("price:\u00a05\u202f000", "price: 5 000"),
        ("mara@exam\u200bple.org", "mara@example.org"),
        ("de\u00adpot", "depot"),
        ("a\u202eb\u202c", "ab"),
        ("\ufeffstart", "start"),
        ("bell\x07 and\x00 null", "bell and null"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("\U0001f469\u200d\U0001f52c", "\U0001f469\u200d\U0001f52c"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("ab\u200dcd", "abcd"),
        ("\uff21\uff22\uff23\uff11", "ABC1"),
        ("\uff76\uff9e", "\u30ac"),
        ("日本\n語", "日本語"),
        ("two\nlines", "two lines"),
        ("two\r\n\r\nlines ", "two lines"),
        ("non\u2011breaking", "non-breaking"),
    ],
)
def test_characters_come_in_their_plain_form(text: str, expected: str) -> None:
    assert cleaned(text) == expected


def test_code_keeps_its_lines_indents_and_ligatures() -> None:
    code = "def f():\r\n\tif x:\r\n        return 'Ã©  \ufb01'\r\n"
    assert cleaned(code, "code") == "def f():\n\tif x:\n        return 'Ã©  \ufb01'"


def test_code_keeps_every_character_that_prints_or_hides() -> None:
    code = "x = 'cafe\u0301\u00a0\u200b\u202e\u2011' # \uff21\u2028\n\n    y = 1"
    assert cleaned(code, "code") == code
    assert cleaned("\n \nx = 1\x00\n\n", "code") == "x = 1"


@pytest.mark.parametrize("kind", ["table", "paragraph"])
def test_cells_and_prose_lose_what_hides_and_ligatures(kind: str) -> None:
    assert cleaned("\ufb01rst \u202eof\u202c all\u200b", kind) == "first of all"
    assert cleaned("schÃ¶n und gut", kind) == "schön und gut"


def test_tables_keep_rows_and_empty_cells() -> None:
    assert cleaned("Day\tHours \n\t 9\u00a0to  5\n", "table") == "Day\tHours\n\t9 to 5\n"
