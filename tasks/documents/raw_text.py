"""A second reading of raw bytes, by other parsers than those of the parse stage, to check claims about places.

PDF by PDFium, HTML by a regular expression, Office files and books by the XML inside them, RTF by its control words,
messages by their MIME boundaries, everything textual by decoding and taking markup off lightly. The reading is made for
looking passages up, not for showing.

These are foreign bytes: the pipeline calls this inside the cage only (see `attribution.check_file`).
"""

import codecs
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import accumulate

from tasks.documents.archives import DEFAULT_LIMITS, ContainerLimits
from tasks.documents.gold_elements import GOLD_PARSER
from tasks.documents.sniff import DOCX, EMAIL, EPUB, ODT, PPTX, RTF, XLSX

_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
_ARCHIVES = {DOCX: "read_docx", PPTX: "read_pptx", XLSX: "read_xlsx", ODT: "read_odt", EPUB: "read_epub"}
"""The functions of `raw_office` by media type."""
_TEXTUAL = ("application/json", "application/xml", "application/x-ndjson")
_NOT_KEY = re.compile(r"[\W_]+")
_META_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|template)\b[^<>]*>.*?(?:</\1\s*>|\Z)|<[!?][^<>]*>|</?([a-z][^\s/<>]*)([^<>]*)>",
    re.IGNORECASE | re.DOTALL,
)
_ID = re.compile(r"(?<![\w-])id\s*=\s*(?:\"([^\"]+)\"|'([^']+)'|([^\s\"'>]+))", re.IGNORECASE)
_NAME = re.compile(_ID.pattern.replace("id", "name"), re.IGNORECASE)
_MARKDOWN_LINK = re.compile(r"(!?\[[^\]\n]*\])\([^)\n]*\)")
_HTML_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")


PARSERS_READ_BY = frozenset(("pypdfium2", GOLD_PARSER))
"""Parsers that are the second reader themselves, and labels: what they say of places cannot be, or is not, checked by
it."""


class UnreadableError(Exception):
    """The second parser cannot read these bytes."""


