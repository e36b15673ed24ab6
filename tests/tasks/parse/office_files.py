"""Small Office files, written part by part or by libraries other than docling."""

import datetime
import zipfile

from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_CONTENT_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)


def bare_docx(path, body, before="", **more):
    """A Word file with this XML in its body; `before` stands before the root, `more` are further parts by name."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _CONTENT_TYPES)
        archive.writestr("_rels/.rels", _RELATIONS)
        archive.writestr(
            "word/document.xml", f'<?xml version="1.0"?>{before}<w:document {_W}><w:body>{body}</w:body></w:document>'
        )
        for name, content in more.items():
            archive.writestr(name, content)
    return path


def report_docx(path):
    """Title, headings, a paragraph with changes of type, lists, a table with spans and a table in it, a caption."""
    document = Document()
    document.core_properties.title = "Water report"
    document.core_properties.author = "Ann Sample; Bo Mock"
    document.core_properties.created = datetime.datetime(2024, 5, 1, 8, 30)
    document.sections[0].header.paragraphs[0].text = "Water board"
    document.add_heading("Report of the year", 0)
    document.add_heading("Chapter one", 1)
    mixed = document.add_paragraph("Plain with ")
    mixed.add_run("bold").bold = True
    mixed.add_run("ness and H")
    mixed.add_run("2").font.subscript = True
    mixed.add_run("O.")
    document.add_heading("Pumps", 2)
    document.add_paragraph("first pump", style="List Bullet")
    document.add_paragraph("its motor", style="List Bullet 2")
    document.add_paragraph("second pump", style="List Bullet")
    table = document.add_table(3, 3)
    for i, row in enumerate(table.rows):
        for j, cell in enumerate(row.cells):
            cell.text = f"r{i}c{j}"
    table.cell(0, 1).text = ""
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(2, 2).text = ""
    table.cell(1, 2).merge(table.cell(2, 2))
    inner = table.cell(1, 1).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "inner a", "inner b"
    document.add_paragraph("Table 1: all pumps", style="Caption")
    document.save(path)
    return path


def slides_pptx(path):
    """A slide with bullets and notes, one with a table and a chart, a hidden one."""
    deck = Presentation()
    one = deck.slides.add_slide(deck.slide_layouts[1])
    one.shapes.title.text = "Why pumps"
    one.placeholders[1].text_frame.text = "They move water"
    deeper = one.placeholders[1].text_frame.add_paragraph()
    deeper.text, deeper.level = "and sludge", 1
    one.notes_slide.notes_text_frame.text = "Say this slowly."
    two = deck.slides.add_slide(deck.slide_layouts[5])
    two.shapes.title.text = "Sales"
    table = two.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for place, text in (((0, 0), "Region"), ((0, 1), "Pumps"), ((1, 0), "East"), ((1, 1), "17")):
        table.cell(*place).text = text
    chart = CategoryChartData()
    chart.categories = ["North", "South"]
    chart.add_series("Valves", (1.5, 2.5))
    size = Inches(1), Inches(3), Inches(4), Inches(3)
    two.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *size, chart)
    three = deck.slides.add_slide(deck.slide_layouts[5])
    three.shapes.title.text = "Not for the public"
    three._element.set("show", "0")
    deck.save(path)
    return path


def plan_xlsx(path):
    """A table with a date and a number, a note beside it, an empty and a hidden sheet."""
    book = Workbook()
    sheet = book.active
    sheet.title = "Plan 2024"
    sheet.append(["Item", "Quantity", "Due"])
    sheet.append(["Bolt", 12.5, datetime.date(2024, 5, 1)])
    sheet.append(["Nut", 7, datetime.datetime(2024, 5, 2, 8, 30)])
    sheet["A6"] = "All prices are net."
    book.create_sheet("Later")
    hidden = book.create_sheet("Workings")
    hidden["A1"] = "not shown"
    hidden.sheet_state = "hidden"
    book.save(path)
    return path
