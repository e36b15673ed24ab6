import pytest

from tasks.parse.encoding import decode
from tasks.parse.markdown import markdown_elements, parse_markdown
from tasks.parse.text import text_elements


def kinds(elements):
    return [(row["kind"], row["level"], row["text"]) for row in elements.rows]


def test_markdown_kinds():
    text = (
        "Title\n=====\n\nA *b* `c`\nsame [line](x).\n\n- one\n\n  more\n  1. two\n- three\n\n```py\nx = 1\n```\n\n"
        "| h1 | h2 |\n|---|---|\n| *a* | b |\n\n> quote\n\n<div>raw <b>html</b></div>\n"
    )
    assert kinds(markdown_elements(text)) == [
        ("heading", 1, "Title"),
        ("paragraph", None, "A b c same line."),
        ("list_item", 1, "one\nmore"),
        ("list_item", 2, "two"),
        ("list_item", 1, "three"),
        ("code", None, "x = 1"),
        ("table", None, "h1\th2\na\tb"),
        ("paragraph", None, "quote"),
        ("paragraph", None, "raw html"),
    ]


def test_markdown_notes_are_footnotes_whatever_they_hold():
    """A note of one word reads like a definition of a link, which says nothing and goes."""
    text = """A claim[^1] with a [link], and another[^long].
[^1]: https://example.org/source
[^long]: Two lines
  of it.

    A second paragraph.

    - item of the note

[link]: https://example.org "title"

Not of the note.

- in a list[^x]

  [^x]: noted
- next

> [^q]: quoted

[^deep]: [^deeper]: words
"""
    assert [(e["kind"], e["level"], e["text"]) for e in markdown_elements(text).rows] == [
        ("paragraph", None, "A claim[^1] with a link, and another[^long]."),
        ("footnote", None, "https://example.org/source"),
        ("footnote", None, "Two lines of it."),
        ("footnote", None, "A second paragraph."),
        ("list_item", 1, "item of the note"),
        ("paragraph", None, "Not of the note."),
        ("list_item", 1, "in a list[^x]"),
        ("footnote", None, "noted"),
        ("list_item", 1, "next"),
        ("footnote", None, "quoted"),
        ("footnote", None, "[^deeper]: words"),
    ]


def test_markdown_notes_in_notes_without_end_harm_nobody():
    (element,) = markdown_elements("[^a]: " * 20_000 + "words").rows
    assert (element["kind"], element["text"].endswith("words")) == ("footnote", True)


def test_markdown_table_html_has_header_cells():
    (table,) = markdown_elements("| h |\n|---|\n| a<b |\n").rows
    assert table["html"] == "<table><tr><th>h</th></tr><tr><td>a&lt;b</td></tr></table>"


def test_front_matter_is_metadata_and_not_text(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("---\ntitle: T\nauthor: [A, B]\ndate: 2024-02-29\n---\n\ntext\n")
    row = parse_markdown(str(path), {}, None, None)
    assert (row["meta_title"], row["meta_authors"], row["meta_published"]) == ("T", ["A", "B"], "2024-02-29")
    assert [element["text"] for element in row["elements"]] == ["text"]


def test_plain_text_is_read_with_care():
    assert kinds(text_elements("Head\n----\ntext\n\n1. Title\n\n* a\n  b\n* c\n\r\n\r\nx\fy")) == [
        ("heading", 2, "Head"),
        ("paragraph", None, "text"),
        ("paragraph", None, "1. Title"),
        ("list_item", 1, "a\nb"),
        ("list_item", 1, "c"),
        ("paragraph", None, "x"),
        ("paragraph", None, "y"),
    ]


@pytest.mark.parametrize(
    ("data", "declared", "expected"),
    [
        ("\ufeffä".encode(), None, "ä"),
        ("ä".encode("utf-16"), None, "ä"),
        ("\ufeffä".encode("utf-16-be"), None, "ä"),
        ("ä€".encode("cp1252"), "text/html; charset=ISO-8859-1", "ä€"),
        (b"<meta charset=windows-1251>" + "Привет".encode("cp1251"), None, "<meta charset=windows-1251>Привет"),
        (b"<meta charset=iso-8859-1>\xc3\xa4", None, "<meta charset=iso-8859-1>ä"),
        (b'<?xml version="1.0" encoding="shift_jis"?>' + "日本".encode("cp932"), None,
         '<?xml version="1.0" encoding="shift_jis"?>日本'),
        (b"<!-- <meta charset=koi8-r> -->\xe4", "text/html; charset=latin1", "<!-- <meta charset=koi8-r> -->ä"),
        (b"caf\xe9 and a \x81 byte", "text/plain; charset=us-ascii", "café and a \x81 byte"),
        (b"mostly \xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6 \xff", None,
         "mostly äöüäöüäöüäö \ufffd"),
    ],
)  # fmt: skip
def test_encodings_as_the_web_reads_them(data, declared, expected):
    assert decode(data, declared=declared, markup=True)[0] == expected
