"""Whether a quoted passage can stand in the bytes that its label was made for: a reading that parse has no part in.

A mistyped quote stands nowhere, and no stage has lost it. That can be told where the bytes are text of a certain
encoding. Of all else (a PDF's broken text layer, a scan, a number that a workbook shows otherwise than it stores it)
what the bytes do not say may be the reader's fault as well, and nothing is told.
"""

import re
import unicodedata
from collections.abc import Sequence
from html import unescape
from pathlib import Path

from tasks.documents.cage_worker import Pages
from tasks.documents.raw_text import declared_text, lookup_key, read_raw
from tasks.gold.kinds import Quote
from tasks.survival.presence import find

_HTML = ("text/html", "application/xhtml+xml")
_WORD = re.compile(r"\d+|[^\W\d_]+")
_NO_PLAIN_TEXT = re.compile(r"[\x00\x1b\ufffd]")
"""Bytes of UTF-16, or of a code that switches by escapes, may read as ASCII."""


def is_text(media_type: str) -> bool:
    """Whether documents of this type are text that nothing need be taken from but markup."""
    return media_type.startswith("text/") or media_type in _HTML


def lacking(path: str, media_type: str, quotes: Sequence[str], pages: Pages) -> list[bool]:
    """A job for the cage: of each quote, whether it stands nowhere in a file. False also where nobody can tell."""
    return lack(Path(path).read_bytes(), media_type, quotes)


def lack(data: bytes, media_type: str, quotes: Sequence[str]) -> list[bool]:
    """Of each quote, whether it stands nowhere in these bytes; False also where nobody can tell.

    A quote stands nowhere if one of its words does not (letters and digits alone are compared, without case, also in
    markup), and nothing that is like it does either (`presence.find`, in the text without markup).

    >>> lack(b"We pay within 30 days of the invoice.", "text/plain", ["30 days", "30 dasy", "invoice 30"])
    [False, True, False]
    """
    text = declared_text(data, html=media_type in _HTML) if is_text(media_type) else None
    if text is None or _NO_PLAIN_TEXT.search(text):
        return [False] * len(quotes)
    reading = read_raw(data, media_type)
    plain = "\n".join(reading.pages) if reading is not None else text
    everywhere = " ".join(map(lookup_key, (plain, text, unescape(text))))
    return [not _has_words(everywhere, quote) and find(plain, Quote(exact=quote)) is None for quote in quotes]


def _has_words(key: str, quote: str) -> bool:
    return all(word in key for word in _WORD.findall(unicodedata.normalize("NFKC", quote).casefold()))
