"""Running headers, footers and page numbers of paged documents.

A line is running when it repeats, digits masked, in the same place at the top or bottom of the pages: on at least three
pages (setting), and on a share (setting) of those between its first and its last one, so that chapter headers and
alternating left and right pages are found; a heading whose numbers vary counts only if they count pages. A document of
two pages shows a repetition only once: there a line must be the outermost of both pages, with the same text at the same
height, or a page number that goes up by one. A page whose every element would go keeps them all.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.names import ElementKind
from tasks.boilerplate.settings import BoilerplateSettings

HEADER = "running_header"
FOOTER = "running_footer"
PAGE_NUMBER = "page_number"

_LONGEST_LINE = 200
_SAME_HEIGHT = 12.0
"""Points by which the height of a running line may vary from page to page."""

_EXACTLY = 2.0
_NEVER = frozenset({ElementKind.TABLE, ElementKind.FOOTNOTE, ElementKind.FIGURE, ElementKind.CODE})
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlc]{1,7}")
_NUMBER_ONLY = re.compile(
    r"\W*(?:pages?|p|pg|seiten?|s|página|pagina|pág|sida|side|strona|blatt|sheet)?\W*#(?:\W*(?:of|von|de|di|sur|van|av|af|/|z)\W*#)?\W*"
)


@dataclass(frozen=True, slots=True)
class _Line:
    index: int
    page: int
    height: float
    top: bool
    mask: str
    text: str
    heading: bool


def running_reasons(elements: Sequence[Mapping[str, Any]], settings: BoilerplateSettings) -> list[str]:
    """For each element why it goes, or the empty string."""
    reasons = [""] * len(elements)
    lines = _edge_lines(elements, settings.running_band)
    pages = {element["page"] for element in elements if element["page"] is not None}
    groups: defaultdict[tuple[bool, str], list[_Line]] = defaultdict(list)
    for line in lines:
        groups[line.top, line.mask].append(line)
    for (top, mask), group in groups.items():
        for cluster in _by_height(group):
            if _outermost_of_two(cluster, elements) if len(pages) == 2 else _repeats(cluster, settings):
                numbered = _NUMBER_ONLY.fullmatch(mask) and len({line.text for line in cluster}) > 1
                for line in cluster:
                    reasons[line.index] = PAGE_NUMBER if numbered else HEADER if top else FOOTER
    left = {element["page"] for element, reason in zip(elements, reasons, strict=True) if not reason}
    return [reason if element["page"] in left else "" for element, reason in zip(elements, reasons, strict=True)]


def _edge_lines(elements: Sequence[Mapping[str, Any]], band: float) -> list[_Line]:
    bottom = max((element["bbox"][3] for element in elements if element["bbox"]), default=0.0)
    lines = []
    for i, element in enumerate(elements):
        text = " ".join(element["text"].split())
        if not element["bbox"] or element["page"] is None or not 0 < len(text) <= _LONGEST_LINE:
            continue
        if element["kind"] in _NEVER:
            continue
        height = (element["bbox"][1] + element["bbox"][3]) / 2
        if height <= band * bottom or height >= (1 - band) * bottom:
            heading = element["kind"] == ElementKind.HEADING
            lines.append(_Line(i, element["page"], height, height <= band * bottom, _mask(text), text, heading))
    return lines


def _mask(text: str) -> str:
    """The text with every number as `#`.

    >>> _mask("Page 3 of 12"), _mask("iv"), _mask("Annual report 2024")
    ('page # of #', '#', 'annual report #')
    """
    folded = text.casefold()
    return "#" if _ROMAN.fullmatch(folded) else _DIGITS.sub("#", folded)


def _by_height(lines: list[_Line]) -> list[list[_Line]]:
    """Lines in clusters whose neighbours in height are at most 12 points apart."""
    clusters: list[list[_Line]] = []
    for line in sorted(lines, key=lambda line: (line.height, line.index)):
        if clusters and line.height - clusters[-1][-1].height <= _SAME_HEIGHT:
            clusters[-1].append(line)
        else:
            clusters.append([line])
    return clusters


def _repeats(cluster: list[_Line], settings: BoilerplateSettings) -> bool:
    pages = {line.page for line in cluster}
    stretch = max(pages) - min(pages) + 1
    if len(pages) < max(settings.running_min_pages, settings.running_share * stretch):
        return False
    return len({line.text for line in cluster}) == 1 or not cluster[0].heading or _counts_pages(cluster)


def _counts_pages(cluster: list[_Line]) -> bool:
    """Whether one of the numbers in the lines goes up as the pages do (headings "Example 1", "Example 2" need not)."""
    ordered = sorted(cluster, key=lambda line: line.page)
    numbers = [[int(number) - line.page for number in _DIGITS.findall(line.text)] for line in ordered]
    return any(len(set(column)) == 1 for column in zip(*numbers, strict=False))


def _outermost_of_two(cluster: list[_Line], elements: Sequence[Mapping[str, Any]]) -> bool:
    if len(cluster) != 2 or cluster[0].page == cluster[1].page:
        return False
    if abs(cluster[0].height - cluster[1].height) > _EXACTLY:
        return False
    for line in cluster:
        heights = [
            (element["bbox"][1] + element["bbox"][3]) / 2
            for element in elements
            if element["bbox"] and element["page"] == line.page
        ]
        if line.height != (min(heights) if line.top else max(heights)):
            return False
    first, second = sorted(cluster, key=lambda line: line.page)
    if first.text == second.text:
        return True
    numbers = [[int(number) for number in _DIGITS.findall(line.text)] for line in (first, second)]
    return (
        bool(numbers[0])
        and len(numbers[0]) == len(numbers[1])
        and all(b in (a, a + 1) for a, b in zip(*numbers, strict=True))
    )
