"""Messages (RFC 5322, MIME) by the standard library: subject, people, text; attachments are parts of the document."""

import importlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email import policy
from email.message import EmailMessage, Message
from email.parser import BytesParser
from pathlib import Path
from typing import Any

from schemas.names import ElementKind
from tasks.documents.cage_worker import Pages
from tasks.documents.mail_parts import PartNames, is_attachment
from tasks.documents.sniff import EMAIL, canonical_type, declared_type, sniff
from tasks.errors import DocumentError
from tasks.parse.backends import inner_backend_of
from tasks.parse.elements import Elements, Row, inner_name, parsed, part
from tasks.parse.encoding import decode
from tasks.parse.html_blocks import add_fragment
from tasks.parse.text import text_elements

_SHOWN = ("From", "To", "Cc")
_HEADER_FAULTS = (ValueError, LookupError, AttributeError, TypeError)
"""What the standard library raises on some malformed headers instead of noting a defect."""


def parse_mail(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """A message: its subject as a heading, from whom, to whom and when, its text, and below it each attachment.

    The message is page 1, the pages of the attachments follow. Of alternative texts the HTML one is read. An attachment
    that cannot be read is a page without output, and `parts` says why; the message is not lost for it. Signatures and
    images that the text shows are no attachments.
    """
    message = _read(Path(path).read_bytes())
    reader = _Reader(settings, pages)
    reader.add_message(message, None, level=1, depth=0)
    pages.done()
    row = parsed(
        reader.elements,
        pages=reader.pages,
        pages_without_output=reader.missing,
        pages_hidden=reader.hidden,
        title=_header(message, "Subject"),
        authors=_authors(message),
        published=_sent(message),
        parts=reader.parts,
    )
    return row | {"parser": "email", "parser_version": "1"}


class _PartPages(Pages):
    """The pages of an attachment within those of the message."""

    def __init__(self, outer: Pages, first: int) -> None:
        self._outer = outer
        self._first = first

    def enter(self, page: int) -> bool:
        return self._outer.enter(self._first + page - 1)

    def extend(self) -> None:
        self._outer.extend()

    def done(self) -> None:
        self._outer.done()


@dataclass(slots=True)
class _Reader:
    """What has been read of a message and of the messages in it."""

    settings: Mapping[str, Any]
    report: Pages
    elements: Elements = field(default_factory=Elements)
    parts: list[Row] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)
    pages: int = 0
    attachments: int = 0

    def add_message(self, message: EmailMessage, name: str | None, *, level: int, depth: int) -> None:
        """Adds a message as the next page; its subject is a heading of `level`."""
        self.pages += 1
        page = self.pages
        subject = _header(message, "Subject") or name
        if name is not None:
            self.parts.append(part(name, EMAIL, first_page=page))
            self.elements.begin_part(name, subject or name, level=level, page=page)
        elif subject:
            self.elements.add(ElementKind.HEADING, subject, level=level, page=page)
        below = level if subject else level - 1
        people = [f"{field}: {value}" for field in _SHOWN if (value := _header(message, field))]
        people += [f"Date: {value}" for value in (_raw_header(message, "Date"),) if value]
        self.elements.add(ElementKind.PARAGRAPH, "\n".join(people), page=page)
        attached: list[EmailMessage] = []
        for leaf in _leaves(message):
            if leaf.is_body:
                self.elements.add_parsed({"elements": _body(leaf.part).rows}, level=below, first_page=page)
            else:
                attached.append(leaf.part)
        names = PartNames()
        for attachment in attached:
            title = names.of(_filename(attachment))
            self.elements.part = name
            self._add_attachment(attachment, title, inner_name(name, title), level=below + 1, depth=depth + 1)

    def _add_attachment(self, attachment: EmailMessage, title: str, name: str, *, level: int, depth: int) -> None:
        self.attachments += 1
        limits = self.settings["containers"]
        message = _attached_message(attachment)
        data = b"" if message else _payload(attachment)
        declared = declared_type(title) or canonical_type(attachment.get_content_type())
        media_type = EMAIL if message else sniff(data, declared)
        if self.attachments > limits["max_attachments"] or depth > limits["max_depth"]:
            self._add_unread(name, media_type, "attachment_limit")
        elif media_type == EMAIL:
            self.add_message(message or _read(data), name, level=level, depth=depth)
        else:
            self._add_file(data, media_type, _charset(attachment), title, name, level=level)

    def _add_file(
        self, data: bytes, media_type: str, charset: str | None, title: str, name: str, *, level: int
    ) -> None:
        first = self.pages + 1
        try:
            row = self._parse(data, media_type, charset, first)
        except DocumentError as error:
            self._add_unread(name, media_type, error.error_class)
            return
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  whatever a parser raises costs this one attachment
            self._add_unread(name, media_type, "parser_error")
            return
        self.pages += row["pages"]
        self.parts.append(part(name, media_type, first_page=first, pages=row["pages"]))
        for inner in row["parts"] or ():
            place = {"name": inner_name(name, inner["name"]), "first_page": first + inner["first_page"] - 1}
            self.parts.append(inner | place)
        self.missing += [first + page - 1 for page in row["pages_without_output"]]
        self.hidden += [first + page - 1 for page in row["pages_hidden"] or ()]
        self.elements.begin_part(name, title, level=level, page=first)
        self.elements.add_parsed(row, level=level, first_page=first)

    def _parse(self, data: bytes, media_type: str, charset: str | None, first: int) -> Row:
        if not data:
            raise DocumentError("empty", "the attachment has no bytes", remedy="ask the sender for it")
        target = inner_backend_of(media_type, self.settings["backends"]).target
        module, _, function = target.partition(":")
        parser = getattr(importlib.import_module(module), function)  # before the page's time begins to run
        pages = _PartPages(self.report, first)
        if not pages.enter(1):
            raise DocumentError("page_timeout", "the attachment took too long", remedy="raise seconds_per_page")
        with tempfile.TemporaryFile() as file:  # without a name, so that it is gone whatever becomes of the worker
            file.write(data)
            file.flush()
            stated = _typed(media_type, charset)
            row: Row = parser(f"/dev/fd/{file.fileno()}", self.settings, stated, pages)
        if not row["elements"]:
            raise DocumentError("empty_parse", "the parser found no text in the attachment", remedy="open it")
        return row

    def _add_unread(self, name: str, media_type: str, error_class: str) -> None:
        self.pages += 1
        self.missing.append(self.pages)
        self.parts.append(part(name, media_type, first_page=self.pages, error_class=error_class))


