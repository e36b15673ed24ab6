"""Media types from bytes. What a name or a server declares is only a hint between kinds of text."""

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType

PDF = "application/pdf"
HTML = "text/html"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
BINARY = "application/octet-stream"
XML = "application/xml"
ZIP = "application/zip"
_OOXML = "application/vnd.openxmlformats-officedocument."
DOCX = _OOXML + "wordprocessingml.document"
XLSX = _OOXML + "spreadsheetml.sheet"
PPTX = _OOXML + "presentationml.presentation"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
ODT = "application/vnd.oasis.opendocument.text"
RTF = "application/rtf"
EPUB = "application/epub+zip"
EMAIL = "message/rfc822"
DOC = "application/msword"
XLS = "application/vnd.ms-excel"
PPT = "application/vnd.ms-powerpoint"
OLE = "application/x-ole-storage"
ENCRYPTED_OFFICE = "application/x-encrypted-office"
"""An Office file under a password; there is no registered name."""

SUFFIX_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".pdf": PDF,
        ".html": HTML,
        ".htm": HTML,
        ".xhtml": HTML,
        ".md": MARKDOWN,
        ".markdown": MARKDOWN,
        ".mdown": MARKDOWN,
        ".mkd": MARKDOWN,
        ".txt": PLAIN,
        ".text": PLAIN,
        ".log": PLAIN,
        ".csv": CSV,
        ".tsv": TSV,
        ".tab": TSV,
        ".json": JSON,
        ".xml": XML,
        ".svg": "image/svg+xml",
        ".rtf": RTF,
        ".doc": DOC,
        ".xls": XLS,
        ".ppt": PPT,
        ".msg": "application/vnd.ms-outlook",
        ".docx": DOCX,
        ".docm": DOCX,
        ".dotx": DOCX,
        ".xlsx": XLSX,
        ".xlsm": XLSX,
        ".pptx": PPTX,
        ".pptm": PPTX,
        ".ppsx": PPTX,
        ".odt": ODT,
        ".ods": "application/vnd.oasis.opendocument.spreadsheet",
        ".odp": "application/vnd.oasis.opendocument.presentation",
        ".epub": EPUB,
        ".eml": EMAIL,
        ".mht": EMAIL,
        ".mhtml": EMAIL,
        ".png": "image/png",
        ".jpg": "image/jpeg",
        ".jpeg": "image/jpeg",
        ".gif": "image/gif",
        ".tif": "image/tiff",
        ".tiff": "image/tiff",
        ".webp": "image/webp",
        ".zip": ZIP,
        ".gz": "application/gzip",
    }
)
"""A table of our own: the one in `mimetypes` depends on the machine."""

_ALIASES = {
    "application/x-pdf": PDF,
    "application/xhtml+xml": HTML,
    "text/x-markdown": MARKDOWN,
    "text/x-web-markdown": MARKDOWN,
    "text/xml": XML,
    "application/x-zip-compressed": ZIP,
    "application/x-gzip": "application/gzip",
    "text/rtf": RTF,
    "text/comma-separated-values": CSV,
    "application/csv": CSV,
    "multipart/related": EMAIL,
    "application/x-mimearchive": EMAIL,
    "image/jpg": "image/jpeg",
    "image/x-png": "image/png",
    "image/tif": "image/tiff",
    "text/json": JSON,
    "application/ld+json": JSON,
    "application/rss+xml": XML,
    "application/atom+xml": XML,
    "application/vnd.ms-word.document.macroenabled.12": DOCX,
    "application/vnd.ms-excel.sheet.macroenabled.12": XLSX,
    "application/vnd.ms-powerpoint.presentation.macroenabled.12": PPTX,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template": DOCX,
    "application/vnd.openxmlformats-officedocument.presentationml.slideshow": PPTX,
}

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"II+\x00", "image/tiff"),
    (b"MM\x00+", "image/tiff"),
    (b"\x1f\x8b", "application/gzip"),
    (b"{\\rtf", RTF),
    (b"%!PS", "application/postscript"),
)

