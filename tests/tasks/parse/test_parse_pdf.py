import pymupdf
import pytest
from fpdf import FPDF

from tasks.documents.cage_worker import Pages
from tasks.documents.raw_text import lookup_key, read_raw
from tasks.parse.pdf import parse_pdf
from tasks.parse.settings import ParseSettings

LOREM = "The quick brown fox jumps over the lazy dog and runs along the river until the evening comes. "


def parse(path, tables="auto", skip=()):
    settings = ParseSettings(tables=tables).model_dump(mode="json", exclude={"limits"})
    return parse_pdf(str(path), settings, None, Pages(lambda page: None, list(skip)))


def kinds(row):
    return [(element["kind"], element["level"], element["text"]) for element in row["elements"]]


@pytest.fixture
def pdf():
    document = FPDF(format="A4")
    document.set_font("helvetica", size=11)
    document.add_page()
    return document


def test_headings_by_size_and_weight_and_lists(pdf, tmp_path):
    def line(text, size=11, style=""):
        pdf.set_font("helvetica", style, size)
        pdf.multi_cell(0, size * 0.5, text, new_x="LMARGIN", new_y="NEXT")
        pdf.ln(4)

    line("Annual report", 22)
    line(LOREM * 3)
    line("Results", 16)
    line(LOREM * 2)
    line("Details of the year", 11, "B")
    line(LOREM)
    line("- first thing")
    line("- second thing")
    line("Figure 1: A chart of the year")
    pdf.output(tmp_path / "a.pdf")
    row = parse(tmp_path / "a.pdf")
    found = kinds(row)
    assert [entry for entry in found if entry[0] != "paragraph"] == [
        ("heading", 1, "Annual report"),
        ("heading", 2, "Results"),
        ("heading", 3, "Details of the year"),
        ("list_item", 1, "first thing"),
        ("list_item", 1, "second thing"),
        ("caption", None, "Figure 1: A chart of the year"),
    ]
    paragraphs = [text for kind, _, text in found if kind == "paragraph"]
    assert [" ".join(text.split()) for text in paragraphs] == [(LOREM * n).strip() for n in (3, 2, 1)]
    assert "\n" in paragraphs[0]
    assert row["elements"][3]["section_path"] == ["Annual report", "Results"]


def test_two_columns_are_read_one_after_the_other(pdf, tmp_path):
    """Lines are written row by row across both columns, so the order of the file is the wrong one."""
    pdf.set_font("helvetica", size=10)
    pdf.text(20, 20, "A title that spans both of the columns of this page and stands above them all")
    for i in range(30):
        pdf.text(20, 35 + 5 * i, f"left column line {i:02d} goes on and on")
        pdf.text(110, 35 + 5 * i, f"right column line {i:02d} goes on and on")
    pdf.output(tmp_path / "columns.pdf")
    text = "\n".join(element["text"] for element in parse(tmp_path / "columns.pdf")["elements"])
    expected = [f"{side} column line {i:02d}" for side in ("left", "right") for i in range(30)]
    places = [text.index(words) for words in ["A title that spans", *expected]]
    assert places == sorted(places)


def test_two_columns_with_formulas_are_read_one_after_the_other(pdf, tmp_path):
    """Formulas are more runs than the sentences between them: columns are told by the characters."""
    pdf.set_font("helvetica", size=9)
    for column, name in enumerate(("left", "right")):
        x = 20 + 95 * column
        for row in range(4):
            y = 30 + 40 * row
            for i, run in enumerate(("a", "2", "b", "2", "c", "x", "y", "z")):
                pdf.text(x + 6 * i, y + (i % 2), run)
            pdf.text(x, y + 8, f"Paragraph {row} of the {name} column begins here")
            pdf.text(x, y + 13, "and goes on for one more line of the page.")
    pdf.output(tmp_path / "formulas.pdf")
    text = "\n".join(element["text"] for element in parse(tmp_path / "formulas.pdf", tables="none")["elements"])
    places = [text.index(f"Paragraph {row} of the {name}") for name in ("left", "right") for row in range(4)]
    assert places == sorted(places)


