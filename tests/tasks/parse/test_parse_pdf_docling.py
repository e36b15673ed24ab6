"""docling as a parser of PDFs: chosen in the settings, without models, without torch, without PyMuPDF."""

import subprocess
import sys
from importlib.util import find_spec

import pytest
from docling_core.types.doc import (
    BoundingBox,
    CoordOrigin,
    DocItemLabel,
    DoclingDocument,
    ProvenanceItem,
    Size,
    TableCell,
    TableData,
)

from tasks.errors import ConfigurationError
from tasks.metrics.text_distance import comparison_text, edit_counts
from tasks.parse.backends import package_versions
from tasks.parse.docling_elements import TreeOptions, read_document
from tasks.parse.elements import Elements
from tasks.parse.settings import ParseSettings
from tests.tasks.parse.messages import two_page_pdf
from tests.tasks.parse.office_files import report_docx
from tests.tasks.parse.stage_by_hand import SETTINGS, parse

NATIVE = ParseSettings(backends={"pdf": "docling"}, limits=SETTINGS.limits)

READ_ALL = """
import json, socket, sys
def refused(*_, **__):
    raise OSError("no network")
socket.socket.connect = socket.getaddrinfo = refused
from tasks.parse.settings import ParseSettings
before = {"docling", "torch", "docx", "openpyxl"} & set(sys.modules)
from tasks.documents.cage_worker import Pages
from tasks.parse.office import parse_docx
from tasks.parse.pdf_docling import parse_native
settings = ParseSettings(backends={"pdf": "docling"}).model_dump(mode="json")
pages = Pages(lambda page: None, [])
rows = [parse_docx(sys.argv[1], settings, None, pages), parse_native(sys.argv[2], settings, None, pages)]
after = {"torch", "transformers", "pymupdf"} & set(sys.modules)
print(json.dumps([sorted(before), sorted(after), [len(row["elements"]) for row in rows]]))
"""


def test_pages_lines_and_places_are_those_of_the_file(tmp_path):
    rows, failures = parse(two_page_pdf(tmp_path / "pump.pdf"), settings=NATIVE)
    assert failures == {}
    row = rows["pump.pdf"]
    assert [(e["page"], e["text"]) for e in row["elements"]] == [
        (1, "The pump house stands by the river."),
        (2, "The second page lists the valves."),
    ]
    assert (row["parser"], row["pages"], row["pages_without_output"]) == ("docling", 2, [])
    x0, y0, x1, y1 = row["elements"][0]["bbox"]
    # fpdf2 begins 10 mm from the left and top; its cell keeps 1 mm of padding.
    assert x0 == pytest.approx(11 / 25.4 * 72, abs=1)
    assert 28 < y0 < y1 < 45
    assert x1 > x0 + 150


def test_the_text_agrees_with_a_published_one(shared_data):
    folder = shared_data / "messy" / "format-variations"
    rows, _ = parse(folder / "variations" / "application" / "pdf" / "lorem-ipsum.pdf", settings=NATIVE)
    expected = comparison_text((folder / "lorem-ipsum.txt").read_text(encoding="utf-8"))
    found = comparison_text("\n".join(e["text"] for e in rows["lorem-ipsum.pdf"]["elements"]))
    assert edit_counts(expected, found).distance == 0


def test_what_cannot_be_read_is_named(cases):
    rows, failures = parse(*sorted((cases / "15-pdf-unreadable").glob("*.pdf")), settings=NATIVE)
    assert {name: failure.error_class for name, failure in failures.items()} == {
        "needs-password.pdf": "encrypted", "cut-off.pdf": "corrupt", "zero-bytes.pdf": "empty"
    }  # fmt: skip
    assert rows.keys() == {"owner-password-only.pdf"}


def test_docling_is_loaded_by_workers_only_and_reaches_for_neither_models_nor_network(tmp_path):
    files = [report_docx(tmp_path / "a.docx"), two_page_pdf(tmp_path / "b.pdf")]
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, *map(str, files)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("[[], [], [10, 2]]")


@pytest.mark.skipif(find_spec("docling_ibm_models") is not None, reason="docling's models are installed here")
def test_its_models_are_an_extra_that_the_error_names():
    with pytest.raises(ConfigurationError, match="docling-models") as raised:
        package_versions(ParseSettings(backends={"pdf": "docling-models"}).backends)
    assert ".[docling-models]" in raised.value.remedy


def test_what_its_models_find_keeps_kind_page_and_place():
    document = DoclingDocument(name="made by hand")
    for page in (1, 2):
        document.add_page(page_no=page, size=Size(width=600, height=800))

    def at(page, left, top, right, bottom):
        box = BoundingBox(l=left, t=800 - top, r=right, b=800 - bottom, coord_origin=CoordOrigin.BOTTOMLEFT)
        return ProvenanceItem(page_no=page, bbox=box, charspan=(0, 0))

    document.add_text(DocItemLabel.PAGE_HEADER, "running head", prov=at(1, 50, 10, 500, 20), content_layer="furniture")
    document.add_heading("Pumps", level=1, prov=at(1, 50, 50, 200, 70))
    cells = [
        TableCell(
            text=text, start_row_offset_idx=0, end_row_offset_idx=1, start_col_offset_idx=i, end_col_offset_idx=i + 1
        )
        for i, text in enumerate(("Ball", "17"))
    ]
    document.add_table(TableData(table_cells=cells, num_rows=1, num_cols=2), prov=at(2, 50, 100, 500, 200))
    elements = Elements()
    read_document(document, elements, TreeOptions(placed=True))
    assert [(e["kind"], e["text"], e["page"], e["bbox"]) for e in elements.rows] == [
        ("heading", "Pumps", 1, [50, 50, 200, 70]),
        ("table", "Ball\t17", 2, [50, 100, 500, 200]),
    ]