_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STREAMS = (
    ("EncryptedPackage", ENCRYPTED_OFFICE),
    ("WordDocument", DOC),
    ("Workbook", XLS),
    ("Book", XLS),
    ("PowerPoint Document", PPT),
    ("__properties_version1.0", "application/vnd.ms-outlook"),
)
"""The stream by which the old Office formats, and files under a password, tell themselves apart."""

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)

_HEAD = 8192
_PDF_WINDOW = 1024
_CONTROL = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
"""Bytes that text does not hold (the WHATWG MIME Sniffing Standard's binary data bytes)."""

_BEFORE_FIRST_TAG = re.compile(r"(?:\s+|<!--.*?-->|<\?xml.*?\?>)*", re.DOTALL)
_PAGE_START = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_FRAGMENT_START = re.compile(
    r"<(?:script|iframe|h[1-6]|div|font|table|a|style|title|b|br|p|meta|link|section|article|main|header|nav|ul|ol"
    r"|span|form|center|base)\b[^>]*>",
    re.IGNORECASE,
)
_HEADER = r"[!-9;-~]+[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*"
_HEADERS = re.compile(rf"(?:{_HEADER})+")
_HEADER_NAME = re.compile(r"^([!-9;-~]+?)[ \t]*:", re.MULTILINE)
_MAIL_TRACES = frozenset({"received", "return-path", "message-id", "mime-version", "delivered-to"})
"""Headers that programs write; a person's letter may begin with `From:` and `Date:` as well."""
_MAIL_NAMES = frozenset({"from", "to", "cc", "date", "subject", "reply-to", "content-type", *_MAIL_TRACES})
_ANY_TAG = re.compile(r"<[a-z][^>]*>", re.IGNORECASE)


def declared_type(name: str) -> str | None:
    """The media type that a file name or URL path declares by its suffix; null for an unknown one.

    >>> declared_type("reports/2024.PDF"), declared_type("README")
    ('application/pdf', None)
    """
    return SUFFIX_TYPES.get(PurePosixPath(name).suffix.lower())


def canonical_type(media_type: str) -> str:
    """A media type without parameters, in lower case, with its aliases made one.

    >>> canonical_type("Text/X-Markdown; charset=utf-8")
    'text/markdown'
    """
    bare = media_type.partition(";")[0].strip().lower()
    return _ALIASES.get(bare, bare)


def types_agree(declared: str, sniffed: str) -> bool:
    """Whether a declared type is compatible with what the bytes say.

    Bytes cannot tell plain text from Markdown, CSV, JSON and other text without markup, so those agree.

    >>> types_agree("text/plain", "text/markdown"), types_agree("application/pdf", "text/html")
    (True, False)
    """
    declared, sniffed = canonical_type(declared), canonical_type(sniffed)
    if declared == sniffed:
        return True
    if sniffed in (MARKDOWN, CSV, TSV, JSON):
        return declared == PLAIN
    is_text = declared.startswith("text/") or declared.endswith(("/json", "+json", "/yaml", "/x-yaml", "/javascript"))
    return sniffed == PLAIN and is_text and declared != HTML