@dataclass(frozen=True, slots=True)
class _Leaf:
    part: EmailMessage
    is_body: bool


def _leaves(message: EmailMessage, *, related: bool = False) -> Iterator[_Leaf]:
    """The texts and attachments of a message, in their order. Attached messages are not looked into."""
    kind = message.get_content_type()
    children = message.get_payload() if message.is_multipart() and kind != "message/rfc822" else None
    if kind.startswith("multipart/") and isinstance(children, list):
        parts = [child for child in children if isinstance(child, EmailMessage)]
        if kind == "multipart/alternative":
            yield from _alternative(parts, related=related)
            return
        for i, child in enumerate(parts):
            yield from _leaves(child, related=related or (kind == "multipart/related" and i > 0))
        return
    disposition = message.get_content_disposition()
    if kind in ("text/plain", "text/html") and disposition != "attachment" and not related and not _filename(message):
        yield _Leaf(message, True)
    elif is_attachment(kind, disposition, has_content_id="content-id" in message, related=related):
        yield _Leaf(message, False)


def _alternative(parts: list[EmailMessage], *, related: bool) -> Iterator[_Leaf]:
    """The leaves of the alternative that has HTML with text in it, else of the first with any, else of the first."""
    choices = [list(_leaves(child, related=related)) for child in parts]

    def rank(leaves: list[_Leaf]) -> int:
        bodies = [leaf.part for leaf in leaves if leaf.is_body and _body(leaf.part).rows]
        return sum(2 if body.get_content_type() == "text/html" else 1 for body in bodies[:1])

    yield from max(choices, key=rank, default=[])


def _body(leaf: EmailMessage) -> Elements:
    markup = leaf.get_content_type() == "text/html"
    declared = _typed(leaf.get_content_type(), _charset(leaf))
    text, _ = decode(_payload(leaf), declared=declared, markup=markup)
    if not markup:
        return text_elements(text)
    elements = Elements()
    add_fragment(elements, text)
    return elements


def _charset(leaf: EmailMessage) -> str | None:
    """The encoding that a leaf declares; null where it declares none."""
    try:
        return leaf.get_content_charset()
    except _HEADER_FAULTS:
        return None


def _typed(media_type: str, charset: str | None) -> str | None:
    """What a server would have declared."""
    return f"{media_type}; charset={charset}" if charset else None


def _payload(leaf: Message) -> bytes:
    """The bytes of a leaf; of a report its lines."""
    if leaf.is_multipart():
        inner = leaf.get_payload()
        return "\n".join(str(part) for part in inner if isinstance(part, Message)).encode(errors="replace")
    data = leaf.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _read(data: bytes) -> EmailMessage:
    return BytesParser(EmailMessage, policy=policy.default).parsebytes(data)


def _header(message: Message, name: str) -> str | None:
    """A header, decoded, in one line."""
    try:
        value = message[name]
        return " ".join(str(value).split()) or None if value is not None else None
    except _HEADER_FAULTS:
        return _raw_header(message, name)


def _raw_header(message: Message, name: str) -> str | None:
    """A header as it was sent, in one line."""
    raw = next((text for key, text in message.raw_items() if key.lower() == name.lower()), "")
    return " ".join(str(raw).split()) or None


def _filename(leaf: EmailMessage) -> str | None:
    try:
        stated = leaf.get_filename()
    except _HEADER_FAULTS:
        return None
    message = _attached_message(leaf)
    return stated or (_header(message, "Subject") if message else None)


def _attached_message(leaf: EmailMessage) -> EmailMessage | None:
    inner = leaf.get_payload() if leaf.get_content_type() == "message/rfc822" else None
    return inner[0] if isinstance(inner, list) and inner and isinstance(inner[0], EmailMessage) else None


def _authors(message: EmailMessage) -> list[str]:
    try:
        addresses = message["From"].addresses if message["From"] is not None else ()
        return [address.display_name or address.addr_spec for address in addresses]
    except _HEADER_FAULTS:
        return []


def _sent(message: EmailMessage) -> str | None:
    try:
        moment = message["Date"].datetime if message["Date"] is not None else None
    except _HEADER_FAULTS:
        return None
    return moment.isoformat() if moment is not None else None
