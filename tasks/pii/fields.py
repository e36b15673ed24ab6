"""What of a document is personal beside its text: title, authors, and the path it lies under."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from schemas.names import ElementKind
from tasks.pii.visible import visible

URI_TYPES = frozenset({"EMAIL_ADDRESS", "IBAN_CODE", "US_SSN", "CREDIT_CARD"})
"""Types looked for in a path by themselves; its digits and names are too ambiguous for the others, which are
recognized there when the text holds the same value."""

_SEGMENT = re.compile(r"[^/?&=#;:]+")
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def title_of(parsed: Mapping[str, Any], clean: Mapping[str, Any]) -> str | None:
    """The declared title, else the first heading of level 1, else the first heading.

    Headings are read off the clean text (a row of normalize): what was cut out of one, such as line numbers, is in no
    title.
    """
    declared = _line(parsed["meta_title"] or "")
    if declared:
        return declared
    levels = {e["element_id"]: e["level"] for e in parsed["elements"] if e["kind"] == ElementKind.HEADING}
    headings = [
        (levels[span["element_id"]], text)
        for span in clean["elements"]
        if span["element_id"] in levels and (text := _line(clean["text"][span["start"] : span["end"]]))
    ]
    return next((text for level, text in headings if level == 1), headings[0][1] if headings else None)


def authors_of(parsed: Mapping[str, Any]) -> list[str]:
    """The declared authors."""
    return [author for author in map(_line, parsed["meta_authors"]) if author]


def _line(text: str) -> str:
    return " ".join(visible(text).text.split())


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a URI between separators: decoded text, and where each decoded character stood in the URI."""

    text: str
    origins: Sequence[tuple[int, int]]

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The part of the URI that [start, end) was decoded from."""
        return self.origins[start][0], self.origins[end - 1][1]


def segments(uri: str) -> list[Segment]:
    """The parts of a URI, %-escapes decoded.

    >>> [part] = segments("a%40x.org")
    >>> part.text, part.source(0, 7)
    ('a@x.org', (0, 9))
    """
    return [_decoded(match.start(), match.group()) for match in _SEGMENT.finditer(uri)]


def _decoded(offset: int, raw: str) -> Segment:
    text: list[str] = []
    origins: list[tuple[int, int]] = []
    for start, end, shown in _characters(raw):
        for char in visible(shown).text:
            text.append(char)
            origins.append((offset + start, offset + end))
    return Segment("".join(text), origins)


def _characters(raw: str) -> Iterator[tuple[int, int, str]]:
    at = 0
    for escapes in _ESCAPES.finditer(raw):
        yield from ((i, i + 1, raw[i]) for i in range(at, escapes.start()))
        decoded = unquote(escapes.group(), errors="surrogateescape")
        i = escapes.start()
        for char in decoded:
            width = 3 * len(char.encode("utf-8", "surrogateescape"))
            yield i, i + width, char
            i += width
        at = escapes.end()
    yield from ((i, i + 1, raw[i]) for i in range(at, len(raw)))