def test_formulas_and_sentences_in_larger_type_are_no_headings(pdf, tmp_path):
    def line(text, size):
        pdf.set_font("helvetica", size=size)
        pdf.multi_cell(0, size * 0.5, text, new_x="LMARGIN", new_y="NEXT")
        pdf.ln(6)

    sentence = "The results of this section hold for every ring with a finite number of elements."
    for text in (
        "Spectra of finite rings",
        "f(x) + g(y) = 1",
        "2 2 c2",
        sentence,
        "Is it so for all of the rings that we know of today?",
    ):
        line(text, 16)
    line(LOREM * 6, 9)
    pdf.output(tmp_path / "a.pdf")
    headings = [text for kind, _, text in kinds(parse(tmp_path / "a.pdf")) if kind == "heading"]
    assert headings == ["Spectra of finite rings", "Is it so for all of the rings that we know of today?"]


def test_right_to_left_lines_are_read_as_they_are_spoken(shared_data):
    """Held against PDFium, which puts these lines in order itself."""
    file = next((shared_data / "ocr" / "olmocr-bench-sample" / "pdfs").rglob("ff3d6e051903*.pdf"))
    found = lookup_key("\n".join(element["text"] for element in parse(file)["elements"]))
    lines = read_raw(file.read_bytes(), "application/pdf").pages[0].splitlines()
    long = [key for line in lines if len(key := lookup_key(line)) > 40 and not key.isascii()]
    assert len(long) >= 15
    assert sum(key in found for key in long) >= 0.8 * len(long)


def test_right_to_left_cells_are_read_as_they_are_spoken(shared_data):
    """The words of the row's head are those of the CSV file that is published with the PDF."""
    (table,) = (e for e in parse(shared_data / "tables" / "tabula-csv" / "indictb1h_14.pdf")["elements"] if e["html"])
    published = (shared_data / "tables" / "tabula-csv" / "csv" / "indictb1h_14.csv").read_text(encoding="utf-8")
    (head,) = (line.rsplit(",", 1)[1] for line in published.splitlines() if line.startswith("0.7,1.3,"))
    assert len(head.split()) == 4
    assert head in table["text"]


def test_a_ruled_table_keeps_spans_and_is_not_repeated_as_text(pdf, tmp_path):
    pdf.multi_cell(0, 6, LOREM, new_x="LMARGIN", new_y="NEXT")
    with pdf.table(first_row_as_headings=True) as table:
        head = table.row()
        head.cell("Station")
        head.cell("Level", colspan=2)
        for cells in (["Mill", "101", "102"], ["Weir", "203", "204"], ["Lock", "305", "306"]):
            table.row(cells)
    pdf.output(tmp_path / "table.pdf")
    elements = parse(tmp_path / "table.pdf")["elements"]
    assert [element["kind"] for element in elements] == ["paragraph", "table"]
    assert elements[1]["html"] == (
        '<table><tr><th>Station</th><th colspan="2">Level</th></tr><tr><td>Mill</td><td>101</td><td>102</td></tr>'
        "<tr><td>Weir</td><td>203</td><td>204</td></tr><tr><td>Lock</td><td>305</td><td>306</td></tr></table>"
    )
    assert elements[1]["text"] == "Station\tLevel\t\nMill\t101\t102\nWeir\t203\t204\nLock\t305\t306"
    assert parse(tmp_path / "table.pdf", tables="none")["elements"][-1]["kind"] == "paragraph"


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_turned_page_reads_as_it_is_seen(pdf, tmp_path, turn):
    """Drawn lying on its side (or head), with a /Rotate that sets it upright: the reader sees the same page."""
    pdf.multi_cell(0, 6, LOREM, new_x="LMARGIN", new_y="NEXT")
    with pdf.table() as table:
        for cells in (["Station", "Level"], ["Mill", "101"], ["Weir", "203"], ["Lock", "305"]):
            table.row(cells)
    pdf.output(tmp_path / "upright.pdf")
    with pymupdf.open(tmp_path / "upright.pdf") as upright, pymupdf.open() as turned:
        width, height = upright[0].rect.width, upright[0].rect.height
        page = (
            turned.new_page(width=width, height=height) if turn == 180 else turned.new_page(width=height, height=width)
        )
        page.show_pdf_page(page.rect, upright, 0, rotate=turn)
        page.set_rotation(turn)
        turned.save(tmp_path / "turned.pdf")
    expected, found = (parse(tmp_path / f"{name}.pdf")["elements"] for name in ("upright", "turned"))
    assert [(e["kind"], e["text"], e["html"]) for e in found] == [(e["kind"], e["text"], e["html"]) for e in expected]
    for one, other in zip(found, expected, strict=True):
        assert one["bbox"] == pytest.approx(other["bbox"], abs=2)


