"""Main text of web pages: an extractor decides, the parsed elements keep what it kept, known losses are repaired.

The rescue rules (setting `rescue`). An element that the extractor left out comes back when it is neither mostly links
nor in a part of the page marked as something other than content (nav, aside, cookie banner, form …), and

1. it is a table of which at least half the rows have a word that was kept (entries inside cells were lost);
2. its first words were kept, three or more in a row, and it touches a kept element (cut off after an inline tag);
3. it stands with at most three others between two kept elements, the group is no longer than the two together or
   20 words (entries of lists inside layout tables, dropped paragraphs), and does not begin with a heading;
4. it follows or precedes a kept element in the same row of a table of short cells;
5. it is a heading below the first level, directly above a kept element and below another one.

The other way round, an element that is nothing but links goes although it was kept, if there are three or more, or it
stands in a table cell of such or in a marked part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import trafilatura

from schemas.names import ElementKind
from tasks.boilerplate.alignment import Coverage, coverage, words
from tasks.boilerplate.extractors import extract
from tasks.boilerplate.page import Page
from tasks.boilerplate.settings import BoilerplateSettings
from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError

_LONGEST_GAP = 4
_CUT_AFTER = 3
_SHORT_GAP = 20
_MOSTLY_LINKS = 0.5


@dataclass(frozen=True, slots=True)
class Decision:
    """One flag per element, and what found the content."""

    keep: tuple[bool, ...]
    extractor: str


def judge(
    path: str, encoding: str | None, elements: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], pages: Pages
) -> tuple[str, list[bool]]:
    """A job for the cage: (extractor, a flag for each element) of the page at `path`; see `main_text`."""
    html = _decoded(Path(path).read_bytes(), encoding)
    decision = main_text(html, elements, BoilerplateSettings.model_validate(settings))
    return decision.extractor, list(decision.keep)


def main_text(html: str, elements: Sequence[Mapping[str, Any]], settings: BoilerplateSettings) -> Decision:
    """Decides for each element of a parsed web page whether it is content.

    Where the extractor finds nothing, everything outside marked parts of the page is kept, less what is mostly links,
    and the extractor is named `marked-parts`.

    Raises:
        DocumentError: nothing is left (`no_content`).
    """
    tree = trafilatura.load_html(html)
    page = Page(tree) if tree is not None else None
    texts = [element["text"] for element in elements]
    covered = coverage(texts, extract(html, tree, settings) if tree is not None else "")
    keep = [c.words > 0 and c.share >= settings.min_covered for c in covered]
    extractor: str = settings.extractor
    if any(keep) and page is not None:
        keep = [kept and not page.is_navigation(text) for kept, text in zip(keep, texts, strict=True)]
        if settings.rescue and any(keep):
            keep = _rescued(keep, covered, elements, page)
    if not any(keep) and page is not None:
        extractor = "marked-parts"
        keep = [
            bool(words(text)) and not page.is_apart(text) and page.linked(text)[0] < _MOSTLY_LINKS for text in texts
        ]
    if not any(keep):
        raise DocumentError(
            "no_content",
            f"no main text was found among the {len(elements)} elements of the page",
            remedy="Look at the page: it may be a list of links or need a browser to show its text. "
            "Set boilerplate.web to false to keep all of it.",
        )
    return Decision(tuple(keep), extractor)


def _decoded(data: bytes, encoding: str | None) -> str:
    """The page's text in the encoding that the parser found, so that both see the same words."""
    try:
        text = data.decode(encoding or "utf-8", errors="replace")
    except LookupError:
        text = data.decode("utf-8", errors="replace")
    return text.removeprefix("\ufeff").replace("\0", "")


def _rescued(
    keep: list[bool], covered: Sequence[Coverage], elements: Sequence[Mapping[str, Any]], page: Page
) -> list[bool]:
    keep = list(keep)
    last = len(keep) - 1

    def is_content(i: int) -> bool:
        text = elements[i]["text"]
        return page.linked(text)[0] < _MOSTLY_LINKS and not page.is_apart(text)

    for i, element in enumerate(elements):
        if not keep[i] and element["kind"] == ElementKind.TABLE and _rows_touched(element["text"], covered[i]):
            keep[i] = True
    for i in range(len(keep)):
        touches = (i > 0 and keep[i - 1]) or (i < last and keep[i + 1])
        if not keep[i] and covered[i].leading >= _CUT_AFTER and touches and is_content(i):
            keep[i] = True
    for i, neighbour in [*((i, i - 1) for i in range(1, last + 1)), *((i, i + 1) for i in range(last - 1, -1, -1))]:
        if not keep[i] and keep[neighbour] and page.in_one_row(elements[i]["text"], elements[neighbour]["text"]):
            keep[i] = is_content(i)
    _fill_gaps(keep, covered, elements, is_content)
    first = keep.index(True)
    for i in range(last - 1, first, -1):
        heading = elements[i]["kind"] == ElementKind.HEADING and elements[i]["level"] != 1
        if heading and not keep[i] and keep[i + 1] and is_content(i):
            keep[i] = True
    return keep


def _fill_gaps(
    keep: list[bool], covered: Sequence[Coverage], elements: Sequence[Mapping[str, Any]], is_content: Any
) -> None:
    kept = [i for i, flag in enumerate(keep) if flag]
    for before, after in pairwise(kept):
        gap = range(before + 1, after)
        if not 0 < len(gap) <= _LONGEST_GAP or elements[gap[0]]["kind"] == ElementKind.HEADING:
            continue
        size = sum(covered[i].words for i in gap)
        if size <= max(covered[before].words + covered[after].words, _SHORT_GAP) and all(map(is_content, gap)):
            for i in gap:
                keep[i] = True


def _rows_touched(text: str, covered: Coverage) -> bool:
    """Whether at least half the rows of a table hold a word that was kept."""
    matched = set(covered.positions)
    start = 0
    touched = []
    for row in text.split("\n"):
        end = start + len(words(row))
        if end > start:
            touched.append(any(i in matched for i in range(start, end)))
        start = end
    return bool(touched) and sum(touched) * 2 >= len(touched)
