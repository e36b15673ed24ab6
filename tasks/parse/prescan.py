"""The encoding that a page declares in a `meta` element, found in its bytes before anything is decoded.

The rules are those of the HTML standard ("prescan a byte stream to determine its encoding"), with two differences that
follow what a browser does later on: the scan does not end after 1,024 bytes but after 64 KiB, since a parser that meets
a declaration further down starts anew; and from there on it looks into no script or style sheet.
"""

import re
from collections.abc import Callable

_REACH = 65_536
_FIRST_BYTES = 1024
_SPACE = b"\t\n\x0c\r "
_NAME_START = re.compile(rb"</?[A-Za-z]")
_TAG_NAME_END = re.compile(rb"[\t\n\x0c\r />]")
_RAW_TEXT = (b"script", b"style")
_VALUE_END = re.compile(rb"[\t\n\x0c\r >]")
_PRAGMA_VALUE = re.compile(
    rb"""charset[\t\n\x0c\r ]*=[\t\n\x0c\r ]*"""
    rb"""(?:"([^"]*)"|'([^']*)'|([^"'\t\n\x0c\r ;][^\t\n\x0c\r ;]*))""",
    re.IGNORECASE,
)
_PRAGMA_NAME = re.compile(rb"charset[\t\n\x0c\r ]*=", re.IGNORECASE)


def declared_in_meta(data: bytes, codec_of: Callable[[str], str | None]) -> str | None:
    """The codec of the first valid declaration; null where there is none. `codec_of` knows what a label means.

    >>> def codec_of(label):
    ...     return {"koi8-r": "koi8_r"}.get(label)
    >>> declared_in_meta(b"<!-- <meta charset=x> --><title></title><META  charset = 'koi8-r' />", codec_of)
    'koi8_r'
    >>> declared_in_meta(b"<p title='<meta charset=koi8-r>'>", codec_of) is None
    True
    """
    scan = _Scan(data[:_REACH])
    try:
        return _declaration(scan, codec_of)
    except _EndOfBytes:
        return None


def _declaration(scan: "_Scan", codec_of: Callable[[str], str | None]) -> str | None:
    while True:
        scan.to(b"<")
        if scan.at(b"<!--"):
            scan.skip(2)
            scan.past(b"-->")
        elif _NAME_START.match(scan.data, scan.place):
            name = scan.tag_name()
            if name == b"meta":
                if (codec := _codec(scan.attributes(), codec_of)) is not None:
                    return codec
            else:
                scan.attributes()
                if name in _RAW_TEXT and scan.place > _FIRST_BYTES:
                    scan.to_end_tag(name)
        elif scan.at(b"<!") or scan.at(b"</") or scan.at(b"<?"):
            scan.past(b">")
        else:
            scan.skip(1)


def _codec(attributes: dict[bytes, bytes], codec_of: Callable[[str], str | None]) -> str | None:
    """What a `meta` element with these attributes declares."""
    if b"charset" in attributes:
        label: bytes | None = attributes[b"charset"]
    elif attributes.get(b"http-equiv") == b"content-type":
        label = _label_in(attributes.get(b"content", b""))
    else:
        label = None
    return codec_of(label.decode("latin-1").strip("\t\n\x0c\r ")) if label else None


def _label_in(content: bytes) -> bytes | None:
    """The label in "text/html; charset=…"; what follows the first `charset=` decides."""
    first = _PRAGMA_NAME.search(content)
    match = _PRAGMA_VALUE.match(content, first.start()) if first else None
    return next((group for group in match.groups() if group is not None), None) if match else None


class _EndOfBytes(Exception):  # noqa: N818 - it ends the scan, it is no error
    """The bytes end where more were needed."""


class _Scan:
    """A place in bytes that only goes forward."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def at(self, mark: bytes) -> bool:
        return self.data.startswith(mark, self.place)

    def skip(self, count: int) -> None:
        self.place += count

    def to(self, mark: bytes) -> None:
        found = self.data.find(mark, self.place)
        if found < 0:
            raise _EndOfBytes
        self.place = found

    def past(self, mark: bytes) -> None:
        self.to(mark)
        self.place += len(mark)

    def to_end_tag(self, name: bytes) -> None:
        match = re.compile(rb"</" + name + rb"[\t\n\x0c\r />]", re.IGNORECASE).search(self.data, self.place)
        if match is None:
            raise _EndOfBytes
        self.place = match.start()

    def tag_name(self) -> bytes:
        """The name of the tag that starts here, in small letters; empty for an end tag, which declares nothing."""
        self.place += 1
        return self._until(_TAG_NAME_END)

    def attributes(self) -> dict[bytes, bytes]:
        """The attributes up to the end of the tag, the first of each name, in small letters."""
        found: dict[bytes, bytes] = {}
        while (attribute := self._attribute()) is not None:
            found.setdefault(*attribute)
        return found

    def _until(self, end: re.Pattern[bytes]) -> bytes:
        match = end.search(self.data, self.place)
        if match is None:
            raise _EndOfBytes
        found = self.data[self.place : match.start()]
        self.place = match.start()
        return found.lower()

    def _byte(self) -> int:
        if self.place >= len(self.data):
            raise _EndOfBytes
        return self.data[self.place]

    def _spaces(self, more: bytes = b"") -> None:
        while self._byte() in _SPACE + more:
            self.place += 1

    def _attribute(self) -> tuple[bytes, bytes] | None:
        self._spaces(b"/")
        if self._byte() == ord(">"):
            self.place += 1
            return None
        start = self.place
        while self._byte() not in _SPACE + b"/>" and not (self._byte() == ord("=") and self.place > start):
            self.place += 1
        name = self.data[start : self.place].lower()
        self._spaces()
        if self._byte() != ord("="):
            return name, b""
        self.place += 1
        self._spaces()
        quote = self._byte()
        if quote in b"\"'":
            start = self.place + 1
            self.place = start
            self.past(bytes([quote]))
            return name, self.data[start : self.place - 1].lower()
        return name, self._until(_VALUE_END)