def test_running_headers_stay_and_are_no_headings(tmp_path):
    document = FPDF()
    for page in range(1, 6):
        document.add_page()
        document.set_font("helvetica", size=20)
        document.text(20, 15, f"Handbook {page}")
        document.set_font("helvetica", size=11)
        document.set_y(30)
        document.multi_cell(0, 6, LOREM * 3)
    document.output(tmp_path / "headers.pdf")
    found = kinds(parse(tmp_path / "headers.pdf"))
    assert [text for _, _, text in found if text.startswith("Handbook")] == [f"Handbook {page}" for page in range(1, 6)]
    assert {kind for kind, _, _ in found} == {"paragraph"}


def test_a_page_left_out_counts_as_missing(tmp_path):
    document = FPDF()
    document.set_font("helvetica", size=11)
    for page in range(1, 4):
        document.add_page()
        document.cell(text=f"words of page {page}")
    document.output(tmp_path / "three.pdf")
    row = parse(tmp_path / "three.pdf", skip=[2])
    assert (row["pages"], row["pages_without_output"]) == (3, [2])
    assert [(e["page"], e["text"]) for e in row["elements"]] == [(1, "words of page 1"), (3, "words of page 3")]


def test_what_the_file_declares(pdf, tmp_path):
    pdf.set_title("A title")
    pdf.set_author("A. One; B. Two")
    pdf.set_lang("de-AT")
    pdf.cell(text="text")
    pdf.output(tmp_path / "meta.pdf")
    row = parse(tmp_path / "meta.pdf")
    assert (row["meta_title"], row["meta_authors"], row["meta_language"]) == ("A title", ["A. One", "B. Two"], "de-AT")
    assert row["parser"] == "pymupdf"


def test_text_agrees_with_another_reader(shared_data):
    """Letters and digits in whatever order, against PDFium: nothing lost, nothing doubled (to 2 %)."""
    import unicodedata
    from collections import Counter

    import pypdfium2

    folder = shared_data / "tables" / "icdar2013" / "competition-dataset-eu"

    def characters(text):
        return Counter(c for c in unicodedata.normalize("NFKC", text) if c.isalnum())

    for name in ("eu-003", "eu-005", "eu-014", "eu-024"):
        path = folder / f"{name}.pdf"
        ours = characters("".join(element["text"] for element in parse(path)["elements"]))
        with pypdfium2.PdfDocument(path) as document:
            theirs = characters("".join(page.get_textpage().get_text_range() for page in document))
        assert (ours - theirs).total() + (theirs - ours).total() < 0.02 * theirs.total(), name


def test_a_page_that_the_layout_model_reads_is_given_more_time(pdf, tmp_path):
    pdf.multi_cell(0, 6, LOREM)
    pdf.add_page()
    for row in range(4):
        for column, words in enumerate(("Harbour", "Ships", "Cargo")):
            pdf.set_xy(20 + 50 * column, 40 + 8 * row)
            pdf.cell(40, 6, f"{words} {row}")
    pdf.output(tmp_path / "a.pdf")

    def said(tables):
        messages = []
        settings = ParseSettings(tables=tables).model_dump(mode="json", exclude={"limits"})
        parse_pdf(str(tmp_path / "a.pdf"), settings, None, Pages(messages.append, []))
        return messages

    first, second, longer, end = {"page": 1}, {"page": 2}, {"extend": True}, {"page": None}
    assert said("ruled") == [first, second, end]
    assert said("auto") == [first, second, longer, end]
    assert said("layout") == [first, longer, second, longer, end]
