"""PDF files by PDFium: what there is without a library under the AGPL."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fpdf import FPDF

from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError
from tasks.metrics.text_distance import cer
from tasks.parse.pdf import parse_pdf as by_pymupdf
from tasks.parse.pdfium import parse_pdf
from tasks.parse.settings import ParseSettings
from tests.tasks.parse.drawn_pages import LINES, page, png

LOREM = "The quick brown fox jumps over the lazy dog and runs along the river until the evening comes. "


def parse(path, *, parser=parse_pdf, tables="none", skip=(), **ocr):
    settings = ParseSettings(tables=tables, ocr={"engine": "rapidocr", **ocr}).model_dump(mode="json")
    return parser(str(path), settings, None, Pages(lambda message: None, skip))


def text_of(row):
    return "\n".join(element["text"] for element in row["elements"])


def test_headings_lists_and_what_the_file_states(tmp_path):
    document = FPDF(format="A4")
    document.set_title("Annual report")
    document.set_author("Ada Lovelace; Charles Babbage")
    document.set_lang("en-GB")
    document.add_page()
    for text, size, style in (("Annual report", 22, ""), (LOREM * 3, 11, ""), ("Results", 16, "B"), (LOREM, 11, "")):
        document.set_font("helvetica", style, size)
        document.multi_cell(0, size * 0.5, text, new_x="LMARGIN", new_y="NEXT")
        document.ln(4)
    document.multi_cell(0, 6, "- first thing")
    document.output(tmp_path / "report.pdf")
    row = parse(tmp_path / "report.pdf")
    assert [(e["kind"], e["level"], " ".join(e["text"].split())) for e in row["elements"]] == [
        ("heading", 1, "Annual report"),
        ("paragraph", None, (LOREM * 3).strip()),
        ("heading", 2, "Results"),
        ("paragraph", None, LOREM.strip()),
        ("list_item", 1, "first thing"),
    ]
    assert {e["source"] for e in row["elements"]} == {"text"}
    assert (row["meta_title"], row["meta_authors"]) == ("Annual report", ["Ada Lovelace", "Charles Babbage"])
    assert row["meta_language"] == "en-GB"
    assert row["parser"] == "pypdfium2"


def test_columns_are_read_one_after_the_other(tmp_path):
    """Lines are written row by row across both columns, so the order of the file is the wrong one."""
    document = FPDF(format="A4")
    document.set_font("helvetica", size=10)
    document.add_page()
    for i in range(20):
        document.text(20, 30 + 6 * i, f"left line number {i} of the column")
        document.text(110, 30 + 6 * i, f"right line number {i} of the column")
    document.output(tmp_path / "columns.pdf")
    words = text_of(parse(tmp_path / "columns.pdf")).replace("\n", " ")
    expected = [f"{side} line number {i} of the column" for side in ("left", "right") for i in range(20)]
    assert words == " ".join(expected)


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_turned_page_is_seen_as_a_viewer_shows_it(tmp_path, turn):
    import pypdfium2

    document = FPDF(unit="pt", format=(600, 400))
    document.set_font("helvetica", size=12)
    document.add_page()
    document.text(50, 100, "Words near the left edge")
    document.output(tmp_path / "straight.pdf")
    turned = pypdfium2.PdfDocument(tmp_path / "straight.pdf")
    turned[0].set_rotation(turn)
    turned.save(tmp_path / "turned.pdf")
    ours, other = (parse(tmp_path / "turned.pdf", parser=parser) for parser in (parse_pdf, by_pymupdf))
    assert text_of(ours) == text_of(other) == "Words near the left edge"
    assert ours["elements"][0]["bbox"] == pytest.approx(other["elements"][0]["bbox"], abs=4)


def test_right_to_left_lines_are_read_as_they_are_spoken(shared_data):
    row = parse(shared_data / "ocr" / "pypdf-sample-files" / "015-arabic" / "habibi.pdf")
    assert text_of(row).count("حَبيبي") == 2


def test_scanned_pages_are_read_by_ocr(tmp_path):
    (tmp_path / "scan.png").write_bytes(png(page()))
    document = FPDF(unit="pt", format=(595, 360))
    document.add_page()
    document.image(tmp_path / "scan.png", x=0, y=0, w=595)
    document.add_page()
    document.output(tmp_path / "scan.pdf")
    row = parse(tmp_path / "scan.pdf")
    assert cer(" ".join(LINES), text_of(row)) < 0.02
    assert {(e["page"], e["source"]) for e in row["elements"]} == {(1, "ocr")}
    assert row["pages_without_output"] == []
    with pytest.raises(DocumentError, match="OCR is off"):
        parse(tmp_path / "scan.pdf", engine="off")


def test_files_that_cannot_be_read_say_why(cases, tmp_path):
    folder = cases / "15-pdf-unreadable"
    (tmp_path / "page.pdf").write_text("<html><body>404</body></html>")
    reasons = {}
    for path in (folder / "needs-password.pdf", folder / "cut-off.pdf", tmp_path / "page.pdf"):
        with pytest.raises(DocumentError) as failed:
            parse(path)
        reasons[path.name] = failed.value.error_class
    assert reasons == {"needs-password.pdf": "encrypted", "cut-off.pdf": "corrupt", "page.pdf": "corrupt"}
    assert "cabinet 14" in text_of(parse(folder / "owner-password-only.pdf"))


def test_both_readers_agree_on_published_files(shared_data):
    folder = shared_data / "tables" / "icdar2013" / "competition-dataset-eu"
    for name in ("eu-001.pdf", "eu-003.pdf", "eu-005.pdf", "eu-007.pdf"):
        ours, other = (parse(folder / name, parser=parser) for parser in (parse_pdf, by_pymupdf))
        assert cer(text_of(other), text_of(ours)) < 0.001, name
        assert ours["pages"] == other["pages"]
    crazy = shared_data / "ocr" / "pypdf-text-pairs"
    expected = (crazy / "crazyones.txt").read_text(encoding="utf-8")
    assert cer(expected, text_of(parse(crazy / "crazyones.pdf"))) < 0.02


def test_pymupdf_is_never_loaded(tmp_path):
    document = FPDF()
    document.set_font("helvetica", size=12)
    document.add_page()
    document.cell(text="Words on a page")
    document.output(tmp_path / "a.pdf")
    code = (
        "import sys; from tasks.parse.pdfium import parse_pdf; from tasks.parse.stage import STAGE;"
        "from tasks.parse.settings import ParseSettings; from tasks.documents.cage_worker import Pages;"
        "settings = ParseSettings(backends={'pdf': 'pypdfium2'});"
        "row = parse_pdf(sys.argv[1], settings.model_dump(mode='json'), None, Pages(lambda message: None, ()));"
        "print(row['elements'][0]['text'], sorted(STAGE.fingerprint(settings)),"
        "[name for name in sys.modules if name.startswith(('pymupdf', 'fitz'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.pdf")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Words on a page [")
    assert done.stdout.rstrip().endswith("] []")
    assert "'pypdfium2'" in done.stdout
    assert "'pymupdf'" not in done.stdout
