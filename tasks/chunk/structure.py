"""The kept elements of a document in redacted text, grouped into sections."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.documents.offsets import RedactionMap

_SLUG_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """A kept element: where it lies in redacted text (white space around it not included), and what it is."""

    element_id: int
    kind: str
    start: int
    end: int
    page: int | None
    anchor: str | None
    html: str | None
    part: str | None
    headings: tuple[int, ...]
    """Element ids of the kept headings above it, its own last if it is one."""


@dataclass(slots=True)
class Section:
    """Consecutive elements under the same headings."""

    headings: tuple[int, ...]
    pieces: list[Piece] = field(default_factory=list)


def kept_pieces(
    elements: Sequence[Mapping[str, Any]], spans: Sequence[Mapping[str, Any]], redacted: str, offsets: RedactionMap
) -> list[Piece]:
    """The elements that normalization kept, in order, with their place in redacted text; blank ones are left out.

    A heading that an earlier stage dropped was never looked at for PII; it is left out of the path of what follows.
    """
    place = {span["element_id"]: (span["start"], span["end"]) for span in spans}
    last_heading: dict[str, int | None] = {}
    pieces: list[Piece] = []
    previous_end = 0
    for element in elements:
        element_id, kind = element["element_id"], element["kind"]
        above = tuple(
            h for text in element["section_path"] if (h := last_heading.get(" ".join(text.split()))) is not None
        )
        found = place.get(element_id)
        piece = None
        if found is not None:
            start = max(previous_end, offsets.to_redacted(found[0]))
            start, end = trim(redacted, start, offsets.to_redacted(found[1], end=True))
            if start < end:
                headings = (*above, element_id) if kind == "heading" else above
                page, anchor, html = element["page"], element["anchor"], element["html"]
                piece = Piece(element_id, kind, start, end, page, anchor, html, element.get("part"), headings)
                pieces.append(piece)
                previous_end = end
        if kind == "heading":
            last_heading[" ".join(element["text"].split())] = element_id if piece else None
    return pieces


def sections(pieces: Sequence[Piece]) -> list[Section]:
    """The pieces of one part of a document grouped by their headings.

    The one rule by which sections are joined: a heading without any text of its own goes with the section that
    follows, if that one lies under it. Otherwise sections stay apart, however small.
    """
    grouped: list[Section] = []
    for piece in pieces:
        if not grouped or piece.headings != grouped[-1].headings:
            bare = bool(grouped) and all(p.kind == "heading" for p in grouped[-1].pieces)
            above = grouped[-1].headings if grouped else ()
            if bare and piece.headings[: len(above)] == above:
                grouped[-1].headings = piece.headings
            else:
                grouped.append(Section(piece.headings))
        grouped[-1].pieces.append(piece)
    return grouped


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its ends."""
    while start < end and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end


class SectionIds:
    """Gives each section its stable id: the slugs of its headings, equal ones under one parent numbered."""

    def __init__(self, document_id: str, titles: Mapping[int, str]) -> None:
        self._document_id = document_id
        self._titles = titles
        self._slugs: dict[tuple[int, ...], str] = {}
        self._taken: dict[tuple[int, ...], set[str]] = {}
        self._counts: dict[tuple[int, ...], int] = {}

    def next_id(self, headings: tuple[int, ...]) -> str:
        """The id of the section's next chunk; the last part counts from 1 within the section."""
        self._counts[headings] = n = self._counts.get(headings, 0) + 1
        slugs = [self._slug(headings[: i + 1]) for i in range(len(headings))]
        return "/".join([self._document_id, *slugs, str(n)])

    def _slug(self, headings: tuple[int, ...]) -> str:
        if headings not in self._slugs:
            taken = self._taken.setdefault(headings[:-1], set())
            base = slug(self._titles[headings[-1]])
            name, n = base, 1
            while name in taken:
                n += 1
                name = f"{base}-{n}"
            taken.add(name)
            self._slugs[headings] = name
        return self._slugs[headings]


def slug(heading: str) -> str:
    """An ASCII name for a heading; one without Latin letters or digits is named by a hash of its text.

    >>> slug("2.1 Über die Größe"), slug("概要")
    ('2-1-uber-die-grosse', 'h-aaaf449b')
    """
    plain = unicodedata.normalize("NFKD", heading.casefold()).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "-", plain)[:_SLUG_LENGTH].strip("-")
    return name or "h-" + hashlib.sha256(heading.encode()).hexdigest()[:8]
