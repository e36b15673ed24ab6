"""Values of filled PDF forms: each exactly once, by both readers, whether the file draws them or not."""

import pymupdf
import pytest
from fpdf import FPDF

from tasks.documents.cage_worker import Pages
from tasks.parse.pdf import parse_pdf as by_pymupdf
from tasks.parse.pdfium import parse_pdf as by_pdfium
from tasks.parse.settings import ParseSettings

READERS = pytest.mark.parametrize("reader", [by_pymupdf, by_pdfium], ids=["pymupdf", "pypdfium2"])
FIELDS = [
    ("Name:", pymupdf.PDF_WIDGET_TYPE_TEXT, "Ada Moor", {}),
    ("Notes:", pymupdf.PDF_WIDGET_TYPE_TEXT, "First row\nSecond row", {"field_flags": 1 << 12}),
    ("Number:", pymupdf.PDF_WIDGET_TYPE_TEXT, "12345", {"field_flags": 1 << 24, "text_maxlen": 8}),
    ("Country:", pymupdf.PDF_WIDGET_TYPE_COMBOBOX, "Malta", {"choice_values": ["Chile", "Malta"]}),
    ("Town:", pymupdf.PDF_WIDGET_TYPE_LISTBOX, "Gozo", {"choice_values": ["Bari", "Gozo"]}),
    ("Married:", pymupdf.PDF_WIDGET_TYPE_CHECKBOX, True, {}),
    ("Tenant:", pymupdf.PDF_WIDGET_TYPE_CHECKBOX, False, {}),
    ("Pass:", pymupdf.PDF_WIDGET_TYPE_TEXT, "hunter2", {"field_flags": 1 << 13}),
    ("Unseen:", pymupdf.PDF_WIDGET_TYPE_TEXT, "SECRET", {"field_display": 1}),
    ("Empty:", pymupdf.PDF_WIDGET_TYPE_TEXT, "", {}),
]
READ = (
    "Name: Ada Moor Notes: First row Second row Number: 12345 Country: Malta Town: Gozo "
    "Married: ☑ Tenant: Pass: Unseen: Empty:"
)


def form(path, *, drawn=True, newer=None):
    """A form with a field of each kind; not `drawn`, it leaves the drawing to the viewer (NeedAppearances)."""
    document = pymupdf.open()
    page = document.new_page()
    for i, (label, kind, value, more) in enumerate(FIELDS):
        top = 60 + 60 * i
        page.insert_text((72, top + 12), label)
        widget = pymupdf.Widget()
        widget.field_name, widget.field_type = label, kind
        widget.rect = pymupdf.Rect(250, top, 450, top + (40 if kind == pymupdf.PDF_WIDGET_TYPE_LISTBOX else 18))
        for name, setting in more.items():
            setattr(widget, name, setting)
        widget.field_value = value
        page.add_widget(widget)
    for widget in page.widgets():
        if not drawn:
            document.xref_set_key(widget.xref, "AP", "null")
        if newer and widget.field_name == "Name:":
            document.xref_set_key(holder(document, widget), "V", f"({newer})")
    if not drawn:
        document.xref_set_key(document.pdf_catalog(), "AcroForm/NeedAppearances", "true")
    document.save(path)
    return path


def holder(document, widget):
    """The object that holds the value: the field above the widget, where it is one of its own."""
    kind, parent = document.xref_get_key(widget.xref, "Parent")
    return int(parent.split()[0]) if kind == "xref" else widget.xref


def words(reader, path, *, tables="auto"):
    row = reader(str(path), ParseSettings(tables=tables).model_dump(mode="json"), None, Pages(lambda message: None, ()))
    return " ".join(" ".join(element["text"] for element in row["elements"]).split())


@READERS
@pytest.mark.parametrize("drawn", [True, False])
def test_each_value_comes_out_once(reader, drawn, tmp_path):
    assert words(reader, form(tmp_path / "form.pdf", drawn=drawn)) == READ


@READERS
def test_what_is_stored_counts_where_the_drawing_is_older(reader, tmp_path):
    found = words(reader, form(tmp_path / "form.pdf", newer="Eve Hill"))
    assert found == READ.replace("Ada Moor", "Eve Hill")


@READERS
def test_a_value_that_the_page_itself_draws_comes_out_once(reader, tmp_path):
    with pymupdf.open(form(tmp_path / "form.pdf")) as document:
        document[0].insert_text((252, 72), "Ada Moor")
        document.save(tmp_path / "drawn.pdf")
    assert words(reader, tmp_path / "drawn.pdf") == READ


@READERS
def test_a_choice_gives_what_is_shown_not_its_code(reader, tmp_path):
    with pymupdf.open(form(tmp_path / "form.pdf")) as document:
        widget = next(widget for widget in document[0].widgets() if widget.field_name == "Country:")
        document.xref_set_key(holder(document, widget), "Opt", "[[(cl) (Chile)] [(mt) (Malta)]]")
        document.xref_set_key(holder(document, widget), "V", "(mt)")
        document.save(tmp_path / "codes.pdf")
    assert words(reader, tmp_path / "codes.pdf") == READ


def test_a_value_in_a_table_stands_in_its_cell(tmp_path):
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=10)
    with pdf.table() as table:
        for cells in (("Item", "Amount"), ("Rent", ""), ("Heating", "80.00")):
            row = table.row()
            for cell in cells:
                row.cell(cell)
    pdf.output(tmp_path / "table.pdf")
    with pymupdf.open(tmp_path / "table.pdf") as document:
        page = document[0]
        place = page.search_for("Rent")[0]
        widget = pymupdf.Widget()
        widget.rect = pymupdf.Rect(page.rect.width / 2 + 20, place.y0, page.rect.width / 2 + 120, place.y1)
        widget.field_type, widget.field_name = pymupdf.PDF_WIDGET_TYPE_TEXT, "rent"
        widget.field_value = "1250.00"
        page.add_widget(widget)
        document.save(tmp_path / "form.pdf")
    found = words(by_pymupdf, tmp_path / "form.pdf", tables="ruled")
    assert found == "Item Amount Rent 1250.00 Heating 80.00"
