"""Finding out a text's encoding and decoding it.

Order: byte order mark; the encoding a page's own `meta` or XML declaration names; the one the server named; UTF-8
where the bytes are valid UTF-8; else a statistical guess. Wrong declarations are common, so two of them are not
believed. Valid UTF-8 wins over a declared single-byte encoding where it has a character beyond ASCII, and over one of
several bytes where it has eight or no zero byte as UTF-16 would: by chance such bytes hardly ever form valid UTF-8.
And where UTF-8 is declared, but one in ten of the characters beyond ASCII is broken and the bytes beyond ASCII stand in
words, the guess decides; stray bytes become U+FFFD.
"""

import codecs
import re

from tasks.parse.prescan import declared_in_meta

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

_WEB_ENCODINGS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "utf-16": "utf-16-le",
}
"""What a label means on the web (WHATWG Encoding Standard), where Python's codec of that name differs."""

_EXTRA_LABELS = {
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-x-big5": "big5hkscs",
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "windows-949": "cp949",
    "ks_c_5601-1987": "cp949",
    "windows-874": "cp874",
    "dos-874": "cp874",
    "unicode": "utf-16-le",
    "unicode-1-1-utf-8": "utf-8",
    "x-unicode20utf8": "utf-8",
    "macintosh": "mac_roman",
    "x-mac-roman": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "x-user-defined": "cp1252",
    "csisolatin1": "cp1252",
}

_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{2,40})""", re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9._:-]+")
_PARAMETER = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9._:-]+)""", re.IGNORECASE)
_SURELY_UTF8 = 8
"""Characters beyond ASCII in valid UTF-8 that no other encoding gives by chance."""

_SAMPLE = 200_000
_HIGH = re.compile(rb"[\x80-\xff]")
_WORD = re.compile(rb"[A-Za-z\x80-\xff]{3,}")


def decode(data: bytes, *, declared: str | None = None, markup: bool = False) -> tuple[str, str]:
    """The text and the Python name of the encoding it was read in; bytes that do not fit become U+FFFD.

    `declared` is a media type with a charset parameter; `markup` says to look for `meta` and an XML declaration.

    >>> decode("é".encode(), declared="text/plain; charset=iso-8859-1")
    ('é', 'utf-8')
    >>> decode(b"caf\\xe9 \\x80", declared="text/plain; charset=iso-8859-1")
    ('café €', 'cp1252')
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace"), encoding
    named = _declared_in(data) if markup else None
    parameter = _PARAMETER.search(declared or "")
    stated = named or (encoding_of(parameter.group(1)) if parameter else None)
    if _is_utf8(data) and (stated is None or _overrules(data, stated)):
        return data.decode(), "utf-8"
    encoding = stated if stated and not (stated == "utf-8" and _other_words(data)) else _guess(data)
    return _decode_web(data, encoding), encoding


def encoding_of(label: str) -> str | None:
    """The Python codec for a label as the web uses it; null where there is none.

    >>> encoding_of("Latin1"), encoding_of("x-sjis"), encoding_of("nonsense")
    ('cp1252', 'cp932', None)
    """
    label = label.strip().lower()
    if label in _EXTRA_LABELS:
        return _EXTRA_LABELS[label]
    if not _LABEL.fullmatch(label):  # Python would overlook what does not belong in a label
        return None
    try:
        codec = codecs.lookup(label)
    except LookupError:
        return None
    if not codec._is_text_encoding or codec.name in {"idna", "punycode", "utf-7", "unicode_escape", "palmos"}:
        return None
    return _WEB_ENCODINGS.get(codec.name, codec.name)


def _declared_in(data: bytes) -> str | None:
    match = _XML.search(data[:4096])
    encoding = encoding_of(match.group(1).decode("ascii")) if match else None
    encoding = encoding or declared_in_meta(data, encoding_of)
    # A declaration that can be read byte by byte cannot be UTF-16 (HTML standard).
    return "utf-8" if encoding and encoding.startswith("utf-16") else encoding


def _single_byte(encoding: str) -> bool:
    return encoding.startswith(("cp12", "cp874", "iso8859", "mac", "koi8"))


def _overrules(data: bytes, stated: str) -> bool:
    """Whether bytes that are valid UTF-8 are UTF-8 although another encoding is stated."""
    if _single_byte(stated):
        return not data.isascii()
    if stated.startswith("utf-16"):
        return b"\0" not in data
    return sum(1 for byte in data[:_SAMPLE] if byte >= 0xC0) >= _SURELY_UTF8


def _other_words(data: bytes) -> bool:
    """Whether bytes that are said to be UTF-8 are the words of another encoding."""
    sample = data[:_SAMPLE]
    in_words = sum(len(_HIGH.findall(word)) for word in _WORD.findall(sample))
    return not _mostly_utf8(data) and in_words * 2 >= len(_HIGH.findall(sample))


def _mostly_utf8(data: bytes) -> bool:
    text = data[:_SAMPLE].decode(errors="replace")
    broken, beyond_ascii = text.count("\ufffd"), sum(1 for character in text if character > "\x7f")
    return broken * 10 < beyond_ascii or not beyond_ascii


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _guess(data: bytes) -> str:
    """UTF-8 where nearly all of it is, or the guess of charset-normalizer, or windows-1252."""
    if _mostly_utf8(data):
        return "utf-8"
    from charset_normalizer import from_bytes

    matches = from_bytes(data[:_SAMPLE])
    best = matches.best()
    if best is None or any(match.encoding == "cp1252" and match.chaos <= best.chaos for match in matches):
        return "cp1252"  # what the web falls back to; short texts fit many code pages
    return encoding_of(best.encoding) or "cp1252"


def _decode_web(data: bytes, encoding: str) -> str:
    """Windows code pages leave some bytes undefined; the web reads those as control characters."""
    if encoding not in {"cp1252", "cp1254"}:
        return data.decode(encoding, errors="replace")
    text = data.decode(encoding, errors="surrogateescape")
    return re.sub("[\udc80-\udcff]", lambda byte: chr(ord(byte.group()) - 0xDC00), text)
