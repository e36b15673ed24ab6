"""Dates of publication and change, from what a document declares and what its page says."""

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from tasks.documents.cage_worker import Pages

_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:\D|$)")
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero gennaio",
            "february feb februar février febrero febbraio",
            "march mar märz mars marzo",
            "april apr avril abril aprile",
            "may mai mayo maggio",
            "june jun juni juin junio giugno",
            "july jul juli juillet julio luglio",
            "august aug août agosto",
            "september sep sept septembre septiembre settembre",
            "october oct oktober okt octobre octubre ottobre",
            "november nov novembre noviembre",
            "december dec dezember dez décembre diciembre dicembre",
        ),
        start=1,
    )
    for name in names.split()
}
_DAY = (
    r"(?:\d{4}-\d{2}-\d{2}"
    r"|\d{1,2}(?:st|nd|rd|th|\.)?\s+(?:de\s+)?[^\W\d_]{3,10}\.?,?\s+(?:de\s+)?\d{4}"
    r"|[^\W\d_]{3,10}\.?\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4}"
    r"|\d{1,2}\.\s?\d{1,2}\.\s?\d{4})"
)
_STATED = re.compile(
    r"(?:^|[\n.;|(]\s*)(?:first\s+)?(?:date\s+of\s+(?:publication|issue)|publication\s+date|issue\s+date|published|"
    r"printed|posted|issued|date|veröffentlicht(?:\s+am)?|erschienen(?:\s+am)?|publié(?:\s+le)?)"
    rf"(?:\s+(?:on|online))?\s*:?\s*({_DAY})",
    re.IGNORECASE,
)
_NOT_PUBLICATION = re.compile(
    r"(?:received|accepted|revised|submitted|resubmitted|accessed|retrieved|expires?|expiry|valid\s+(?:un)?til|deadline|"
    r"(?:last\s+)?(?:updated|modified|changed|edited|reviewed)|eingereicht|angenommen|zuletzt\s+geändert|"
    r"aktualisiert|mis\s+à\s+jour)(?:\s+(?:on|at|am|le|in\s+(?:revised|final)\s+form))*\s*:?\s*"
    r"(?:[^\W\d_]{3,10},?\s+)?" + _DAY,
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_COPYRIGHT = re.compile(r"(?:©|\(c\)|copyright)[^\n]{0,40}?\d{4}(?:\s*[-–]\s*\d{4})?", re.IGNORECASE)


def declared_date(value: str | None, latest: date) -> date | None:
    """The day of an ISO 8601 text; null where it is none, before 1900 (a computer's zero), or after `latest`.

    >>> declared_date("2024-06-11T08:00:00Z", date(2030, 12, 31)), declared_date("soon", date(2030, 12, 31))
    (datetime.date(2024, 6, 11), None)
    """
    match = _ISO.match(value or "")
    return _day(int(match[1]), int(match[2]), int(match[3]), latest) if match else None


def stated_date(text: str, latest: date) -> date | None:
    """The first day that the text names as its own publication ("Published: 12 May 2023"), to the day.

    >>> stated_date("Field report\\nPublished on 12 May 2023, revised 3 June 2024.", date(2030, 12, 31))
    datetime.date(2023, 5, 12)
    >>> stated_date("Accepted 28 April 2022.", date(2030, 12, 31)) is None
    True
    """
    found = (_parse_day(match[1], latest) for match in _STATED.finditer(text))
    return next((day for day in found if day), None)


def search_page(path: str, latest: str, pages: Pages) -> str | None:
    """A job for the cage: `page_date` of the page at `path`; dates as ISO 8601."""
    found = page_date(Path(path).read_bytes(), date.fromisoformat(latest))
    return found.isoformat() if found else None


def page_date(html: bytes, latest: date) -> date | None:
    """The date of publication of a web page that declares none, by htmldate on what a reader sees.

    Scripts, comments, notes on when something was received, accepted, updated or expires, and copyright lines are
    taken out first: a date found there is not the page's own.
    """
    from htmldate import find_date
    from trafilatura import load_html

    tree = load_html(html)
    if tree is None:
        return None
    for node in list(tree.iter()):
        if not isinstance(node.tag, str) or node.tag in ("script", "style", "noscript", "template"):
            _take_out(node)
        else:
            node.text, node.tail = _without_notes(node.text), _without_notes(node.tail)
    found = find_date(
        tree, extensive_search=True, original_date=True, outputformat="%Y-%m-%d", max_date=latest.isoformat()
    )
    return declared_date(found, latest)


def _take_out(node: Any) -> None:
    parent, tail = node.getparent(), node.tail
    if parent is None:
        return
    before = node.getprevious()
    if tail and before is not None:
        before.tail = (before.tail or "") + tail
    elif tail:
        parent.text = (parent.text or "") + tail
    parent.remove(node)


def _without_notes(text: str | None) -> str | None:
    if not text or text.isspace():
        return text
    # White space first: on long runs of it the patterns would take minutes.
    return _COPYRIGHT.sub("", _NOT_PUBLICATION.sub("", _SPACE.sub(" ", text)))


def _parse_day(text: str, latest: date) -> date | None:
    if match := _ISO.match(text):
        return _day(int(match[1]), int(match[2]), int(match[3]), latest)
    words: Sequence[str] = re.findall(r"[^\W\d_]+|\d+", text.lower())
    numbers = [int(word) for word in words if word.isdigit()]
    month = next((_MONTHS[word] for word in words if word in _MONTHS), None)
    if month and len(numbers) == 2:
        return _day(numbers[1], month, numbers[0], latest)
    if len(numbers) == 3:
        return _day(numbers[2], numbers[1], numbers[0], latest)
    return None


def _day(year: int, month: int, day: int, latest: date) -> date | None:
    try:
        made = date(year, month, day)
    except ValueError:
        return None
    return made if date(1900, 1, 1) <= made <= latest else None
