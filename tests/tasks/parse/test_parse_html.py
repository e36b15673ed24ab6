import gzip
import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from tasks.parse.elements import Elements
from tasks.parse.html_blocks import add_blocks, parse_tree
from tasks.parse.html_metadata import page_metadata


def blocks(body):
    elements = Elements()
    add_blocks(elements, parse_tree(f"<html><body>{body}</body></html>"))
    return elements.rows


def kinds(body):
    return [(row["kind"], row["level"], row["text"]) for row in blocks(body)]


def test_kinds_and_levels():
    assert kinds(
        "<h2>Title <em>x</em></h2><p>one<br>two</p>bare <b>text</b><ul><li>a<ol><li>b</li></ol></li></ul>"
        "<pre>  x = 1\n  y</pre><figure><img><figcaption>Cap</figcaption></figure><dl><dt>t</dt><dd>d</dd></dl>"
        "<blockquote>quoted</blockquote>"
    ) == [
        ("heading", 2, "Title x"),
        ("paragraph", None, "one\ntwo"),
        ("paragraph", None, "bare text"),
        ("list_item", 1, "a"),
        ("list_item", 2, "b"),
        ("code", None, "  x = 1\n  y"),
        ("caption", None, "Cap"),
        ("list_item", 1, "t"),
        ("list_item", 1, "d"),
        ("paragraph", None, "quoted"),
    ]


def test_a_list_item_of_two_paragraphs_is_one_item():
    assert kinds("<ul><li><p>a</p><p>b</p></li><li><div>c</div></li></ul>") == [
        ("list_item", 1, "a\nb"),
        ("list_item", 1, "c"),
    ]


def test_a_data_table_keeps_spans_and_header_cells():
    (row,) = blocks(
        "<table><thead><tr><th colspan=2>Name <i>x</i></th></tr></thead><tbody><tr><td rowspan=2>a</td><td>1</td></tr>"
        "<tr><td>2<br>3</td></tr></tbody></table>"
    )
    assert row["kind"] == "table"
    assert row["html"] == (
        '<table><tr><th colspan="2">Name x</th></tr><tr><td rowspan="2">a</td><td>1</td></tr>'
        "<tr><td>2 3</td></tr></table>"
    )
    assert row["text"] == "Name x\t\na\t1\n\t2 3"


@pytest.mark.parametrize(
    "table",
    [
        "<table role=presentation><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>",
        "<table><tr><td>a</td><td><ul><li>b</li></ul></td></tr><tr><td>c</td><td>d</td></tr></table>",
        "<table><tr><td><p>a</p><p>b</p></td><td>c</td></tr><tr><td>d</td></tr></table>",
        "<table><tr><td>a</td></tr><tr><td>b</td></tr><tr><td>c</td></tr><tr><td>d</td></tr></table>",
        "<table><tr><td>a</td><td>b<table><tr><td>c</td></tr></table></td></tr><tr><td>d</td></tr></table>",
        "<table><tr><td>a</td><td>b</td><td>c</td><td>d</td></tr></table>",
    ],
)
def test_layout_tables_become_blocks(table):
    rows = blocks(table)
    assert [row["text"] for row in rows] == ["a", "b", "c", "d"]
    assert "table" not in {row["kind"] for row in rows}


def test_only_what_a_reader_can_see_is_kept():
    assert kinds(
        "<script>a</script><style>b</style><template>c</template><noscript>d</noscript><p hidden>e</p>"
        "<div style='color:red; DISPLAY : none'>f</div><p style='visibility:hidden'>g</p><dialog>h</dialog>"
        "<p>seen <span hidden>not</span>too</p><p aria-hidden=true>also</p><nav><a>menu</a></nav>"
    ) == [("paragraph", None, "seen too"), ("paragraph", None, "also"), ("paragraph", None, "menu")]


def test_anchor_is_the_nearest_id():
    rows = blocks(
        "<div id=content><p>before</p><h2 id=s1>One</h2><p>x</p><h2><a name=s2></a>Two</h2><p id=p>y</p><p>z</p></div>"
    )
    assert [row["anchor"] for row in rows] == ["content", "s1", "s1", "s2", "p", "s2"]


def test_section_path_is_the_headings_above():
    rows = blocks("<h1>A</h1><h2>B</h2><p>x</p><h2>C</h2><h3>D</h3><p>y</p><h1>E</h1><p>z</p>")
    assert {row["text"]: row["section_path"] for row in rows} == {
        "A": [], "B": ["A"], "x": ["A", "B"], "C": ["A"], "D": ["A", "C"], "y": ["A", "C", "D"], "E": [], "z": ["E"]
    }  # fmt: skip


def test_formulas_keep_their_source():
    tex = "<annotation encoding='application/x-tex'>x^2</annotation>"
    assert kinds(f"<math display=block><mi>x</mi>{tex}</math><p>where <math><mi>y</mi></math> is</p>") == [
        ("formula", None, "x^2"),
        ("paragraph", None, "where y is"),
    ]


def test_metadata_as_the_page_states_it():
    root = parse_tree(
        "<html lang=de><head><title>Site | T</title><meta name=author content='A. Author'>"
        '<script type="application/ld+json">{"@graph": [{"@type": "Article", "datePublished": "2024-05-01T10:00:00Z",'
        '"dateModified": "2024-06-02", "author": {"name": "B"}}]}</script></head><body><h1>T</h1></body></html>'
    )
    assert page_metadata(root) == {
        "title": "T",
        "authors": ["A. Author"],
        "published": "2024-05-01T10:00:00Z",
        "modified": "2024-06-02",
        "language": "de",
    }


class Words(HTMLParser):
    """The text of a page by the standard library's parser, less what is never shown."""

    def __init__(self):
        super().__init__()
        self.words, self.off = Counter(), []

    def handle_starttag(self, tag, attrs):
        if tag in {"script", "style", "noscript", "template", "title", "svg", "iframe", "select", "textarea", "head"}:
            self.off.append(tag)

    def handle_endtag(self, tag):
        if tag in self.off:
            del self.off[self.off.index(tag) :]

    def handle_data(self, data):
        if not self.off:
            self.words.update(re.findall(r"\w+", data))


def test_nothing_visible_of_real_pages_is_lost(shared_data):
    """Against another parser; pages that hide things by `hidden` or inline styles keep at least their other words."""
    folder = shared_data / "boilerplate" / "article-extraction-benchmark" / "html"
    kept, expected = 0, 0
    for path in sorted(folder.glob("*.html.gz"))[:40]:
        page = gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace")
        elements = Elements()
        add_blocks(elements, parse_tree(page))
        found = Counter(re.findall(r"\w+", "\n".join(row["text"] for row in elements.rows)))
        if re.search(r"display\s*:\s*none|\shidden[\s>=]|<dialog", page, re.IGNORECASE):
            continue
        reference = Words()
        reference.feed(page)
        kept += sum((found & reference.words).values())
        expected += sum(reference.words.values())
    assert expected > 2000
    assert kept / expected > 0.99