@dataclass(frozen=True, slots=True)
class RawText:
    """The second reading, as a lookup key: see `lookup_key`.

    `key` is the whole document; `page_starts[i]` is where page i + 1 begins in it (empty for formats without pages).
    `anchors` gives where in the key an HTML id stands. `pages` is the text as read.
    """

    key: str
    pages: tuple[str, ...]
    page_starts: tuple[int, ...] = ()
    anchors: Mapping[str, int] = field(default_factory=dict)
    anchor_offsets: Mapping[str, int] = field(default_factory=dict)
    """The same in the text as read."""
    scanned: frozenset[int] = frozenset()
    """Pages (from 1) without a text layer that show an image."""
    parts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of a document of several parts (sheets, attachments): first page and number of pages of each, by its name."""
    computed_numbers: bool = False
    """Whether the numbers of headings and list items are not in the file, but counted by the program that shows it."""

    @classmethod
    def of_page(cls, text: str, *, computed_numbers: bool = False) -> "RawText":
        """The reading of a format without pages."""
        return cls(lookup_key(text), (text,), computed_numbers=computed_numbers)

    def pages_in(self, part: str, first: int, last: int) -> tuple[int, int]:
        """Pages of the whole document for pages (from 1) of one part; a part that was not found has none: (0, 0)."""
        begin, pages = self.parts.get(part, (0, 0))
        return (begin + first - 1, begin + last - 1) if 1 <= first <= last <= pages else (0, 0)

    def page_range(self, first: int | None, last: int | None) -> tuple[int, int]:
        """[start, end) of the key for these pages (from 1); everything where there are no pages or none are named.

        Pages that do not exist give an empty range.
        """
        if not self.page_starts or first is None or last is None:
            return 0, len(self.key)
        starts = (*self.page_starts, len(self.key))
        if not 1 <= first <= last < len(starts):
            return 0, 0
        return starts[first - 1], starts[last]

    def text_of(self, first: int | None, last: int | None, anchor: str | None = None) -> str:
        """The text as read of these pages; without pages, from the anchor on."""
        if not self.page_starts or first is None or last is None:
            return "\n".join(self.pages)[self.anchor_offsets.get(anchor or "", 0) :]
        return "\n".join(self.pages[first - 1 : last])


def lookup_key(text: str) -> str:
    """NFKC, case folded, letters and digits only.

    >>> lookup_key("The ﬁrst tempera-\\nture: 5,360 kWh")
    'thefirsttemperature5360kwh'
    """
    return _NOT_KEY.sub("", unicodedata.normalize("NFKC", text).casefold())


def read_raw(
    data: bytes, media_type: str, encoding: str | None = None, containers: ContainerLimits = DEFAULT_LIMITS
) -> RawText | None:
    """The second reading of a document; null for media types that have no second parser (images, archives).

    `encoding` is what the parse stage decoded by; it is tried only after what the bytes themselves declare, and UTF-8.
    `containers` are the limits under which the parse stage read it.

    Raises:
        UnreadableError: this parser cannot read the bytes.
    """
    if media_type == "application/pdf":
        return _pdf(data)
    if media_type in ("text/html", "application/xhtml+xml"):
        return read_html(decode(data, encoding, html=True))
    if media_type in _ARCHIVES:
        # Imported by those that need it: lxml takes its time.
        from tasks.documents import raw_office

        reader: Callable[[bytes, ContainerLimits], RawText] = getattr(raw_office, _ARCHIVES[media_type])
        return reader(data, containers)
    if media_type == RTF:
        from tasks.documents.raw_rtf import rtf_text

        return RawText.of_page(rtf_text(data))
    if media_type == EMAIL:
        from tasks.documents.raw_mail import read_mail

        return read_mail(data, containers)
    if media_type == "text/markdown":
        text = _MARKDOWN_LINK.sub(r"\1", decode(data, encoding))
        return RawText.of_page(unescape(_HTML_TAG.sub("", text)))
    if media_type.startswith("text/") or media_type in _TEXTUAL:
        return RawText.of_page(decode(data, encoding))
    return None


def decode(data: bytes, encoding: str | None = None, *, html: bool = False) -> str:
    """Text of bytes: as they declare it themselves (`declared_text`), else by `encoding`, at last Windows-1252."""
    text = declared_text(data, html=html)
    return text if text is not None else _decoded(data, encoding, "cp1252") or data.decode("cp1252", "replace")


def declared_text(data: bytes, *, html: bool = False) -> str | None:
    """Text of bytes by byte order mark, declaration (HTML), or as UTF-8; null where these do not tell.

    >>> declared_text("Öl".encode()), declared_text("Öl".encode("cp1252"))
    ('Öl', None)
    """
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(name, "replace")
    declared = _META_CHARSET.search(data, 0, 4096) if html else None
    return _decoded(data, declared.group(1).decode("ascii", "ignore") if declared else None, "utf-8")


def _decoded(data: bytes, *encodings: str | None) -> str | None:
    for encoding in filter(None, encodings):
        try:
            return data.decode(encoding)
        except (LookupError, UnicodeDecodeError):
            continue
    return None


def paged(
    pages: Sequence[str],
    *,
    scanned: frozenset[int] = frozenset(),
    parts: Mapping[str, tuple[int, int]] | None = None,
    computed_numbers: bool = False,
) -> RawText:
    """The reading of a format with pages."""
    keys = [lookup_key(page) for page in pages]
    starts = tuple(accumulate(map(len, keys), initial=0))[:-1]
    return RawText(
        "".join(keys), tuple(pages), starts, scanned=scanned, parts=parts or {}, computed_numbers=computed_numbers
    )


def _pdf(data: bytes) -> RawText:
    import pypdfium2
    import pypdfium2.raw as raw_api

    pages: list[str] = []
    scanned: set[int] = set()
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise UnreadableError(str(error)) from error
    try:
        for number in range(len(document)):
            try:
                page = document[number]
            except pypdfium2.PdfiumError:
                pages.append("")
                continue
            text_page = page.get_textpage()
            # PDFium gives U+FFFE (or U+0002) for a hyphen at a line end; the key leaves both out.
            pages.append(text_page.get_text_bounded())
            text_page.close()
            if not pages[-1].strip() and any(page.get_objects(filter=[raw_api.FPDF_PAGEOBJ_IMAGE])):
                scanned.add(number + 1)
            page.close()
    finally:
        document.close()
    return paged(pages, scanned=frozenset(scanned))


def read_html(source: str) -> RawText:
    """Text between tags, and where ids stand in it. Scripts, styles, templates and comments are not text.

    One pass of a regular expression: the standard library's tokenizer took ten times as long. Words do not run on
    across tags that are not inline.
    """
    segments: list[list[str]] = [[]]
    ids: dict[str, int] = {}
    position = 0
    for match in _MARKUP.finditer(source):
        segments[-1].append(source[position : match.start()])
        position = match.end()
        name = match[2]
        if name and name.lower() not in _INLINE:
            segments[-1].append(" ")
        found = match[3] and (_ID.search(match[3]) or (name in ("a", "A") and _NAME.search(match[3])))
        if found:
            ids.setdefault(unescape(found[1] or found[2] or found[3]), len(segments))
            segments.append([])
    segments[-1].append(source[position:])
    texts = [unescape("".join(segment)) for segment in segments]
    keys = [lookup_key(text) for text in texts]
    starts = list(accumulate(map(len, keys), initial=0))
    offsets = list(accumulate(map(len, texts), initial=0))
    return RawText(
        "".join(keys),
        ("".join(texts),),
        anchors={name: starts[index] for name, index in ids.items()},
        anchor_offsets={name: offsets[index] for name, index in ids.items()},
    )
