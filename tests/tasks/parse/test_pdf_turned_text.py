"""Lines of text that is turned on its page, by both readers."""

import pymupdf
import pytest

from tasks.documents.cage_worker import Pages
from tasks.parse.pdf import parse_pdf as by_pymupdf
from tasks.parse.pdfium import parse_pdf as by_pdfium
from tasks.parse.settings import ParseSettings

READERS = pytest.mark.parametrize("reader", [by_pymupdf, by_pdfium], ids=["pymupdf", "pypdfium2"])
LINES = ("First line of the page, the longest of all three", "Second line, short", "Third line of middle length")
WIDTH, HEIGHT = 600, 800


def lines_turned(page, turn):
    """Three lines, turned clockwise, one below the other for who turns the page."""
    for i, text in enumerate(LINES):
        down = 14 * i
        places = {0: (100, 200 + down), 90: (400 - down, 100), 180: (500, 500 - down), 270: (200 + down, 600)}
        page.insert_text(places[turn], text, rotate=-turn % 360)


def elements(reader, document, path):
    document.save(path)
    settings = ParseSettings(tables="none").model_dump(mode="json")
    return reader(str(path), settings, None, Pages(lambda message: None, ()))["elements"]


@READERS
@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_lines_come_in_order_however_text_and_page_are_turned(reader, turn, rotate, tmp_path):
    document = pymupdf.open()
    page = document.new_page(width=WIDTH, height=HEIGHT)
    lines_turned(page, turn)
    page.set_rotation(rotate)
    # The box of the first line as the viewer sees it; where the library looked it up is not what is tested.
    seen = page.search_for(LINES[0])[0] * page.rotation_matrix
    found = elements(reader, document, tmp_path / "turned.pdf")
    assert "\n".join(element["text"] for element in found) == "\n".join(LINES)
    x, y = (seen.x0 + seen.x1) / 2, (seen.y0 + seen.y1) / 2
    left, top, right, bottom = found[0]["bbox"]
    assert left <= x <= right
    assert top <= y <= bottom


@READERS
def test_a_part_laid_sideways_is_read_in_its_own_order(reader, tmp_path):
    """Between the running head above it and the text below it."""
    document = pymupdf.open()
    page = document.new_page(width=WIDTH, height=HEIGHT)
    page.insert_text((72, 60), "Yearbook of the harbour, with the tables of its traffic laid sideways on the page")
    lines_turned(page, 90)
    for i in range(6):
        page.insert_text((72, 500 + 14 * i), f"Line {i} of the text below, which goes on over the whole width of it.")
    found = [
        line for element in elements(reader, document, tmp_path / "part.pdf") for line in element["text"].split("\n")
    ]
    assert (found[0][:8], found[1:4], found[4][:6]) == ("Yearbook", list(LINES), "Line 0")
    assert len(found) == 10


@READERS
def test_a_stamp_up_the_margin_stays_where_it_was(reader, tmp_path):
    """One turned line alone has no order of its own: it is read at its height, as ever."""
    document = pymupdf.open()
    page = document.new_page(width=WIDTH, height=HEIGHT)
    page.insert_text((72, 100), "The text of the page begins here.")
    page.insert_text((30, 500), "Stamped on a day in May", rotate=90)
    page.insert_text((72, 700), "The text of the page ends here.")
    found = [element["text"] for element in elements(reader, document, tmp_path / "stamp.pdf")]
    assert found == ["The text of the page begins here.", "Stamped on a day in May", "The text of the page ends here."]
