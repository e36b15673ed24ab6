import json

from fpdf import FPDF

from tasks.parse.settings import ParseSettings
from tasks.parse.stage import STAGE
from tests.tasks.parse.stage_by_hand import SETTINGS, parse, text_of


def test_pdfs_that_cannot_be_read_are_quarantined_and_never_empty(cases):
    folder = cases / "15-pdf-unreadable"
    rows, failures = parse(*sorted(folder.glob("*.pdf")))
    assert {name: failure.error_class for name, failure in failures.items()} == {
        "needs-password.pdf": "encrypted",
        "cut-off.pdf": "corrupt",
        "zero-bytes.pdf": "empty",
    }
    assert "cabinet 14" in text_of(rows["owner-password-only.pdf"])
    assert all(failure.remedy and "cabinet" not in failure.message for failure in failures.values())


def test_hyphens_at_line_ends_stay_as_the_file_has_them(cases):
    rows, _ = parse(*sorted((cases / "21-line-end-hyphens").glob("*.pdf")))
    cold_room = text_of(rows["cold-room.pdf"])
    assert "long-\nterm use" in cold_room
    assert "tempera-\nture log" in cold_room
    assert "Ein- und Ausgang" in text_of(rows["anlage.pdf"])
    assert "first filter is the most efficient one" in text_of(rows["office-notes.pdf"])


def test_layout_tables_lose_nothing(cases):
    folder = cases / "17-html-layout-tables"
    expected = json.loads((folder / "case.json").read_text())["expect"]["files"]
    rows, failures = parse(*sorted(folder.glob("*.html")))
    assert not failures
    for name, expect in expected.items():
        text = text_of(rows[name])
        assert [passage for passage in expect["text_contains"] if passage not in text] == []
        places = [text.index(passage) for passage in expect.get("text_order", [])]
        assert places == sorted(places)


def test_a_file_without_text_is_a_failure(tmp_path):
    blank = FPDF()
    blank.add_page()
    blank.output(tmp_path / "blank.pdf")
    (tmp_path / "blank.html").write_text("<html><head><title>x</title></head><body> <script>a()</script></body></html>")
    (tmp_path / "blank.md").write_text("\n\n  \n")
    (tmp_path / "blank.txt").write_text(" \n")
    rows, failures = parse(*sorted(tmp_path.iterdir()))
    assert rows == {}
    assert {failure.error_class for failure in failures.values()} == {"empty_parse"}


def test_a_scan_is_told_from_a_blank_page(tmp_path):
    from PIL import Image

    Image.effect_noise((200, 200), 80).save(tmp_path / "noise.png")
    scan, mixed = FPDF(), FPDF()
    scan.add_page()
    scan.image(tmp_path / "noise.png", w=100)
    scan.output(tmp_path / "scan.pdf")
    mixed.set_font("helvetica", size=11)
    mixed.add_page()
    mixed.cell(text="Words on the first page")
    mixed.add_page()
    mixed.image(tmp_path / "noise.png", w=100)
    mixed.add_page()
    mixed.output(tmp_path / "mixed.pdf")
    rows, failures = parse(tmp_path / "scan.pdf", tmp_path / "mixed.pdf")
    assert failures["scan.pdf"].error_class == "no_text"
    assert "OCR found none" in failures["scan.pdf"].message
    assert (rows["mixed.pdf"]["pages"], rows["mixed.pdf"]["pages_without_output"]) == (3, [2])


def test_a_kind_of_file_without_a_parser_is_named(tmp_path):
    (tmp_path / "archive.zip").write_bytes(b"PK\x03\x04")
    _, failures = parse(tmp_path / "archive.zip")
    assert failures["archive.zip"].error_class == "unsupported_type"
    assert "application/zip" in failures["archive.zip"].message


def test_a_page_that_is_no_pdf_is_not_read_as_one(tmp_path):
    (tmp_path / "error.pdf").write_text("<html><body><p>404 not found</p></body></html>")
    _, failures = parse(tmp_path / "error.pdf", media_type="application/pdf")
    assert failures["error.pdf"].error_class == "corrupt"


def test_more_pages_than_allowed_are_refused(tmp_path):
    document = FPDF()
    for _ in range(3):
        document.add_page()
    document.output(tmp_path / "long.pdf")
    _, failures = parse(tmp_path / "long.pdf", settings=ParseSettings(max_pages=2, limits=SETTINGS.limits))
    assert failures["long.pdf"].error_class == "too_many_pages"


def test_more_text_than_the_later_stages_can_hold_is_refused(tmp_path):
    (tmp_path / "long.txt").write_text("water " * 20)
    (tmp_path / "short.txt").write_text("water " * 19)
    rows, failures = parse(
        tmp_path / "long.txt",
        tmp_path / "short.txt",
        settings=ParseSettings(max_characters=118, limits=SETTINGS.limits),
    )
    # 20 words of five letters with 19 spaces between them are 119 characters, 19 words are 113.
    assert failures["long.txt"].error_class == "too_long"
    assert "119" in failures["long.txt"].message
    assert rows.keys() == {"short.txt"}


def test_rows_do_not_depend_on_the_batch(shared_data):
    folder = shared_data / "tables" / "icdar2013" / "competition-dataset-eu"
    paths = [folder / f"eu-00{i}.pdf" for i in (2, 3, 5)]
    together, _ = parse(*paths)
    alone = {}
    for path in reversed(paths):
        alone |= parse(path)[0]
    assert together == alone


def test_only_what_shapes_the_output_is_open_to_the_stage_key():
    extra = ParseSettings.model_fields["limits"].json_schema_extra
    assert extra == {"shapes_output": False}
    assert set(STAGE.fingerprint(SETTINGS)) >= {"pymupdf", "lxml", "markdown-it-py", "charset-normalizer"}
