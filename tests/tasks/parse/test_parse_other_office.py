"""OpenDocument, RTF and EPUB."""

import zipfile

import pytest
from odfdo import Document, Header, List, Paragraph, Table

from tasks.documents.attribution import VERIFIED, attribute
from tasks.documents.raw_text import read_raw
from tasks.documents.sniff import EPUB, ODT, RTF
from tests.tasks.parse.stage_by_hand import parse

CONTAINER = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
BOOK = """<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The weir</dc:title>
<dc:creator>Ann Sample</dc:creator><dc:creator>Bo Mock</dc:creator><dc:date>2021-03</dc:date>
<dc:language>en</dc:language></metadata><manifest>
<item id="two" href="two.xhtml" media-type="application/xhtml+xml"/>
<item id="cover" href="cover.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/one%20a.xhtml" media-type="application/xhtml+xml"/>
<item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/>
</manifest><spine><itemref idref="cover"/><itemref idref="one"/><itemref idref="two"/><itemref idref="gone"/></spine>
</package>"""


def book(path, **more):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OPS/book.opf", BOOK)
        archive.writestr("OPS/cover.xhtml", "<html><body><img src='cover.png'/></body></html>")
        archive.writestr(
            "OPS/text/one a.xhtml", "<html><body><h1 id='a'>One</h1><p>The first chapter.</p></body></html>"
        )
        archive.writestr("OPS/two.xhtml", "<html><body><h1 id='a'>Two</h1><p>The second chapter.</p></body></html>")
        for name, content in more.items():
            archive.writestr(name, content)
    return path


def test_a_book_is_read_in_the_order_of_its_spine(tmp_path):
    rows, failures = parse(book(tmp_path / "weir.epub"))
    assert failures == {}
    row = rows["weir.epub"]
    assert [(e["page"], e["kind"], e["text"], e["section_path"]) for e in row["elements"]] == [
        (2, "heading", "One", []),
        (2, "paragraph", "The first chapter.", ["One"]),
        (3, "heading", "Two", []),
        (3, "paragraph", "The second chapter.", ["Two"]),
    ]
    assert (row["pages"], row["pages_without_output"]) == (4, [4])
    assert (row["meta_title"], row["meta_authors"], row["meta_published"], row["meta_language"]) == (
        "The weir", ["Ann Sample", "Bo Mock"], "2021-03", "en"
    )  # fmt: skip
    raw = read_raw((tmp_path / "weir.epub").read_bytes(), EPUB)
    for e in row["elements"]:
        found = attribute(e["text"], raw, page_first=e["page"], page_last=e["page"], headings=e["section_path"])
        assert found in VERIFIED, e


def test_a_book_under_drm_is_named_as_such(tmp_path):
    locked = '<encryption><CipherReference URI="OPS/two.xhtml"/></encryption>'
    fonts = '<encryption><CipherReference URI="OPS/font.otf"/></encryption>'
    rows, failures = parse(
        book(tmp_path / "locked.epub", **{"META-INF/encryption.xml": locked}),
        book(tmp_path / "fonts.epub", **{"META-INF/encryption.xml": fonts}),
    )
    assert rows.keys() == {"fonts.epub"}
    assert failures["locked.epub"].error_class == "encrypted"


@pytest.fixture
def opendocument(tmp_path):
    document = Document("text")
    document.body.clear()
    document.meta.title = "The weir"
    document.body.append(Header(1, "Chapter one"))
    mixed = Paragraph("Plain with boldness.")
    mixed.set_span("Strong", regex="bold")
    document.body.append(mixed)
    document.body.append(Header(2, "Pumps"))
    document.body.append(List(["first pump", "second pump"]))
    table = Table("T", width=3, height=2)
    for y in range(2):
        for x in range(3):
            table.set_value((x, y), f"r{y}c{x}")
    table.set_span((0, 0, 1, 0))
    document.body.append(table)
    noted = Paragraph("A sentence with a note here.")
    noted.insert_note(after="note", note_id="n1", citation="1", body="The words of the footnote.")
    document.body.append(noted)
    document.save(tmp_path / "weir.odt")
    return tmp_path / "weir.odt"


def test_opendocument_keeps_outline_spaces_spans_and_notes(opendocument):
    rows, _ = parse(opendocument)
    row = rows["weir.odt"]
    assert [(e["kind"], e["level"], e["text"]) for e in row["elements"]] == [
        ("heading", 1, "Chapter one"),
        ("paragraph", None, "Plain with boldness."),
        ("heading", 2, "Pumps"),
        ("list_item", 1, "first pump"),
        ("list_item", 1, "second pump"),
        ("table", None, "r0c0\t\tr0c2\nr1c0\tr1c1\tr1c2"),
        ("paragraph", None, "A sentence with a note here."),
        ("footnote", None, "The words of the footnote."),
    ]
    assert '<th colspan="2">r0c0</th>' in row["elements"][5]["html"]
    assert row["meta_title"] == "The weir"
    raw = read_raw(opendocument.read_bytes(), ODT)
    # The second reader has the note's number in the middle of the sentence; it still finds the words.
    for element in row["elements"]:
        assert attribute(element["text"], raw, headings=element["section_path"]) in VERIFIED, element


RICH = rb"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}}
{\info{\title The weir}{\author Ann Sample}{\creatim\yr2021\mo3\dy7\hr9}}{\*\generator nobody;}
\f0 Caf\'e9 by the w\b ei\b0 r costs 5 \u8364?.\par {\f1 \'d0\'e5\'ea\'e0}\par
\trowd\cellx100\cellx200\intbl Name\cell Price\cell\row\intbl Ball\cell 17\cell\row\pard After the table.\par}"""


def test_rich_text_has_paragraphs_tables_and_what_it_declares(tmp_path):
    (tmp_path / "weir.rtf").write_bytes(RICH)
    rows, failures = parse(tmp_path / "weir.rtf")
    assert failures == {}
    row = rows["weir.rtf"]
    assert [(e["kind"], e["text"]) for e in row["elements"]] == [
        ("paragraph", "Café by the weir costs 5 €."),
        ("paragraph", "Река"),
        ("table", "Name\tPrice\nBall\t17"),
        ("paragraph", "After the table."),
    ]
    assert (row["meta_title"], row["meta_authors"], row["meta_published"]) == ("The weir", ["Ann Sample"], "2021-03-07")
    raw = read_raw(RICH, RTF)
    assert raw.key == "cafébytheweircosts5рекаnamepriceball17afterthetable"
