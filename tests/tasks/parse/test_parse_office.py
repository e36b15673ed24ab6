"""Word, PowerPoint, Excel and CSV: structure, tables with spans, sheets as parts, what the file declares."""

import zipfile

import pytest

from tasks.documents.archives import ContainerLimits
from tasks.parse.settings import ParseSettings
from tests.tasks.parse.office_files import bare_docx, plan_xlsx, report_docx, slides_pptx
from tests.tasks.parse.stage_by_hand import SETTINGS, parse


def outline(row):
    return [(e["kind"], e["level"], e["text"]) for e in row["elements"]]


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    folder = tmp_path_factory.mktemp("office")
    (folder / "list.csv").write_text('Name;Größe\nAnn;1,5\n"a;b";2\n', encoding="utf-8")
    (folder / "old.csv").write_bytes("Name,Straße\nÄnne,Überweg 3\n".encode("cp1252"))
    (folder / "no.csv").write_text('Said,When\n"no" she said,and left\nthat was all\n')
    paths = [report_docx(folder / "a.docx"), slides_pptx(folder / "b.pptx"), plan_xlsx(folder / "c.xlsx")]
    rows, failures = parse(*paths, *sorted(folder.glob("*.csv")))
    assert failures == {}
    return rows


def test_word_keeps_its_outline_and_the_spaces_where_the_type_changes(office):
    assert outline(office["a.docx"])[:7] == [
        ("heading", 1, "Report of the year"),
        ("heading", 2, "Chapter one"),
        ("paragraph", None, "Plain with boldness and H2O."),
        ("heading", 3, "Pumps"),
        ("list_item", 1, "first pump"),
        ("list_item", 2, "its motor"),
        ("list_item", 1, "second pump"),
    ]
    assert office["a.docx"]["elements"][-1]["section_path"] == ["Report of the year", "Chapter one", "Pumps"]
    assert outline(office["a.docx"])[-1] == ("caption", None, "Table 1: all pumps")


def test_word_tables_keep_spans_and_the_tables_in_their_cells(office):
    outer, inner = [e["html"] for e in office["a.docx"]["elements"] if e["kind"] == "table"]
    assert outer == (
        '<table><tr><th colspan="2">r0c0</th><th>r0c2</th></tr><tr><td>r1c0</td><td>r1c1</td><td rowspan="2">r1c2</td>'
        "</tr><tr><td>r2c0</td><td>r2c1</td></tr></table>"
    )
    assert inner == "<table><tr><th>inner a</th><th>inner b</th></tr></table>"


def test_what_an_office_file_declares(office):
    row = office["a.docx"]
    assert (row["meta_title"], row["meta_authors"]) == ("Water report", ["Ann Sample", "Bo Mock"])
    assert row["meta_published"] == "2024-05-01T08:30:00Z"
    assert (row["parser"], row["pages"], row["parts"]) == ("docling", 1, None)


def test_slides_are_pages_with_their_notes_and_hidden_ones_are_left_out(office):
    row = office["b.pptx"]
    assert (row["pages"], row["pages_hidden"]) == (3, [3])
    assert [(e["page"], e["kind"], e["level"], e["text"]) for e in row["elements"]] == [
        (1, "heading", 1, "Why pumps"),
        (1, "list_item", 1, "They move water"),
        (1, "list_item", 2, "and sludge"),
        (1, "paragraph", None, "Say this slowly."),
        (2, "heading", 1, "Sales"),
        (2, "table", None, "Region\tPumps\nEast\t17"),
        (2, "table", None, "\tValves\nNorth\t1.5\nSouth\t2.5"),
    ]


def test_sheets_are_parts_below_their_names(office):
    row = office["c.xlsx"]
    assert (row["pages"], row["pages_hidden"], row["pages_without_output"]) == (3, [3], [])
    assert [(part["name"], part["first_page"]) for part in row["parts"]] == [("Plan 2024", 1), ("Later", 2)]
    assert [(e["part"], e["page"], e["section_path"], e["text"]) for e in row["elements"]] == [
        ("Plan 2024", 1, [], "Plan 2024"),
        (
            "Plan 2024",
            1,
            ["Plan 2024"],
            "Item\tQuantity\tDue\nBolt\t12.5\t2024-05-01\nNut\t7\t2024-05-02 08:30:00",
        ),
        ("Plan 2024", 1, ["Plan 2024"], "All prices are net."),
    ]


