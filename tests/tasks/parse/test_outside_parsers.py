"""What another parser made of the documents is judged in place of our own parsing, and is part of the key."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from fpdf import FPDF
from pydantic import ValidationError

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import FETCH
from tasks.documents.cage import CageLimits
from tasks.errors import DocumentError
from tasks.parse.outside_files import OutsideSettings, outside_digest, outside_files
from tasks.parse.settings import ParseSettings
from tasks.parse.stage import STAGE
from tasks.run.configuration import load_configuration
from tasks.stage import Batch, Resources
from tests.tasks.parse.stage_by_hand import Files


@pytest.fixture
def pdf(tmp_path):
    document = FPDF()
    document.set_font("helvetica", size=12)
    for number in (1, 2, 3):
        document.add_page()
        document.cell(text=f"Our own words of page {number}")
    path = tmp_path / "corpus" / "sub" / "a.pdf"
    path.parent.mkdir(parents=True)
    document.output(path)
    return path


def parse(path, folder, **outside):
    settings = ParseSettings(
        backends={"pdf": "outside"},
        outside=OutsideSettings(folder=folder, **outside),
        limits=CageLimits(seconds_per_document=60),
    )
    document = {
        "document_id": "d", "source": "s", "uri": "sub/a.pdf", "locator": str(path), "doc_class": "c", "tenant": "t",
        "groups": [], "cohort": "new",
    }  # fmt: skip
    fetched = {
        "document_id": "d", "content_sha": Files.name(path), "size_bytes": 1, "media_type": "application/pdf",
        "unchanged": False,
    }  # fmt: skip
    batch = Batch(
        pa.Table.from_pylist([document], schema=DOCUMENTS),
        {StageName.FETCH: pa.Table.from_pylist([fetched], schema=FETCH)},
    )
    output = STAGE.run(batch, settings, Resources(Files([path]), Path()))
    return (output.table.to_pylist() or [None])[0], (output.failures or (None,))[0]


def written(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def kinds(row):
    return [(e["kind"], e["level"], e["page"], e["text"]) for e in row["elements"]]


def test_a_markdown_file_a_page(pdf, tmp_path):
    folder = written(
        tmp_path / "out",
        {
            "sub/a.pdf.1.md": "# Pumps\n\nTheir pump.\n",
            "sub/a.pdf.03.md": "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "sub/a.pdf.x.md": "no page",
        },
    )
    row, failure = parse(pdf, folder)
    assert failure is None
    assert kinds(row) == [
        ("heading", 1, 1, "Pumps"),
        ("paragraph", None, 1, "Their pump."),
        ("table", None, 3, "a\tb\n1\t2"),
    ]
    assert row["elements"][2]["section_path"] == ["Pumps"]
    # The PDF has three pages; nothing came of the second.
    assert (row["pages"], row["pages_without_output"]) == (3, [2])
    assert row["parser"] == "outside (markdown)"


@pytest.mark.parametrize(
    ("name", "documents"),
    [
        ("sub/a.pdf.html", "{path}"),
        ("s/sub/a.pdf.html", "{path}"),
        ("sub/a.html", "{stem}"),
        ("s/sub/a.html", "{stem}"),
    ],
)
def test_one_page_of_html(pdf, tmp_path, name, documents):
    folder = written(tmp_path / "out", {name: "<h1>Pumps</h1><p>Their pump.</p>"})
    row, _ = parse(pdf, folder, documents=documents)
    assert kinds(row) == [("heading", 1, None, "Pumps"), ("paragraph", None, None, "Their pump.")]
    assert (row["pages"], row["pages_without_output"]) == (1, [])


def test_a_list_of_elements(pdf, tmp_path):
    listed = [
        {"kind": "heading", "text": "Pumps", "level": 2, "page": 1, "bbox": [1, 2, 3, 4], "confidence": 0.9},
        {
            "kind": "table",
            "html": "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
            "page": 2,
        },
        {"kind": "table", "text": "c\td\n3\t4", "page": 3},
    ]
    folder = written(tmp_path / "out", {"sub/a.pdf.json": json.dumps({"elements": listed})})
    row, _ = parse(pdf, folder)
    assert kinds(row) == [
        ("heading", 2, 1, "Pumps"),
        ("table", None, 2, "a\tb\n1\t2"),
        ("table", None, 3, "c\td\n3\t4"),
    ]
    assert row["elements"][0]["bbox"] == [1, 2, 3, 4]
    assert row["elements"][2]["html"] == "<table><tr><td>c</td><td>d</td></tr><tr><td>3</td><td>4</td></tr></table>"
    assert row["pages_without_output"] == []


@pytest.mark.parametrize(
    ("data", "where"),
    [("{", "JSONDecodeError"), ('[{"kind": "poem", "text": "secret"}]', "0.kind: enum"), ("3", "list")],
)
def test_a_list_that_is_none_is_quarantined_without_its_text(pdf, tmp_path, data, where):
    _, failure = parse(pdf, written(tmp_path / "out", {"sub/a.pdf.json": data}))
    assert failure.error_class == "outside_invalid"
    assert where in failure.message
    assert "secret" not in failure.message


def test_missing_and_empty_output_is_quarantined(pdf, tmp_path):
    _, failure = parse(pdf, written(tmp_path / "out", {"sub/b.md": "Other"}))
    assert (failure.error_class, failure.transient) == ("outside_missing", False)
    assert "run the other parser" in failure.remedy
    _, failure = parse(pdf, written(tmp_path / "out", {"sub/a.pdf.md": " \n"}))
    assert failure.error_class == "empty_parse"
    # A form that is asked for is not replaced by another that is there.
    _, failure = parse(pdf, tmp_path / "out", format="html")
    assert failure.error_class == "outside_missing"


def test_names_of_pages_are_settable_and_checked(tmp_path):
    written(tmp_path, {"x_pg1_repeat1.md": "one", "x_pg12_repeat1.md": "twelve", "x_pg1_repeat2.md": "again"})
    settings = OutsideSettings(folder=tmp_path, pages="{stem}_pg{page}_repeat1.md")
    assert sorted(outside_files(settings, "s", "x.pdf").files) == [1, 12]
    for wrong in ("{path}.md", "{page}.md", "{path}{page}{name}.md"):
        with pytest.raises(ValidationError):
            OutsideSettings(folder=tmp_path, pages=wrong)


def test_no_path_leads_out_of_the_folder(tmp_path):
    written(tmp_path, {"secret.md": "x", "out/a.md": "x", "out/example.org/notes/a.md": "x"})
    settings = OutsideSettings(folder=tmp_path / "out")
    for uri in ("../secret.pdf", "/secret.pdf", "https://example.org/../../secret.pdf", "https://example.org/%2e%2e/a"):
        with pytest.raises(DocumentError):
            outside_files(settings, "s", uri)
    stems = OutsideSettings(folder=tmp_path / "out", documents="{stem}")
    assert outside_files(stems, "s", "https://example.org/notes/a.pdf").files[0].name == "a.md"


def test_different_documents_never_have_the_same_output(tmp_path):
    uris = (
        "a.pdf", "a.docx", "{page}.pdf", "https://x.org/a", "https://x.org/a?id=1", "https://x.org/a?id=2",
        "https://x.org/a?at=1/2", "https://x.org/a%3Fid=1", "https://x.org/a/", "https://x.org/", "https://x.org/?id=1",
        "https://x.org/a%2Fb", "https://x.org/a/b", "https://x.org/a%252Fb", "https://y.org/a", "https://x.org/gr%C3%BC%C3%9Fe",
    )  # fmt: skip
    names = (
        "a.pdf", "a.docx", "{page}.pdf", "x.org/a", "x.org/a?id=1", "x.org/a?id=2",
        "x.org/a?at=1%2F2", "x.org/a%3Fid=1", "x.org/a/", "x.org/", "x.org/?id=1",
        "x.org/a%2Fb", "x.org/a/b", "x.org/a%252Fb", "y.org/a", "x.org/grüße",
    )  # fmt: skip
    written(tmp_path / "whole", {f"{name}.md": uri for name, uri in zip(names, uris, strict=True)})
    written(tmp_path / "pages", {f"{name}.1.md": uri for name, uri in zip(names, uris, strict=True)})
    for uri in uris:
        for folder, page in (("whole", 0), ("pages", 1)):
            found = outside_files(OutsideSettings(folder=tmp_path / folder), "s", uri)
            assert found.files[page].read_text(encoding="utf-8") == uri
    # On a disk these would be the same as another; the last is longer than a file's name may be.
    for uri in ("https://x.org/a//b", "https://x.org/./a", "https://x.org/a?" + "q" * 300):
        with pytest.raises(DocumentError, match="no output"):
            outside_files(OutsideSettings(folder=tmp_path / "whole"), "s", uri)
    # What the path is called without its suffix does not lose the end of the query.
    written(tmp_path / "stems", {"x.org/a?v=1.2.md": "1.2", "x.org/a?v=1.3.md": "1.3"})
    stems = OutsideSettings(folder=tmp_path / "stems", documents="{stem}")
    assert outside_files(stems, "s", "https://x.org/a.pdf?v=1.3").files[0].read_text() == "1.3"


def test_what_the_files_hold_is_in_the_key_and_where_they_lie_is_not(tmp_path):
    one, two = (written(tmp_path / name, {"a.pdf.md": "Their words."}) for name in ("one", "two"))
    first, second = (outside_digest(OutsideSettings(folder=folder), "s", "a.pdf") for folder in (one, two))
    assert first == second
    written(one, {"a.pdf.md": "Their new words."})
    assert outside_digest(OutsideSettings(folder=one), "s", "a.pdf") != first
    assert outside_digest(OutsideSettings(folder=one), "s", "b.pdf") == "none"
    settings = ParseSettings(backends={"pdf": "outside"}, outside=OutsideSettings(folder=one))
    assert STAGE.attachments({"source": "s", "uri": "a.pdf"}, settings).keys() == {"outside"}
    assert STAGE.attachments({"source": "s", "uri": "a.pdf"}, ParseSettings()) == {}


def test_backend_and_folder_belong_together(tmp_path):
    with pytest.raises(ValidationError, match=r"outside\.folder is not set"):
        ParseSettings(backends={"pdf": "outside"})
    with pytest.raises(ValidationError, match="no format has the backend"):
        ParseSettings(outside=OutsideSettings(folder=tmp_path))


def test_the_folder_is_relative_to_the_configuration(tmp_path):
    (tmp_path / "c.yaml").write_text(
        "lake: lake\nsources: [{type: files, name: s, root: corpus}]\n"
        "stages: {parse: {backends: {pdf: outside}, outside: {folder: theirs}}}\n"
    )
    (tmp_path / "corpus").mkdir()
    assert load_configuration(tmp_path / "c.yaml").stages.parse.outside.folder == (tmp_path / "theirs").resolve()
