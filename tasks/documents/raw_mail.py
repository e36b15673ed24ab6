"""The second reading of a message: its MIME boundaries, encodings and encoded words, without the standard library's."""

import binascii
import quopri
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from tasks.documents.archives import ContainerLimits
from tasks.documents.mail_parts import PartNames, is_attachment
from tasks.documents.raw_text import RawText, UnreadableError, decode, paged, read_html, read_raw
from tasks.documents.sniff import EMAIL, canonical_type, declared_type, sniff

_HEADER = re.compile(r"([!-9;-~]+)[ \t]*:(.*)")
_WORD = re.compile(r"=\?([^?\s]+)\?([bBqQ])\?([^?]*)\?=")
_BETWEEN_WORDS = re.compile(r"(\?=)\s+(=\?)")
_PARAMETER = re.compile(r";\s*([\w.-]+?)(\*\d+)?(\*)?\s*=\s*(\"(?:\\.|[^\"\\])*\"|[^;\s]*)")
_SHOWN = ("subject", "from", "to", "cc", "date")
_MOST_DEPTH = 10


@dataclass(frozen=True, slots=True)
class _Part:
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        stated = self.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
        return stated if "/" in stated else "text/plain"

    @property
    def disposition(self) -> str | None:
        return self.headers.get("content-disposition", "").partition(";")[0].strip().lower() or None

    @property
    def filename(self) -> str | None:
        return _parameter(self.headers.get("content-disposition", ""), "filename") or _parameter(
            self.headers.get("content-type", ""), "name"
        )

    @property
    def charset(self) -> str | None:
        return _parameter(self.headers.get("content-type", ""), "charset")

    def content(self) -> bytes:
        """The body, decoded."""
        encoding = self.headers.get("content-transfer-encoding", "").strip().lower()
        if encoding == "base64":
            clean = re.sub(rb"[^A-Za-z0-9+/]", b"", self.body)
            return binascii.a2b_base64(clean[: len(clean) - (len(clean) % 4 == 1)] + b"==")
        return quopri.decodestring(self.body) if encoding == "quoted-printable" else self.body


def read_mail(data: bytes, limits: ContainerLimits) -> RawText:
    """A page for the message with its headers and all its texts, then the pages of each attachment, by its name.

    Attached messages are followed as deep as `limits` say.
    """
    reading = _Reading(limits)
    reading.message(_split(data), None, 0)
    scanned = frozenset(reading.scanned)
    return paged(reading.pages, scanned=scanned, parts=reading.parts, computed_numbers=True)


class _Reading:
    """Pages as they are collected; those without a text layer; where each part begins and how many pages it has."""

    def __init__(self, limits: ContainerLimits) -> None:
        self.pages: list[str] = []
        self.scanned: set[int] = set()
        self.parts: dict[str, tuple[int, int]] = {}
        self._limits = limits

    def message(self, message: _Part, name: str | None, depth: int) -> None:
        leaves = list(_leaves(message, related=False, depth=0))
        shown = [f"{field}: {_decoded(message.headers[field])}" for field in _SHOWN if field in message.headers]
        texts = [_text(leaf) for leaf, is_body in leaves if is_body]
        self.pages.append("\n".join([name or "", *shown, *texts]))
        if name is not None:
            self.parts[name] = (len(self.pages), 1)
        names = PartNames()
        for leaf, is_body in leaves:
            if is_body:
                continue
            attached = _split(leaf.content()) if leaf.kind == EMAIL else None
            subject = _decoded(attached.headers.get("subject", "")) if attached else None
            own = names.of(leaf.filename or subject)
            self._attachment(leaf, attached, own, f"{name} / {own}" if name else own, depth + 1)

    def _attachment(self, leaf: _Part, attached: _Part | None, title: str, name: str, depth: int) -> None:
        data = leaf.content()
        media_type = EMAIL if attached else sniff(data, declared_type(title) or canonical_type(leaf.kind))
        if media_type == EMAIL and depth <= self._limits.max_depth:
            self.message(attached or _split(data), name, depth)
            return
        try:
            raw = read_raw(data, media_type, leaf.charset, self._limits) if media_type != EMAIL else None
        except UnreadableError:
            raw = RawText("", ("",))
        first = len(self.pages) + 1
        # The name stands as a heading above what the attachment holds.
        found = ("",) if raw is None else raw.pages
        self.pages += [f"{title}\n{found[0] if found else ''}", *found[1:]]
        self.parts[name] = (first, max(1, len(found)))
        if raw is None:
            self.scanned.add(first)
            return
        self.scanned.update(first + page - 1 for page in raw.scanned)
        for inner, (page, count) in raw.parts.items():
            self.parts[f"{name} / {inner}"] = (first + page - 1, count)


