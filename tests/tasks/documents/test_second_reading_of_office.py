"""What the parser says of Office files is found by the second reader at its page and part, and nowhere else."""

import pytest

from tasks.documents.attribution import VERIFIED, Attribution, attribute
from tasks.documents.raw_text import read_raw
from tasks.documents.sniff import sniff
from tests.tasks.parse.office_files import bare_docx, plan_xlsx, report_docx, slides_pptx
from tests.tasks.parse.stage_by_hand import parse


@pytest.mark.parametrize("make", [report_docx, slides_pptx, plan_xlsx])
def test_every_element_is_found_where_the_parser_says(make, tmp_path):
    path = make(tmp_path / "file")
    raw = read_raw(path.read_bytes(), sniff(path.read_bytes()))
    rows, _ = parse(path)
    (row,) = rows.values()
    assert len(row["elements"]) > 2
    for element in row["elements"]:
        page = element["page"]
        found = attribute(element["text"], raw, page_first=page, page_last=page, headings=element["section_path"])
        assert found in VERIFIED, element


def test_a_slide_is_not_found_on_another(tmp_path):
    path = slides_pptx(tmp_path / "b.pptx")
    raw = read_raw(path.read_bytes(), sniff(path.read_bytes()))
    assert attribute("Say this slowly.", raw, page_first=1, page_last=1) is Attribution.SHORT
    assert attribute("Say this slowly.", raw, page_first=2, page_last=2) is Attribution.FAILED


def test_days_and_times_of_a_sheet_are_read_as_shown(tmp_path):
    path = plan_xlsx(tmp_path / "c.xlsx")
    raw = read_raw(path.read_bytes(), sniff(path.read_bytes()))
    assert raw.parts == {"Plan 2024": (1, 1), "Later": (2, 1), "Workings": (3, 1)}
    assert raw.pages[0].splitlines() == [
        "Plan 2024", "Item Quantity Due", "Bolt 12.5 2024-05-01", "Nut 7 2024-05-02 08:30:00", "All prices are net."
    ]  # fmt: skip


def test_numbers_that_word_counts_need_not_be_in_the_file(tmp_path):
    path = bare_docx(tmp_path / "a.docx", "<w:p><w:r><w:t>Scope of the work</w:t></w:r></w:p>")
    raw = read_raw(path.read_bytes(), sniff(path.read_bytes()))
    assert attribute("2.1 Scope of the work", raw) is Attribution.SHORT
    assert attribute("2.1 Scope of the play", raw) is Attribution.FAILED
