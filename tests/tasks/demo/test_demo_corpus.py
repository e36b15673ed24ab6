"""The demo corpus: same bytes every time, labels that agree with the files, readable PDFs."""

import hashlib
import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
import yaml

from tasks.demo.build import DemoCorpus, build
from tasks.errors import ConfigurationError
from tasks.gold.gold_set import read_gold_set

STATES = ("healthy", "regressed")


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DemoCorpus]:
    return {state: build(tmp_path_factory.mktemp(state), state=state) for state in STATES}


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
    data = path.read_bytes()
    if path.suffix == ".pdf":
        return squeezed(pdf_text(data))
    text = data.decode()
    if path.suffix == ".html":
        text = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(script|style).*?</\1>", "", text)))
    else:
        text = re.sub(r"\]\([^)]*\)|\*\*|[\[|]", " ", text)
    return squeezed(text)


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
        "unclassified": 3,
    }
    assert len(files(demos["healthy"].corpus)) == len(demos["healthy"].documents) == 60


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


@pytest.mark.parametrize("kind", ["text", "structure", "content", "pii", "questions"])
def test_labelled_passages_stand_in_the_file(demos: dict[str, DemoCorpus], kind: str) -> None:
    demo = demos["healthy"]
    checked = 0
    for path, row in rows(demo, kind).items():
        text, label = own_text(demo.corpus / path), row["label"]
        passages = {
            "text": lambda label=label: label["text"].splitlines(),
            "structure": lambda label=label: [line for b in label["blocks"] for line in re.split(r"[\n\t]", b["text"])],
            "content": lambda label=label: [*label["must_keep"], *label["must_drop"], *label["text"].splitlines()],
            "pii": lambda label=label: [
                quote["exact"] for quote in [s["quote"] for s in label["spans"]] + label["hard_negatives"]
            ],
            "questions": lambda label=label: [q["exact"] for entry in label["questions"] for q in entry["evidence"]],
        }[kind]()
        for passage in passages:
            assert squeezed(passage) in text, (path, passage)
            checked += 1
    assert checked > 20


def test_all_people_known_to_the_authors_are_labelled_where_pii_is(demos: dict[str, DemoCorpus]) -> None:
    demo = demos["healthy"]
    folder = Path(build.__code__.co_filename).parent / "sources" / "vocabulary.yaml"
    people = yaml.safe_load(folder.read_text(encoding="utf-8"))["people"]
    for path, row in rows(demo, "pii").items():
        main = re.sub(r"(?s).*<body>", "", (demo.corpus / path).read_text(encoding="utf-8"))
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
    assert (len(gone), len(come), len(moved), len(changed)) == (4, 3, 1, 8 + 4)
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
