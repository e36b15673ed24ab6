"""Every format that is a ZIP of XML: entities stay what they are, sizes have limits, no name leads out of the archive.

Each holds for the parser and for the second reader, which is another library.
"""

import re
import zipfile
from pathlib import Path

import pytest
from odfdo import Document, Paragraph

from tasks.documents.archives import ContainerLimits
from tasks.documents.raw_text import UnreadableError, read_raw
from tasks.documents.sniff import sniff
from tasks.parse.settings import ParseSettings
from tests.tasks.parse.office_files import plan_xlsx, report_docx, slides_pptx
from tests.tasks.parse.stage_by_hand import SETTINGS, parse, text_of
from tests.tasks.parse.test_parse_other_office import book

SECRET = "the secret of another file"
REFUSED = ["archive_limit", "unreadable"]
"""What the parser says of a file over a limit, and what the second reader does."""


def odt(path: Path) -> Path:
    document = Document("text")
    document.body.clear()
    for words in ("The weir is closed.", "Nobody turns the pump by night."):
        document.body.append(Paragraph(words))
    document.save(path)
    return path


MAKERS = {"docx": report_docx, "pptx": slides_pptx, "xlsx": plan_xlsx, "odt": odt, "epub": book}


@pytest.fixture(params=sorted(MAKERS))
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A sound file of each format."""
    return MAKERS[request.param](tmp_path / f"file.{request.param}")


def rewritten(path: Path, change, **added: bytes) -> Path:
    """The archive with every member changed and some added."""
    with zipfile.ZipFile(path) as archive:
        members = [(member, archive.read(member)) for member in archive.infolist()]
    target = path.with_stem("hostile")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members:
            archive.writestr(member, change(member.filename, data), compress_type=member.compress_type)
        for name, data in added.items():
            archive.writestr(name, data)
    return target


def read_twice(path: Path, settings: ParseSettings = SETTINGS) -> tuple[str, list[str]]:
    """All that the parser and the second reader say of a file, and the error classes of those that refuse it."""
    rows, failures = parse(path, settings=settings)
    said = [text_of(row) for row in rows.values()]
    refused = [failure.error_class for failure in failures.values()]
    data = path.read_bytes()
    try:
        raw = read_raw(data, sniff(data), containers=settings.containers)
        said.append(repr(raw))
    except UnreadableError:
        refused.append("unreadable")
    return "\n".join(said), refused


def test_a_sound_file_is_read_by_both(whole: Path) -> None:
    said, refused = read_twice(whole)
    assert said
    assert refused == []


def test_entities_are_neither_expanded_nor_fetched(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET, encoding="utf-8")
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    outside = f'<!ENTITY f SYSTEM "{(tmp_path / "secret.txt").as_uri()}">'
    doctype = f'<!DOCTYPE x [<!ENTITY l0 "haha">{laughs}{outside}]>'.encode()

    def change(name: str, data: bytes) -> bytes:
        if not name.endswith((".xml", ".xhtml", ".opf", ".rels")):
            return data
        head = re.match(rb"\s*(<\?xml[^>]*\?>)?", data)
        assert head is not None
        # Behind the first letters of each text, so that whatever is shown would show it.
        body = re.sub(rb">([A-Za-z][^<>&]{3,})<", rb">\1 &l9; &f;<", data[head.end() :])
        return head.group(0) + doctype + body

    said, refused = read_twice(rewritten(whole, change))
    assert SECRET not in said
    assert "hahahaha" not in said
    assert said or refused


def test_a_part_that_unpacks_without_end_is_refused_by_both(whole: Path) -> None:
    hostile = rewritten(whole, lambda _, data: data, **{"word/zeros.xml": b"0" * (20 * 2**20)})
    assert read_twice(hostile)[1] == REFUSED


def test_limits_of_size_and_number_hold_for_both(whole: Path) -> None:
    noise = {f"extra/{i}.xml": b"<a/>" for i in range(60)}
    few = ParseSettings(containers=ContainerLimits(max_members=50), limits=SETTINGS.limits)
    assert read_twice(rewritten(whole, lambda _, data: data, **noise), few)[1] == REFUSED
    small = ParseSettings(containers=ContainerLimits(max_unpacked_mb=1), limits=SETTINGS.limits)
    large = {"extra/a.xml": b"0" * (2 * 2**20)}
    assert read_twice(rewritten(whole, lambda _, data: data, **large), small)[1] == REFUSED


def test_names_that_lead_out_of_the_archive_write_nothing(whole: Path, tmp_path: Path) -> None:
    names = {"../../escaped.xml": b"<a/>", "/escaped.xml": b"<a/>", "..\\escaped.xml": b"<a/>"}
    before = set(tmp_path.parent.rglob("*"))
    said, refused = read_twice(rewritten(whole, lambda _, data: data, **names))
    assert said or refused
    new = set(tmp_path.parent.rglob("*")) - before
    assert {path.name for path in new} == {f"hostile{whole.suffix}"}
    assert not Path("/escaped.xml").exists()