def test_csv_is_a_table_whatever_its_delimiter_and_encoding(office):
    (table,) = office["list.csv"]["elements"]
    assert table["html"] == (
        "<table><tr><th>Name</th><th>Größe</th></tr><tr><td>Ann</td><td>1,5</td></tr>"
        "<tr><td>a;b</td><td>2</td></tr></table>"
    )
    (table,) = office["old.csv"]["elements"]
    assert table["text"] == "Name\tStraße\nÄnne\tÜberweg 3"


def test_a_csv_that_is_none_is_read_as_the_text_it_is(office):
    assert office["no.csv"]["parser"] == "text"
    assert [e["text"] for e in office["no.csv"]["elements"]] == ['Said,When\n"no" she said,and left\nthat was all']


def test_office_files_that_unpack_without_end_are_refused(tmp_path):
    zeros = "0" * (20 * 2**20)
    bare_docx(tmp_path / "packed.docx", f"<w:p><w:r><w:t>{zeros}</w:t></w:r></w:p>")
    bare_docx(tmp_path / "many.docx", "<w:p/>", **{f"word/{i}.xml": "<a/>" for i in range(60)})
    bare_docx(tmp_path / "fine.docx", "<w:p><w:r><w:t>A fine file.</w:t></w:r></w:p>")
    tight = ParseSettings(containers=ContainerLimits(max_members=50), limits=SETTINGS.limits)
    rows, failures = parse(*sorted(tmp_path.glob("*.docx")), settings=tight)
    assert rows.keys() == {"fine.docx"}
    assert {failure.error_class for failure in failures.values()} == {"archive_limit"}
    assert "max_ratio" in failures["packed.docx"].message
    assert "max_members" in failures["many.docx"].message


def test_entities_of_an_office_file_are_neither_expanded_nor_fetched(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret of another file")
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    entities = f'<!DOCTYPE w [<!ENTITY l0 "ha">{laughs}<!ENTITY f SYSTEM "{secret.as_uri()}">]>'
    body = "<w:p><w:r><w:t>before &l9; &f; after</w:t></w:r></w:p><w:p><w:r><w:t>Next line.</w:t></w:r></w:p>"
    bare_docx(tmp_path / "laughs.docx", body, entities)
    rows, failures = parse(tmp_path / "laughs.docx")
    texts = [e["text"] for row in rows.values() for e in row["elements"]]
    assert len(rows) + len(failures) == 1
    assert not any("secret" in text or "haha" in text for text in texts)


def test_damaged_and_locked_office_files_are_named_as_such(tmp_path):
    report_docx(tmp_path / "whole.docx")
    data = (tmp_path / "whole.docx").read_bytes()
    (tmp_path / "cut.docx").write_bytes(data[: len(data) // 2])
    bare_docx(tmp_path / "broken.docx", "<w:p>")
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)
    (tmp_path / "locked.docx").write_bytes(ole + "EncryptedPackage".encode("utf-16-le"))
    (tmp_path / "old.doc").write_bytes(ole + "WordDocument".encode("utf-16-le"))
    _, failures = parse(*(tmp_path / name for name in ("cut.docx", "broken.docx", "locked.docx", "old.doc")))
    assert {name: failure.error_class for name, failure in failures.items()} == {
        "cut.docx": "corrupt", "broken.docx": "corrupt", "locked.docx": "encrypted", "old.doc": "unsupported_type"
    }  # fmt: skip
    assert "soffice --convert-to docx" in failures["old.doc"].remedy


def test_a_member_whose_name_leaves_the_archive_harms_nobody(tmp_path):
    path = bare_docx(tmp_path / "slip.docx", "<w:p><w:r><w:t>A fine file.</w:t></w:r></w:p>")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../../escaped.xml", "<a/>")
        archive.writestr("/escaped.xml", "<a/>")
    rows, failures = parse(path)
    assert len(rows) + len(failures) == 1
    assert list(tmp_path.parent.rglob("escaped.xml")) == []
