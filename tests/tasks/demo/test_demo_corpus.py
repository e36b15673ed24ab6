"""The demo corpus: same bytes every time, labels that agree with the files, readable PDFs."""

import csv
import email
import hashlib
import html
import io
import json
import re
import zipfile
from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pypdfium2
import pytest
import yaml

from tasks.demo.build import DemoCorpus, build
from tasks.errors import ConfigurationError
from tasks.gold.gold_set import read_gold_set

STATES = ("healthy", "regressed")


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DemoCorpus]:
    copies = build(tmp_path_factory.mktemp("copies"), copies=2, seed=7)
    return {state: build(tmp_path_factory.mktemp(state), state=state) for state in STATES} | {"copies": copies}


def files(folder: Path) -> dict[str, tuple[bytes, float]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime if "/corpus/" in str(path) else 0)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def rows(demo: DemoCorpus, kind: str) -> dict[str, dict[str, Any]]:
    """Rows of a kind by path."""
    lines = (demo.gold / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["document"].removeprefix("demo:"): row for row in map(json.loads, lines)}


def own_text(path: Path) -> str:
    """The words of a file by means that share nothing with the builder: tags, marks and line ends taken away."""
    return squeezed(words(path.read_bytes(), path.suffix))


def words(data: bytes, suffix: str) -> str:
    """The words of a file with its white space."""
    if suffix == ".pdf":
        return pdf_text(data)
    if suffix in (".docx", ".xlsx"):
        members = zipfile.ZipFile(io.BytesIO(data))
        parts = {name: members.read(name).decode() for name in members.namelist()}
        return sheets_text(parts) if suffix == ".xlsx" else tagless(parts["word/document.xml"])
    if suffix == ".eml":
        return message_text(email.message_from_bytes(data))
    text = data.decode()
    if suffix == ".html":
        text = re.sub(r"(?s).*<body>|<(script|style).*?</\1>", "", text)
        return tagless(text)
    return re.sub(r"\]\([^)]*\)|\*\*|[\[|]", " ", text)