def sniff(data: bytes, declared: str | None = None) -> str:
    """The media type of these bytes.

    `declared` decides only what bytes leave open: Markdown, CSV, JSON, XML or plain text, a page's fragment or
    Markdown with tags in it. It never turns binary data into text or a web page into a PDF.

    >>> sniff(b"<!-- x --><!DOCTYPE html><p>No such page", "application/pdf")
    'text/html'
    >>> sniff(b"# Title", "text/markdown"), sniff(b"# Title"), sniff(bytes(range(32)))
    ('text/markdown', 'text/plain', 'application/octet-stream')
    """
    hint = canonical_type(declared) if declared else None
    if data.lstrip()[:5] == b"%PDF-":
        return PDF
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    if data.startswith(_OLE_MAGIC):
        return next((kind for name, kind in _OLE_STREAMS if name.encode("utf-16-le") in data), OLE)
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    text = _head_text(data)
    if text is not None and _is_mail(text, hint):
        return EMAIL
    # A page that begins as one is one, whatever its bytes do later (EBCDIC, a broken export).
    marked_up = _markup_type(data[:_HEAD].decode("latin-1"), None) if text is None else _markup_type(text, hint)
    if marked_up is not None:
        return marked_up
    # Junk before a PDF's header is common; a text that mentions the header is not a PDF.
    if b"%PDF-" in data[:_PDF_WINDOW] and (text is None or hint == PDF):
        return PDF
    if text is None:
        return BINARY
    if hint == JSON:
        return JSON if text.lstrip()[:1] in ("{", "[") else PLAIN
    return hint if hint in (MARKDOWN, CSV, TSV) else PLAIN


def _is_mail(text: str, hint: str | None) -> bool:
    """Whether a text begins with the headers of a message: declared ones need one of the usual names, others three of
    them, one of which only programs write.
    """
    match = _HEADERS.match(text.replace("\r\n", "\n"))
    names = {name.lower() for name in _HEADER_NAME.findall(match.group())} if match else set()
    if hint == EMAIL:
        return bool(names & _MAIL_NAMES)
    return len(names & _MAIL_NAMES) >= 3 and bool(names & _MAIL_TRACES)


def _markup_type(text: str, hint: str | None) -> str | None:
    before = _BEFORE_FIRST_TAG.match(text)
    start = before.end() if before else 0
    if _PAGE_START.match(text, start):
        return HTML
    if text.startswith("<svg", start):
        return "image/svg+xml"
    if text.lstrip().startswith("<?xml"):
        return XML
    if hint == XML and re.match(r"<[A-Za-z_!]", text[start:]):
        return XML
    if hint == MARKDOWN:
        return None
    if _FRAGMENT_START.match(text, start) or (hint == HTML and _ANY_TAG.search(text)):
        return HTML
    return None


def _head_text(data: bytes) -> str | None:
    """The beginning of the data as text (bytes above ASCII are not interpreted), or null if it is binary."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) : _HEAD].decode(encoding, "replace")
    head = data[:_HEAD]
    if b"\x00" in head:
        wide = _utf16_without_bom(head)
        if wide is not None:
            return wide
    # A stray control character (an old end-of-file mark, a broken export) does not make a text binary.
    strange = len(head) - len(head.rstrip(b"\x1a").translate(None, _CONTROL)) - head.count(b"\x1a", -1)
    if strange * 200 > len(head):
        return None
    return head.decode("latin-1")


def _utf16_without_bom(head: bytes) -> str | None:
    """UTF-16 of mostly Latin text has a zero in every other byte."""
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    for zeros, others, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if half >= 2 and zeros > 0.7 * half and others < 0.05 * half:
            return head[: half * 2].decode(encoding, "replace")
    return None


def _zip_type(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if names[:1] == ["mimetype"] and archive.getinfo("mimetype").file_size < 200:
                stated = archive.read("mimetype").decode("ascii", "replace").strip()
                if re.fullmatch(r"application/[\w.+-]+", stated):
                    return stated
    except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError, OSError):
        # A damaged archive is still a document of its kind: names stand uncompressed before each entry.
        names = [name for name in ("word/document.xml", "xl/workbook.xml", "ppt/presentation.xml") if _has(data, name)]
    if "META-INF/container.xml" in names:
        return EPUB
    for folder, media_type in (("word/", DOCX), ("xl/", XLSX), ("ppt/", PPTX)):
        if any(name.startswith(folder) for name in names):
            return media_type
    return ZIP


def _has(data: bytes, name: str) -> bool:
    return name.encode() in data
