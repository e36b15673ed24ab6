"""Tracked changes of Word files and OpenDocument texts: read as accepted, by the parser and by the second reader."""

import zipfile

import pytest

from tasks.documents.archives import DEFAULT_LIMITS, open_archive
from tasks.documents.attribution import Attribution, attribute
from tasks.documents.raw_text import read_raw
from tasks.documents.sniff import sniff
from tasks.parse.tracked_changes import accepted
from tests.tasks.parse.office_files import bare_docx, report_docx
from tests.tasks.parse.stage_by_hand import parse

REMOVED = ("The clause that was moved away from here", "The clause that was struck out", "The row that was struck out")


def run(text, tag="t"):
    return f'<w:r><w:{tag} xml:space="preserve">{text}</w:{tag}></w:r>'


def change(kind, inner):
    return f'<w:{kind} w:id="1" w:author="x">{inner}</w:{kind}>'


def cell(inner):
    return f"<w:tc><w:p>{inner}</w:p></w:tc>"


BODY = (
    f"<w:p>{run('The first clause stays. ')}{change('moveFrom', run(REMOVED[0]))}"
    f"{change('del', run(REMOVED[1], 'delText'))}{change('ins', run('And this was put in.'))}</w:p>"
    f"<w:p>{change('moveTo', run('The clause that was moved to here.'))}</w:p>"
    "<w:tbl><w:tblGrid><w:gridCol/><w:gridCol/></w:tblGrid>"
    f"<w:tr>{cell(run('Rent'))}{cell(run('is ') + change('moveTo', run('1250')))}</w:tr>"
    f"<w:tr>{cell(run('Paid'))}{cell(change('ins', run('monthly')))}</w:tr>"
    f"<w:tr><w:trPr>{change('del', '')}</w:trPr>{cell(change('del', run(REMOVED[2], 'delText')))}</w:tr>"
    "</w:tbl><w:p/>"
)


@pytest.fixture
def lease(tmp_path):
    return bare_docx(tmp_path / "lease.docx", BODY)


def test_what_was_moved_or_put_in_stands_at_its_place(lease):
    rows, _ = parse(lease)
    assert [element["text"] for element in rows["lease.docx"]["elements"]] == [
        "The first clause stays. And this was put in.",
        "The clause that was moved to here.",
        "Rent\tis 1250\nPaid\tmonthly",
    ]


def test_the_second_reader_accepts_what_is_there_and_nothing_that_was_taken_away(lease):
    raw = read_raw(lease.read_bytes(), sniff(lease.read_bytes()))
    assert attribute("The clause that was moved to here.", raw) is Attribution.EXACT
    assert {text: attribute(text, raw) for text in REMOVED} == dict.fromkeys(REMOVED, Attribution.FAILED)


def test_a_file_without_changes_is_handed_on_byte_for_byte(tmp_path):
    data = report_docx(tmp_path / "a.docx").read_bytes()
    with open_archive(tmp_path / "a.docx", DEFAULT_LIMITS.model_dump()) as archive:
        assert accepted(data, archive) is data


def test_a_deletion_in_an_opendocument_text_is_left_out(tmp_path):
    names = (
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    )
    tracked = (
        '<text:tracked-changes><text:changed-region text:id="c1"><text:deletion><office:change-info><dc:creator>x'
        f"</dc:creator></office:change-info><text:p>{REMOVED[1]}</text:p></text:deletion></text:changed-region>"
        "</text:tracked-changes>"
    )
    content = (
        f'<?xml version="1.0"?><office:document-content {names} office:version="1.2"><office:body><office:text>'
        f"{tracked}"
        '<text:p>The first clause <text:change text:change-id="c1"/>stays as it was.</text:p>'
        "</office:text></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.text"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.2">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    )
    path = tmp_path / "lease.odt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)
    rows, failures = parse(path)
    assert not failures
    assert [element["text"] for element in rows["lease.odt"]["elements"]] == ["The first clause stays as it was."]
    raw = read_raw(path.read_bytes(), kind)
    assert attribute("The first clause stays as it was.", raw) is Attribution.EXACT
    assert attribute(REMOVED[1], raw) is Attribution.FAILED
