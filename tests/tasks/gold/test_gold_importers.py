import hashlib
from collections import Counter
from pathlib import Path

import pymupdf
import pytest

from tasks.errors import ConfigurationError
from tasks.gold.gold_set import read_gold_set
from tasks.gold.importers.formats import FORMATS
from tasks.gold.importers.registry import READERS, import_gold
from tasks.gold.kinds import ContentLabel, PageAssertionsLabel, QuestionsLabel, TablesLabel, TextLabel
from tasks.metrics.table_cells import table_cells


def test_icdar_tables_have_their_cells_and_lie_where_the_pdf_has_them(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "tables" / "icdar2013"
    summary = import_gold("icdar2013", source, tmp_path)
    assert summary.labels == {"tables": 27}
    assert [skip.split(":")[0] for skip in summary.skipped] == ["eu-009b-str.xml"]
    gold = read_gold_set(summary.gold)
    (first,) = (g for g in gold.labels if g.document == "icdar2013:competition-dataset-eu/eu-003.pdf")
    pdf = source / "competition-dataset-eu" / "eu-003.pdf"
    assert first.content_sha == hashlib.sha256(pdf.read_bytes()).hexdigest()
    assert isinstance(first.label, TablesLabel)
    table = first.label.tables[0]
    # The region's box is 92, 564, 519, 651 from the bottom of a page 792 points high.
    assert (table.page, table.bbox) == (1, (92.0, 141.0, 519.0, 228.0))
    cells = {(cell.row, cell.column): cell.text for cell in table_cells(table.html)}
    assert cells[0, 0] == ""
    assert cells[0, 2] == "FTSE Eurotop 100 companies analysed"
    with pymupdf.open(pdf) as document:
        inside = document[0].get_text("text", clip=table.bbox)
    assert "FTSE Eurotop 100" in inside


def test_article_pages_are_unpacked_and_bound_to_their_bytes(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "boilerplate" / "article-extraction-benchmark"
    summary = import_gold("article-extraction-benchmark", source, tmp_path)
    assert summary.labels == {"content": 121}
    label = read_gold_set(summary.gold).labels[0]
    assert isinstance(label.label, ContentLabel)
    page = summary.corpus / label.document.removeprefix(f"{summary.source}:")
    assert hashlib.sha256(page.read_bytes()).hexdigest() == label.content_sha
    assert b"<html" in page.read_bytes().lower()


def test_assertions_about_pages_keep_all_they_say(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "ocr" / "olmocr-bench-sample"
    summary = import_gold("olmocr-bench", source, tmp_path)
    assert (summary.labels, summary.skipped) == ({"page_assertions": 21}, ())
    gold = {g.document: g.label for g in read_gold_set(summary.gold).labels}
    counts = Counter(a.kind for label in gold.values() for a in label.assertions)
    assert counts == {"present": 30, "absent": 24, "table": 20, "order": 13, "math": 12, "baseline": 1}
    (blank,) = gold["olmocr-bench:blank_book_pg1.pdf"].assertions
    assert (blank.kind, blank.max_length) == ("baseline", 10)
    cells = {a.id: a for a in gold["olmocr-bench:olmo2-pg4.pdf"].assertions}
    assert (cells["olmo2-pg4_table01"].cell, cells["olmo2-pg4_table01"].left) == ("3.32T", "3.71T")
    assert (summary.corpus / "blank_book_pg1.pdf").is_file()


def test_assertions_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    (folder / "pdfs").mkdir(parents=True)
    (folder / "pdfs" / "a.pdf").write_bytes(b"%PDF-1.4")
    lines = [
        '{"pdf": "a.pdf", "page": 1, "id": "1", "type": "present", "text": "x", "url": "https://example.org"}',
        '{"pdf": "a.pdf", "page": 1, "id": "2", "type": "footnote", "text": "x"}',
        '{"pdf": "a.pdf", "page": 1, "id": "3", "type": "present", "text": "x", "checked": "rejected"}',
        '{"pdf": "../a.pdf", "page": 1, "id": "4", "type": "present", "text": "x"}',
        "{",
        '{"pdf": "a.pdf", "page": 0, "id": "5", "type": "present", "text": "x"}',
    ]
    (folder / "tests.jsonl").write_text("\n".join(lines))
    with pytest.raises(ConfigurationError, match=r"tests\.jsonl:5: is no JSON object\ntests\.jsonl:6: page"):
        import_gold("olmocr-bench", folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    summary = import_gold("olmocr-bench", folder, tmp_path / "out", allow_bad_rows=True)
    assert (summary.labels, summary.bad_rows) == ({"page_assertions": 1}, {"tests.jsonl": 2})
    assert read_gold_set(summary.gold).manifest.left_out == {"tests.jsonl": 2}
    assert [skip.partition(": ")[::2] for skip in summary.skipped] == [
        ("tests.jsonl:2", "its kind is not known here"),
        ("tests.jsonl:3", "its publisher rejected it"),
        ("tests.jsonl:4", "its PDF is missing"),
    ]


def test_lines_of_receipts_are_put_in_rows(tmp_path: Path) -> None:
    for name in ("img", "box"):
        (tmp_path / "data" / name).mkdir(parents=True)
    # Boxes by hand: a price beside its item, written down after the line below both.
    lines = [
        "10,10,90,10,90,30,10,30,TOTAL, RM",
        "10,40,90,40,90,60,10,60,THANK YOU",
        "100,12,140,12,140,32,100,32,9.00",
    ]
    (tmp_path / "data" / "box" / "000.csv").write_text("\n".join(lines))
    (tmp_path / "data" / "box" / "001.csv").write_text("1,2,3,x")
    for name in ("000", "001"):
        (tmp_path / "data" / "img" / f"{name}.jpg").write_bytes(b"\xff\xd8\xff")
    (tmp_path / "data" / "box" / "002.csv").write_text(lines[0])
    (tmp_path / "data" / "key").mkdir()
    (tmp_path / "data" / "key" / "000.json").write_text('{"total": "9.00", "date": "1 May"}')
    with pytest.raises(ConfigurationError, match=r"001\.csv:1: is no box with a text"):
        import_gold("sroie", tmp_path / "data", tmp_path / "out")
    summary = import_gold("sroie", tmp_path / "data", tmp_path / "out", allow_bad_rows=True)
    labels = {gold.kind: gold.label for gold in read_gold_set(summary.gold).labels}
    assert labels["text"] == TextLabel(text="TOTAL, RM 9.00\nTHANK YOU", ignores=("case",))
    (field,) = labels["page_assertions"].assertions
    assert (field.id, field.kind, field.text, field.case_sensitive) == ("total", "present", "9.00", False)
    assert [skip.split(":")[0] for skip in summary.skipped] == ["000.json", "002.csv"]
    assert summary.bad_rows == {"001.csv": 1}


def test_receipts_are_bound_to_their_images(shared_data: Path, tmp_path: Path) -> None:
    summary = import_gold("sroie", shared_data / "ocr" / "sroie", tmp_path)
    assert (summary.labels, summary.bad_rows) == ({"text": 59, "page_assertions": 59}, {})
    # 59 receipts with four fields each; 20 of these are written otherwise than the lines say.
    gold = read_gold_set(summary.gold).labels
    fields = sum(len(g.label.assertions) for g in gold if isinstance(g.label, PageAssertionsLabel))
    assert (fields, len(summary.skipped)) == (59 * 4 - 20, 20)
    label = gold[0]
    image = summary.corpus / label.document.removeprefix("sroie:")
    assert hashlib.sha256(image.read_bytes()).hexdigest() == label.content_sha


def test_an_unknown_format_or_a_foreign_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="coco") as error:
        import_gold("coco", tmp_path, tmp_path)
    assert "icdar2013" in error.value.remedy
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "README.md").write_text("nothing")
    for form in FORMATS:
        with pytest.raises(ConfigurationError, match=f"holds nothing of format {form.name}$") as error:
            import_gold(form.name, tmp_path / "in", tmp_path / "out")
        assert form.expects in error.value.remedy
    assert not (tmp_path / "out").exists()


def test_questions_keep_their_exact_passages(shared_data: Path, tmp_path: Path) -> None:
    summary = import_gold("chroma-chunking-eval", shared_data / "chunking" / "chroma-chunking-eval", tmp_path)
    assert (summary.labels, summary.skipped) == ({"questions": 3}, ())
    labels = {label.document.split(":")[1]: label.label for label in read_gold_set(summary.gold).labels}
    counts = {}
    for name, label in labels.items():
        assert isinstance(label, QuestionsLabel)
        counts[name] = len(label.questions)
        text = (summary.corpus / name).read_text(encoding="utf-8")
        quotes = [quote for question in label.questions for quote in question.evidence]
        assert all(quote.prefix + quote.exact + quote.suffix in text for quote in quotes)
    # 319 questions are published.
    assert counts == {"pubmed.md": 99, "state_of_the_union.md": 76, "wikitexts.md": 144}


def test_a_passage_that_moved_and_a_strange_name_are_bad_rows(tmp_path: Path) -> None:
    source = tmp_path / "in"
    (source / "corpora").mkdir(parents=True)
    (source / "corpora" / "one.md").write_text("abc def")
    (tmp_path / "secret.md").write_text("abc def")

    def row(start: int, end: int, name: str) -> str:
        return f'q?,"[{{""content"": ""def"", ""start_index"": {start}, ""end_index"": {end}}}]",{name}\n'

    rows = [row(4, 7, "one"), row(3, 6, "one"), row(4, 7, "../../secret"), "q?,none,one\n"]
    (source / "questions_df.csv").write_text("question,references,corpus_id\n" + "".join(rows))
    with pytest.raises(ConfigurationError) as error:
        import_gold("chroma-chunking-eval", source, tmp_path / "out")
    assert str(error.value).split("\n")[1:] == [
        "questions_df.csv:3: a passage does not stand at its place",
        "questions_df.csv:4: names no text of corpora/, or is no question with references",
        "questions_df.csv:5: its references are none",
    ]
    summary = import_gold("chroma-chunking-eval", source, tmp_path / "out", allow_bad_rows=True)
    assert (summary.labels, summary.bad_rows) == ({"questions": 1}, {"questions_df.csv": 3})


def test_the_help_names_every_format() -> None:
    assert sorted(READERS) == [form.name for form in FORMATS]