def tagless(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", text))


def sheets_text(parts: dict[str, str]) -> str:
    """Names and cells of all sheets in order, as a reader sees them."""
    strings = [tagless(text) for text in re.findall(r"<si>(.*?)</si>", parts["xl/sharedStrings.xml"])]
    names = re.findall(r'<sheet name="(.*?)"', parts["xl/workbook.xml"])
    words = []
    for number, name in enumerate(names, 1):
        words.append(name)
        for kind, value in re.findall(r'<c r="\w+"(.*?)><v>(.*?)</v>', parts[f"xl/worksheets/sheet{number}.xml"]):
            if 't="s"' in kind:
                words.append(strings[int(value)])
            elif 's="1"' in kind:
                words.append((date(1899, 12, 30) + timedelta(days=int(value))).isoformat())
            else:
                words.append(f"{float(value):.1%}" if 's="2"' in kind else value)
    return " ".join(words)


def message_text(message: Any) -> str:
    """What a mail program shows: subject, people, date, text, and the attachment below its name."""
    text, attachment = message.get_payload()
    name = attachment.get_filename()
    held = words(attachment.get_payload(decode=True), Path(name).suffix)
    if name.endswith(".csv"):
        held = " ".join(cell for row in csv.reader(io.StringIO(held)) for cell in row)
    people = [f"{header}: {message[header]}" for header in ("From", "To", "Date")]
    return " ".join([message["Subject"], *people, text.get_payload(decode=True).decode(), name, held])


def squeezed(text: str) -> str:
    """Without white space, invisible characters and hyphens (which a line end may have added)."""
    return re.sub(r"[\s\u200b\u00ad\ufffe\x02-]+", "", text)


def pdf_text(data: bytes) -> str:
    return "\n".join(page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(data))


@pytest.mark.parametrize("state", STATES)
def test_building_twice_gives_the_same_bytes_and_times(tmp_path: Path, state: Any) -> None:
    build(tmp_path / "one", state=state, copies=2, seed=7)
    build(tmp_path / "two", state=state, copies=2, seed=7)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_another_seed_and_another_copy_give_other_facts_under_the_same_names(tmp_path: Path) -> None:
    demo = build(tmp_path, copies=2, seed=7)
    one, two = (files(demo.corpus / f"copy-000{n}") for n in (1, 2))
    assert one.keys() == two.keys()
    assert not [path for path in one if path.startswith("scans/")]
    same = {path for path in one if one[path][0] == two[path][0]}
    assert same == {"incoming/empty-scan.pdf"} | {p for p in same if not re.search(rb"\d\d", one[p][0])}
    assert len(same) < len(one) / 4
    tenants = yaml.safe_load(demo.configuration.read_text())["access"]
    assert len({rule["tenant"] for rule in tenants}) == 4


def test_every_class_has_its_documents(demos: dict[str, DemoCorpus]) -> None:
    assert demos["healthy"].by_class() == {
        "policy": 12,
        "report": 8,
        "support_note": 10,
        "article": 12,
        "bulletin": 15,
        "contract": 6,
        "sheet": 2,
        "mail": 3,
        "scan": 4,
        "unclassified": 3,
    }
    assert len(files(demos["healthy"].corpus)) == len(demos["healthy"].documents) == 75


@pytest.mark.parametrize("state", STATES)
def test_labels_are_bound_to_the_bytes_but_for_one_stale_label(demos: dict[str, DemoCorpus], state: str) -> None:
    demo = demos[state]
    gold = read_gold_set(demo.gold)
    stale = [
        (label.kind, label.document)
        for label in gold.labels
        if hashlib.sha256((demo.corpus / str(label.document).removeprefix("demo:")).read_bytes()).hexdigest()
        != label.content_sha
    ]
    expected = {"healthy": [], "regressed": [("content", "demo:policies/conduct-on-board.html")]}
    assert stale == expected[state]


@pytest.mark.parametrize("kind", ["text", "structure", "content", "pii", "questions", "entities"])
@pytest.mark.parametrize("corpus", ["healthy", "copies"])
def test_labelled_passages_stand_in_the_file(demos: dict[str, DemoCorpus], kind: str, corpus: str) -> None:
    demo = demos[corpus]
    checked = 0
    for path, row in rows(demo, kind).items():
        if path.startswith("scans/"):
            continue  # no words but those that OCR finds: test_scans_are_read_almost_as_they_were_drawn
        text, label = own_text(demo.corpus / path), row["label"]
        passages = {
            "text": lambda label=label: label["text"].splitlines(),
            "structure": lambda label=label: [line for b in label["blocks"] for line in re.split(r"[\n\t]", b["text"])],
            "content": lambda label=label: [*label["must_keep"], *label["must_drop"], *label["text"].splitlines()],
            "pii": lambda label=label: [
                quote["exact"] for quote in [s["quote"] for s in label["spans"]] + label["hard_negatives"]
            ],
            "entities": lambda label=label: [
                mention["quote"]["prefix"] + mention["quote"]["exact"] + mention["quote"]["suffix"]
                for entity in label["entities"]
                for mention in entity["mentions"]
            ],
            "questions": lambda label=label: [q["exact"] for entry in label["questions"] for q in entry["evidence"]],
        }[kind]()
        for passage in passages:
            assert squeezed(passage) in text, (path, passage)
            checked += 1
    assert checked > 10


def test_all_people_known_to_the_authors_are_labelled_where_pii_is(demos: dict[str, DemoCorpus]) -> None:
    demo = demos["healthy"]
    folder = Path(build.__code__.co_filename).parent / "sources" / "vocabulary.yaml"
    people = yaml.safe_load(folder.read_text(encoding="utf-8"))["people"]
    for path, row in rows(demo, "pii").items():
        main = words((demo.corpus / path).read_bytes(), Path(path).suffix)
        named = Counter(name for name in people for _ in re.findall(re.escape(name), main))
        labelled = Counter(s["quote"]["exact"] for s in row["label"]["spans"] if s["quote"]["exact"] in people)
        assert named == labelled, path


def test_a_quote_with_its_surroundings_names_one_place(demos: dict[str, DemoCorpus]) -> None:
    demo = demos["healthy"]
    for path, row in rows(demo, "pii").items():
        text = own_text(demo.corpus / path)
        for span in row["label"]["spans"]:
            quote = span["quote"]
            whole = squeezed(quote["prefix"] + quote["exact"] + quote["suffix"])
            assert text.count(whole) == 1, (path, whole)


@pytest.mark.parametrize("state", STATES)
def test_pairs_name_documents_of_the_corpus_and_agree_with_one_another(
    demos: dict[str, DemoCorpus], state: str
) -> None:
    demo = demos[state]
    present = {document.path for document in demo.documents}
    duplicate: set[frozenset[str]] = set()
    seen: Counter[frozenset[str]] = Counter()
    for path, row in rows(demo, "pairs").items():
        for pair in row["label"]["pairs"]:
            other = pair["other"].removeprefix("demo:")
            both = frozenset({path, other})
            assert both <= present
            assert len(both) == 2
            seen[both] += 1
            if pair["duplicate"]:
                duplicate.add(both)
    assert set(seen.values()) == {1}
    assert duplicate
    assert set(seen) - duplicate
    # Duplicates of one document are duplicates of each other.
    for one in duplicate:
        for other in duplicate:
            if len(one ^ other) == 2:
                assert one ^ other in duplicate


def test_planted_copies_are_equal_bytes(demos: dict[str, DemoCorpus]) -> None:
    shas = Counter(document.content_sha for document in demos["healthy"].documents)
    assert sorted(count for count in shas.values() if count > 1) == [2, 2]


def test_tables_of_reports_fill_their_grid(demos: dict[str, DemoCorpus]) -> None:
    for path, row in rows(demos["healthy"], "tables").items():
        for table in row["label"]["tables"]:
            cells = re.findall(r"<tr>|<t[dh]((?: \w+=\"\d\")*)>", table["html"])
            area = 0
            for spans in (cell for cell in cells if cell is not None):
                found = dict(re.findall(r"(\w+)=\"(\d)\"", spans))
                area += int(found.get("rowspan", 1)) * int(found.get("colspan", 1))
            area -= table["html"].count("<tr>")
            assert area % table["html"].count("<tr>") == 0, (path, table["html"])


def test_files_that_cannot_be_read_are_those_the_configuration_expects(demos: dict[str, DemoCorpus]) -> None:
    demo = demos["healthy"]
    unreadable = set()
    for document in demo.documents:
        if document.path.endswith(".pdf"):
            try:
                pypdfium2.PdfDocument(demo.corpus / document.path)
            except pypdfium2.PdfiumError:
                unreadable.add(document.path)
    configured = yaml.safe_load(demo.configuration.read_text())["gate"]["expected_quarantine"]
    assert unreadable == {rule["path"] for rule in configured} == set(demo.expected_quarantine)


def test_the_encrypted_file_opens_with_its_password(demos: dict[str, DemoCorpus]) -> None:
    document = pypdfium2.PdfDocument(demos["healthy"].corpus / "incoming/pier-lease.pdf", password="breakwater")
    assert "The tenant keeps the pier in repair" in document[0].get_textpage().get_text_range()


def test_the_regressed_state_breaks_the_text_of_every_report_and_leaves_the_pages_as_they_look(
    demos: dict[str, DemoCorpus],
) -> None:
    for path in (demos["healthy"].corpus / "reports").iterdir():
        after = demos["regressed"].corpus / "reports" / path.name
        letters = re.findall(r"[^\W\d_]", pdf_text(after.read_bytes()))
        private = [char for char in pdf_text(after.read_bytes()) if 0xE000 <= ord(char) <= 0xF8FF]
        assert not letters
        assert len(private) > 500
        for before_page, after_page in zip(pypdfium2.PdfDocument(path), pypdfium2.PdfDocument(after), strict=True):
            assert bytes(before_page.render().buffer) == bytes(after_page.render().buffer)


def test_between_the_states_documents_change_come_move_and_go(demos: dict[str, DemoCorpus]) -> None:
    before, after = ({d.path: d for d in demos[state].documents} for state in STATES)
    shas = {d.content_sha for d in before.values()}
    gone = before.keys() - after.keys()
    come = {path for path in after.keys() - before.keys() if after[path].content_sha not in shas}
    moved = {path for path in after.keys() - before.keys() if after[path].content_sha in shas}
    changed = {p for p in before.keys() & after.keys() if before[p].content_sha != after[p].content_sha}
    assert (len(gone), len(come), len(moved), len(changed)) == (4, 3, 1, 8 + 6)
    last = max(d.commit_time for d in before.values())
    assert all(after[path].commit_time > last for path in come | changed)
    assert {path for path in changed if path.startswith("reports/")} == {
        path for path in before if path.startswith("reports/")
    }


def test_a_later_state_replaces_an_earlier_one_and_leaves_other_files_alone(tmp_path: Path) -> None:
    build(tmp_path)
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "kept").write_text("x")
    demo = build(tmp_path, state="regressed")
    assert set(files(demo.corpus)) == {d.path for d in demo.documents}
    assert (tmp_path / "lake" / "kept").exists()


