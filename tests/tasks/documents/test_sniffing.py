"""The media type follows from the bytes; names and declarations only settle what bytes leave open."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.documents.sniff import (
    BINARY,
    CSV,
    DOC,
    DOCX,
    EMAIL,
    ENCRYPTED_OFFICE,
    EPUB,
    HTML,
    JSON,
    MARKDOWN,
    PDF,
    PLAIN,
    PPTX,
    RTF,
    XLSX,
    XML,
    ZIP,
    sniff,
    types_agree,
)


def archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name in names:
            made.writestr(name, "x")
    return buffer.getvalue()


WORD = archive("[Content_Types].xml", "word/document.xml")
TEXT = "The pump is serviced once a year. Größe: 5 µm.\n"
BINARY_JUNK = bytes(range(256)) * 3

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


@pytest.mark.parametrize(
    ("data", "declared", "expected"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", None, PDF),
        (b"\r\n %PDF-1.4\n", HTML, PDF),
        (BINARY_JUNK + b"%PDF-1.7\n", None, PDF),
        (b"junk before the header\n%PDF-1.7\n", PDF, PDF),
        (b"# The header\n\nA file begins with %PDF-1.7.\n", MARKDOWN, MARKDOWN),
        (b"A file begins with %PDF-1.7.\n", None, PLAIN),
        (BINARY_JUNK * 2 + b"%PDF-1.7\n", None, BINARY),
        (b"<html><body>404, was %PDF-1.7", PDF, HTML),
        (b"\xef\xbb\xbf<!-- made by hand -->\n<!DOCTYPE HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>", PDF, HTML),
        (b"<?xml version='1.0'?>\n<!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'>", None, HTML),
        ("\ufeff<html><p>caf\u00e9</p>".encode("utf-16-le"), None, HTML),
        ("<html><p>without a mark</p>".encode("utf-16-be"), None, HTML),
        (b"<HTML><BODY>" + BINARY_JUNK, None, HTML),
        (b"<div class='x'>a fragment</div>", None, HTML),
        (b"<custom-header>x</custom-header>", HTML, HTML),
        (b"<div align='center'>\n\n# Project\n</div>", MARKDOWN, MARKDOWN),
        (b"<!-- lint off -->\n# Project\n", MARKDOWN, MARKDOWN),
        (b"<?xml version='1.0'?><feed/>", None, XML),
        (b"1 <b and b> 2", None, PLAIN),
        (TEXT.encode(), MARKDOWN, MARKDOWN),
        (TEXT.encode("cp1252"), None, PLAIN),
        (TEXT.encode("utf-16"), None, PLAIN),
        (TEXT.encode("utf-16-le"), None, PLAIN),
        (TEXT.encode() + b"\x1a", None, PLAIN),
        (BINARY_JUNK, MARKDOWN, BINARY),
        (b"\x89PNG\r\n\x1a\n\x00", None, "image/png"),
        (b"\xff\xd8\xff\xe0", PDF, "image/jpeg"),
        (gzip.compress(b"<html>", mtime=0), HTML, "application/gzip"),
        (WORD, None, DOCX),
        (WORD[:-30], DOCX, DOCX),
        (b"a,b\n1,2\n", CSV, CSV),
        (b"a,b\n1,2\n", None, PLAIN),
        (b' {"a": 1}', JSON, JSON),
        (b"[1, 2]", "application/json; charset=utf-8", JSON),
        (b'{"a": 1}', None, PLAIN),
        (b"no value", JSON, PLAIN),
        (b"<html><p>an error page</p>", JSON, HTML),
        (b"<feed><title>x</title></feed>", XML, XML),
        (b"<feed><title>x</title></feed>", None, PLAIN),
        (b"<!DOCTYPE html><title>x</title>", XML, HTML),
        (b"<a> is not closed, 1 < 2", PLAIN, HTML),
        (b"II+\x00\x08\x00", None, "image/tiff"),
        (b"{\\rtf1\\ansi a}", DOC, RTF),
        (archive("mimetype", "META-INF/container.xml"), None, EPUB),
        (archive("[Content_Types].xml", "ppt/presentation.xml"), DOCX, PPTX),
        (b"<html><p>an error page</p>", CSV, HTML),
        (b"Return-Path: <a@example.org>\r\nFrom: a@example.org\r\nSubject: x\r\n\r\nHello", None, EMAIL),
        (b"From: a@example.org\nTo: b@example.org\nDate: Monday\n\nA letter that was typed.", None, PLAIN),
        (b"Subject: x\n\nHello", EMAIL, EMAIL),
        (b"Dear Ann,\n\nthis is no message.", EMAIL, PLAIN),
        (OLE + "WordDocument".encode("utf-16-le"), None, DOC),
        (OLE + "EncryptedPackage".encode("utf-16-le"), DOCX, ENCRYPTED_OFFICE),
        (archive("[Content_Types].xml", "xl/workbook.xml"), ZIP, XLSX),
        (archive("readme.txt", "old/word/x"), DOCX, ZIP),
        (b"PK\x03\x04 not an archive", DOCX, ZIP),
    ],
)
def test_bytes_decide(data: bytes, declared: str | None, expected: str) -> None:
    assert sniff(data, declared) == expected


@pytest.mark.parametrize(
    ("declared", "sniffed", "agree"),
    [
        ("text/html; charset=ISO-8859-1", HTML, True),
        ("application/xhtml+xml", HTML, True),
        ("text/x-markdown", MARKDOWN, True),
        ("text/plain", MARKDOWN, True),
        ("text/markdown", PLAIN, True),
        ("text/csv", PLAIN, True),
        ("application/json", PLAIN, True),
        ("text/plain", JSON, True),
        ("application/vnd.ms-word.document.macroEnabled.12", DOCX, True),
        (HTML, PLAIN, False),
        (HTML, MARKDOWN, False),
        (PDF, HTML, False),
        ("application/octet-stream", PDF, False),
    ],
)
def test_declared_types_agree_by_meaning(declared: str, sniffed: str, agree: bool) -> None:
    assert types_agree(declared, sniffed) is agree


@given(st.binary(max_size=3000), st.sampled_from([None, PDF, HTML, MARKDOWN, PLAIN, DOCX, "nonsense"]))
def test_any_bytes_have_a_type(data: bytes, declared: str | None) -> None:
    assert "/" in sniff(data, declared)


def test_real_files_are_what_their_collections_say(shared_data: Path) -> None:
    synthetic = shared_data / "messy" / "synthetic"
    assert sniff((synthetic / "html_named.pdf").read_bytes(), PDF) == HTML
    pdfs = [path for path in (shared_data / "messy").rglob("*.pdf") if path.parent != synthetic]
    assert len(pdfs) > 20
    assert {sniff(path.read_bytes()) for path in pdfs} == {PDF}
