"""Finding out a text's encoding and decoding it.

Order: byte order mark; the encoding a page's own `meta` or XML declaration names; the one the server named; UTF-8
where the bytes are valid UTF-8; else a statistical guess. Valid UTF-8 with characters beyond ASCII wins over a
declared single-byte encoding: by chance such bytes hardly ever form valid UTF-8, and wrong declarations are common.
"""

import codecs
import re

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

_META = re.compile(rb"""<meta[^>]{0,400}?charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{2,40})""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{2,40})""", re.IGNORECASE)
_PARAMETER = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9._:-]+)""", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)


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
    if _is_utf8(data) and (stated is None or (_single_byte(stated) and not data.isascii())):
        return data.decode(), "utf-8"
    encoding = stated or _guess(data)
    return _decode_web(data, encoding), encoding


def encoding_of(label: str) -> str | None:
    """The Python codec for a label as the web uses it; null where there is none.

    >>> encoding_of("Latin1"), encoding_of("x-sjis"), encoding_of("nonsense")
    ('cp1252', 'cp932', None)
    """
    label = label.strip().lower()
    if label in _EXTRA_LABELS:
        return _EXTRA_LABELS[label]
    try:
        codec = codecs.lookup(label)
    except LookupError:
        return None
    if not codec._is_text_encoding or codec.name in {"idna", "punycode", "utf-7", "unicode_escape", "palmos"}:
        return None
    return _WEB_ENCODINGS.get(codec.name, codec.name)


def _declared_in(data: bytes) -> str | None:
    head = _COMMENT.sub(b"", data[:4096])
    match = _XML.search(head) or _META.search(head)
    encoding = encoding_of(match.group(1).decode("ascii")) if match else None
    # A declaration that can be read byte by byte cannot be UTF-16 (HTML standard).
    return "utf-8" if encoding and encoding.startswith("utf-16") else encoding


def _single_byte(encoding: str) -> bool:
    return encoding.startswith(("cp12", "cp874", "iso8859", "mac", "koi8"))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _guess(data: bytes) -> str:
    """UTF-8 where nearly all of it is, or the guess of charset-normalizer, or windows-1252."""
    text = data.decode(errors="replace")
    broken, beyond_ascii = text.count("\ufffd"), sum(1 for character in text[:100_000] if character > "\x7f")
    if broken * 10 < beyond_ascii:
        return "utf-8"
    from charset_normalizer import from_bytes

    matches = from_bytes(data[:200_000])
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
