"""The parts of a document whose language is told one by one.

A section begins at a heading, which belongs to it. One with more than 2,000 characters of prose is looked at in parts
of about that size, cut between elements, so that a change of language inside it is seen; neighbouring parts in one
language are one row again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from math import fsum
from typing import Any

from schemas.names import ElementKind
from tasks.language.windows import SILENT, TERSE

UNKNOWN = "und"
_LONGEST = 2000


@dataclass(slots=True)
class _Part:
    """Neighbouring elements of one section."""

    section: int
    start: int
    end: int
    prose: list[str] = field(default_factory=list)
    size: int = 0


@dataclass(frozen=True, slots=True)
class SectionLanguage:
    """[start, end) of the clean text, its language, and how many characters of prose in it told that."""

    start: int
    end: int
    language: str
    confidence: float
    characters: int


def section_languages(
    text: str,
    spans: Iterable[Mapping[str, Any]],
    kinds: Mapping[int, str],
    tell: Callable[[str], tuple[str, float]],
) -> list[SectionLanguage]:
    """The sections of a clean text in order, each with the language that `tell` names.

    Those without prose are left out. Tables, figures, code and formulas do not decide. The confidence of a row made of
    several parts is their mean, weighted by characters.
    """
    told = [(part, *tell("\n".join(part.prose))) for part in _parts(text, spans, kinds) if part.size]
    rows = []
    for (_, language), group in groupby(told, key=lambda item: (item[0].section, item[1])):
        parts = list(group)
        size = sum(part.size for part, _, _ in parts)
        confidence = fsum(confidence * part.size for part, _, confidence in parts) / size
        rows.append(SectionLanguage(parts[0][0].start, parts[-1][0].end, language, confidence, size))
    return rows


def language_shares(sections: Iterable[SectionLanguage]) -> list[tuple[str, int]]:
    """(language, characters of prose in it), the most first; `und` is one of them."""
    characters: defaultdict[str, int] = defaultdict(int)
    for section in sections:
        characters[section.language] += section.characters
    return sorted(characters.items(), key=lambda item: (-item[1], item[0]))


def is_mixed(shares: Iterable[tuple[str, int]], *, least_share: float, least_characters: int) -> bool:
    """Whether two languages or more have each their part of the text; what is unknown is no language.

    >>> is_mixed([("en", 900), ("de", 300), ("und", 50)], least_share=0.1, least_characters=200)
    True
    >>> is_mixed([("en", 5000), ("de", 300)], least_share=0.1, least_characters=200)
    False
    """
    known = [size for language, size in shares if language != UNKNOWN]
    least = max(least_share * sum(known), least_characters)
    return sum(size >= least for size in known) > 1


def _parts(text: str, spans: Iterable[Mapping[str, Any]], kinds: Mapping[int, str]) -> Iterator[_Part]:
    part: _Part | None = None
    section = 0
    for span in spans:
        kind = kinds[span["element_id"]]
        section += kind == ElementKind.HEADING
        if part is not None and (part.section != section or part.size >= _LONGEST):
            yield part
            part = None
        if part is None:
            part = _Part(section, span["start"], span["end"])
        part.end = span["end"]
        if kind not in SILENT and kind not in TERSE:
            part.prose.append(text[span["start"] : span["end"]])
            part.size += span["end"] - span["start"]
    if part is not None:
        yield part