def _leaves(part: _Part, *, related: bool, depth: int) -> Iterator[tuple[_Part, bool]]:
    """(leaf, whether it is text of the message), all alternatives included."""
    if part.kind.startswith("multipart/") and depth <= _MOST_DEPTH:
        for i, child in enumerate(_children(part)):
            inside = related or (part.kind == "multipart/related" and i > 0)
            yield from _leaves(child, related=inside, depth=depth + 1)
        return
    is_text = part.kind in ("text/plain", "text/html") and part.disposition != "attachment" and not part.filename
    if is_text and not related:
        yield part, True
    elif is_attachment(part.kind, part.disposition, has_content_id="content-id" in part.headers, related=related):
        yield part, False


def _children(part: _Part) -> Sequence[_Part]:
    boundary = _parameter(part.headers.get("content-type", ""), "boundary")
    if not boundary:
        return ()
    pattern = re.compile(rb"^--" + re.escape(boundary.encode("latin-1", "replace")) + rb"(--)?[ \t]*\r?$", re.MULTILINE)
    marks = list(pattern.finditer(part.body))
    made = []
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        if mark[1]:
            break
        end = following.start() if following else len(part.body)
        made.append(_split(part.body[mark.end() : end].removeprefix(b"\n")))
    return made


def _split(data: bytes) -> _Part:
    """Headers and body; an empty line parts them."""
    match = re.search(rb"(?:\A|\r?\n)\r?\n", data)
    head, body = (data[: match.start()], data[match.end() :]) if match else (data, b"")
    headers: dict[str, str] = {}
    text = re.sub(r"\r?\n[ \t]+", " ", _bytes_text(head))
    for line in text.splitlines():
        if found := _HEADER.fullmatch(line.rstrip("\r")):
            headers.setdefault(found[1].lower(), found[2].strip())
    return _Part(headers, body)


def _bytes_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _text(leaf: _Part) -> str:
    if leaf.kind == "text/html":
        return "\n".join(read_html(decode(leaf.content(), leaf.charset, html=True)).pages)
    return decode(leaf.content(), leaf.charset)


def _decoded(value: str) -> str:
    """A header with its encoded words (RFC 2047) decoded."""
    joined = _BETWEEN_WORDS.sub(r"\1\2", value)
    return _WORD.sub(_word, joined)


def _word(match: re.Match[str]) -> str:
    charset, encoding, text = match.groups()
    if encoding in "qQ":
        data = quopri.decodestring(text.replace("_", " ").encode("latin-1", "replace"))
    else:
        try:
            data = binascii.a2b_base64(text + "==")
        except binascii.Error:
            return text
    try:
        return data.decode(charset.partition("*")[0], "replace")
    except LookupError:
        return data.decode("latin-1")


def _parameter(header: str, name: str) -> str | None:
    """A parameter of a header (RFC 2231: in pieces, percent-encoded), decoded; null where there is none."""
    pieces: list[bytes | str] = []
    charset = "utf-8"
    for key, number, encoded, value in _PARAMETER.findall(header):
        if key.lower() != name:
            continue
        text = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        if encoded:
            if number in ("", "*0") and text.count("'") >= 2:
                charset, _, text = text.split("'", 2)
            pieces.append(unquote_to_bytes(text))
        else:
            pieces.append(text)
        if not number:
            break
    if not pieces:
        return None
    try:
        parts = [piece if isinstance(piece, str) else piece.decode(charset or "utf-8", "replace") for piece in pieces]
    except LookupError:
        return None
    return _decoded("".join(parts))