def test_a_folder_with_a_corpus_of_someone_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    with pytest.raises(ConfigurationError, match="was not written by the demo"):
        build(tmp_path)


def test_scans_hold_images_and_no_text(demos: dict[str, DemoCorpus]) -> None:
    folder = demos["healthy"].corpus / "scans"
    assert sorted(path.suffix for path in folder.iterdir()) == [".jpg", ".pdf", ".png", ".png"]
    pages = list(pypdfium2.PdfDocument(folder / "letter-insurer.pdf"))
    assert [page.get_textpage().count_chars() for page in pages] == [0, 0]
    assert [[kind.type for kind in page.get_objects()] for page in pages] == [[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE]] * 2


@pytest.mark.parametrize("path", ["contracts/marine-gas-oil.docx", "sheets/fares.xlsx"])
def test_office_files_are_read_by_another_library(demos: dict[str, DemoCorpus], path: str) -> None:
    file = demos["healthy"].corpus / path
    if path.endswith(".docx"):
        document = docx.Document(str(file))
        assert [p.text for p in document.paragraphs if p.style.name == "Heading 1"] == [
            "Quality",
            "Delivery",
            "Payment",
        ]
        table = document.tables[0]
        assert table.cell(0, 1).text == table.cell(0, 2).text == "Weekday"
        assert table.cell(1, 0).text == table.cell(0, 0).text == "Amount, litres"
        assert document.sections[0].header.paragraphs[0].text == "Skerry Line Ltd   Supply of fuel"
    else:
        book = openpyxl.load_workbook(file)
        assert book.sheetnames == ["Fares", "Sales"]
        assert book["Fares"]["D4"].value == datetime(2025, 3, 1)
        assert (book["Sales"]["D3"].value, book["Sales"]["D3"].number_format) == (0.715, "0.0%")
        assert [str(area) for area in book["Sales"].merged_cells.ranges] == ["B1:C1"]
