"""Sitemaps (sitemaps.org 0.9): XML or text, also gzipped, and the times they state. `read` runs in the cage."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

from lxml import etree

from tasks.errors import DocumentError

_LARGEST = 52_428_800
_MOST_ENTRIES = 50_000
"""Both are the protocol's own limits of one sitemap."""
_W3C = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_ZONES = timedelta(hours=14)


@dataclass(frozen=True, slots=True)
class LastMod:
    """The stretch of time in which a page was last changed: a date without a time of day leaves it open."""

    first: datetime
    last: datetime


def lastmod(stated: str | None) -> LastMod | None:
    """What a `lastmod` says (W3C Datetime: a year, a month, a day or a time); null where it says nothing.

    A date without a zone may be meant in any, so its end is 14 hours late.

    >>> lastmod("2024-05-01T10:00:00+02:00").first.isoformat()
    '2024-05-01T08:00:00+00:00'
    >>> lastmod("2024-12").last.isoformat(), lastmod("yesterday")
    ('2025-01-01T14:00:00+00:00', None)
    """
    text = (stated or "").strip()
    try:
        if found := _W3C.fullmatch(text):
            year, month, day = (int(part) if part else None for part in found.groups())
            first = datetime(year or 0, month or 1, day or 1, tzinfo=UTC)
            return LastMod(first, _after(first, month, day) + _ZONES)
        parsed = datetime.fromisoformat(text)
        when = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return LastMod(when, when)


def _after(first: datetime, month: int | None, day: int | None) -> datetime:
    if day is not None:
        return first + timedelta(days=1)
    if month is None or month == 12:
        return first.replace(year=first.year + 1, month=1)
    return first.replace(month=month + 1)


def read(path: str, out: str, robots: bool, _: Any) -> int:
    """Writes a line of JSON for each entry of a sitemap, an index, or a robots.txt that names sitemaps.

    Raises:
        DocumentError: `corrupt`: it is none of these; `too_large`: above the protocol's limits.
    """
    data = _unpacked(Path(path).read_bytes())
    entries = _named(data) if robots else _listed(data)
    count = 0
    with Path(out).open("w", encoding="utf-8") as lines:
        for count, entry in enumerate(entries, 1):
            if count > _MOST_ENTRIES:
                raise _too_large(f"it has more than {_MOST_ENTRIES:,} entries")
            lines.write(json.dumps(entry) + "\n")
    return count


def _unpacked(data: bytes) -> bytes:
    if data.startswith(b"\x1f\x8b"):
        try:
            with gzip.GzipFile(fileobj=BytesIO(data)) as file:
                data = file.read(_LARGEST + 1)
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise _corrupt("its gzip is damaged or ends early") from error
    if len(data) > _LARGEST:
        raise _too_large(f"it is larger than {_LARGEST // 2**20} MiB")
    return data


def _listed(data: bytes) -> Iterator[dict[str, Any]]:
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        yield from _text(data)
        return
    try:
        known = False
        # No document type is loaded and no entity is expanded: a sitemap needs neither.
        for _, element in etree.iterparse(
            BytesIO(data), events=("end",), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
        ):
            name = etree.QName(element).localname if isinstance(element.tag, str) else ""
            known = known or name in ("urlset", "sitemapindex")
            if name in ("url", "sitemap"):
                fields = {etree.QName(child).localname: child.text for child in element if isinstance(child.tag, str)}
                if fields.get("loc"):
                    yield {"loc": fields["loc"].strip(), "lastmod": fields.get("lastmod"), "sitemap": name == "sitemap"}
                element.clear()
    except etree.XMLSyntaxError as error:
        line = error.position[0] if error.position else 0
        raise _corrupt(f"it is no well-formed XML (line {line})") from error
    if not known:
        raise _corrupt("it is XML, but no sitemap and no sitemap index")


def _text(data: bytes) -> Iterator[dict[str, Any]]:
    try:
        lines = data.decode("utf-8-sig").split()
    except UnicodeDecodeError as error:
        raise _corrupt("it is neither XML nor UTF-8 text") from error
    if not all(line.lower().startswith(("http://", "https://")) for line in lines):
        raise _corrupt("it is neither XML nor a list of URLs")
    yield from ({"loc": line, "lastmod": None, "sitemap": False} for line in lines)


def _named(data: bytes) -> Iterator[dict[str, Any]]:
    """The sitemaps that a robots.txt names."""
    for line in data.decode("utf-8", "replace").splitlines():
        field, _, value = line.partition(":")
        if field.strip().lower() == "sitemap" and value.strip():
            yield {"loc": value.strip(), "lastmod": None, "sitemap": True}


def _corrupt(what: str) -> DocumentError:
    return DocumentError("corrupt", what, remedy="correct `sitemaps` in the source, or the sitemap on its server")


def _too_large(what: str) -> DocumentError:
    return DocumentError("too_large", what, remedy="split it into several under an index, as sitemaps.org asks")
