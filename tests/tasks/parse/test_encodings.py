"""Which encoding a file is read in: against html5lib's test vectors and files with wrong declarations."""

from pathlib import Path

import pytest

from tasks.parse.encoding import decode, encoding_of

RUNS_SCRIPTS = b"document.write('<meta charset=\"ISO-8859-' + '2\">')"
"""A test whose declaration is written by a script: no parser of ours runs scripts."""


def vectors(path: Path) -> list[tuple[bytes, str]]:
    """(page, the encoding that a conforming browser chooses) of a file of html5lib's tests."""
    tests = []
    for part in path.read_bytes().split(b"#data\n")[1:]:
        page, _, rest = part.partition(b"\n#encoding\n")
        tests.append((page, rest.split(b"\n")[0].strip().decode()))
    return tests


def test_declared_encodings_are_found_as_a_browser_finds_them(shared_data: Path) -> None:
    """Two of 83 differ on purpose: one needs a script, one declares EUC-JP over bytes that are UTF-8.

    Where nothing is declared a browser takes windows-1252; pages in ASCII, which are the same in both, are UTF-8 here.
    """
    files = sorted((shared_data / "normalize/html5lib-encoding/encoding").rglob("*.dat"))
    checked = 0
    for path in files:
        for page, expected in vectors(path):
            text, found = decode(page, markup=True)
            if RUNS_SCRIPTS in page or path.name == "test-yahoo-jp.dat":
                assert found == "utf-8"
                assert "\ufffd" not in text
                continue
            undeclared = expected.lower() == "windows-1252" and page.isascii()
            assert found == ("utf-8" if undeclared and found == "utf-8" else encoding_of(expected)), page[:200]
            checked += 1
    assert (len(files), checked) == (4, 81)


def test_wrong_declarations_are_seen_through(shared_data: Path) -> None:
    folder = shared_data / "messy/synthetic"
    text, found = decode((folder / "html_declared_latin1_is_utf8.html").read_bytes(), markup=True)
    assert (found, "naïve café – “quoted” €5" in text) == ("utf-8", True)
    text, found = decode((folder / "html_utf8_invalid_bytes.html").read_bytes(), markup=True)
    assert (found, "ok \ufffd\ufffd bad \ufffd( tail" in text) == ("utf-8", True)


def test_a_declaration_below_a_long_head_counts(shared_data: Path) -> None:
    text, found = decode((shared_data / "messy/robustness/tika/big-preamble.html").read_bytes(), markup=True)
    assert (found, "\ufffd" in text) == ("cp1251", False)


@pytest.mark.parametrize(
    ("data", "declared", "encoding", "expected"),
    [
        ("Le café du théâtre à Orléans".encode("cp1252"), "utf-8", "cp1252", "Le café du théâtre à Orléans"),
        ("Über Größe".encode(), "iso-8859-1", "utf-8", "Über Größe"),
        ("水門は自動的に閉じる".encode(), "shift_jis", "utf-8", "水門は自動的に閉じる"),
        ("水門は自動的に閉じる".encode("shift_jis"), "shift_jis", "cp932", "水門は自動的に閉じる"),
        (b"plain words", "utf-16", "utf-8", "plain words"),
        ("plain words".encode("utf-16-le"), "utf-16", "utf-16-le", "plain words"),
    ],
)
def test_what_the_server_names_is_held_against_the_bytes(
    data: bytes, declared: str, encoding: str, expected: str
) -> None:
    assert decode(data, declared=f"text/plain; charset={declared}") == (expected, encoding)
