"""Numbers that a document prints beside its lines: pleadings, drafts under review, bills.

A page is numbered when the lines of its text begin with numbers that count by one, without a full stop, at least eight
of them and on three quarters of the lines from the first to the last of them; or with multiples of five, at least three
of them, four lines apart; or when such numbers stand by themselves, one per line. They are taken for line numbers where
two pages or more in a row are numbered so, each beginning at the first number again or going on where the page before
ended. A list of unpunctuated, numbered single lines over two pages looks the same and loses its numbers too. Numbers to
the right of the lines are not looked for.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from schemas.names import ElementKind
from tasks.boilerplate.cuts import Cut

LINE_NUMBER = "line_number"

_NUMBER = re.compile(r"(\d{1,5})(?:[ \t]+|$)")
_NOT_NUMBERED = frozenset({ElementKind.TABLE, ElementKind.CODE, ElementKind.FORMULA, ElementKind.FIGURE})
_FEWEST = {1: 8, 5: 3}
"""Steps by which line numbers count, and how many of them a page must have."""

_COVERED = 0.75
_REGULAR = 0.8


@dataclass(frozen=True, slots=True)
class _Line:
    element: int
    start: int
    end: int
    number: int | None
    number_end: int


@dataclass(frozen=True, slots=True)
class _Numbering:
    """The numbered lines of a page, in order."""

    step: int
    lines: tuple[_Line, ...]

    def begins(self) -> int:
        return self.lines[0].number or 0

    def follows(self, before: "_Numbering") -> bool:
        """Whether this page begins anew or goes on where `before` ended."""
        end = before.lines[-1].number or 0
        return self.step == before.step and self.begins() in (self.step, end + self.step)


def line_number_cuts(elements: Sequence[Mapping[str, Any]], reasons: Sequence[str]) -> list[Cut]:
    """What to take out of the elements that have no reason to go yet, in order; elements by position.

    >>> texts = ["\\n".join(f"{i} a line of page {page}" for i in range(1, 11)) for page in (1, 2)]
    >>> pages = [{"page": i + 1, "kind": "paragraph", "text": text} for i, text in enumerate(texts)]
    >>> cuts = line_number_cuts(pages, ["", ""])
    >>> len(cuts), [texts[cut.element][cut.start : cut.end] for cut in cuts[:2]]
    (20, ['1 ', '2 '])
    """
    pages: defaultdict[int, list[_Line]] = defaultdict(list)
    for i, element in enumerate(elements):
        if element["page"] is not None and not reasons[i] and element["kind"] not in _NOT_NUMBERED:
            pages[element["page"]].extend(_lines(i, element["text"]))
    numbered = {page: _numbering(lines) for page, lines in sorted(pages.items())}
    accepted: set[int] = set()
    for before, page in pairwise(numbered):
        first, second = numbered[before], numbered[page]
        if page == before + 1 and first is not None and second is not None and second.follows(first):
            accepted |= {before, page}
    found = [line for page in sorted(accepted) for line in (numbered[page] or _Numbering(1, ())).lines]
    return sorted(Cut(line.element, line.start, line.number_end) for line in found)


def _lines(element: int, text: str) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        if line.strip():
            match = _NUMBER.match(line)
            yield _Line(element, start, end, int(match[1]) if match else None, start + (match.end() if match else 0))
        start = end + 1


def _numbering(lines: Sequence[_Line]) -> _Numbering | None:
    for step, fewest in _FEWEST.items():
        chain = _longest_chain(lines, step)
        if len(chain) < fewest:
            continue
        gaps = [after - before - 1 for before, after in pairwise(chain)]
        alone = not any(gaps) and all(lines[i].number_end == lines[i].end for i in chain)
        if step == 1:
            regular = len(chain) >= _COVERED * (chain[-1] - chain[0] + 1)
        else:
            regular = sum(gap == step - 1 for gap in gaps) >= _REGULAR * len(gaps)
        if alone or regular:
            return _Numbering(step, tuple(lines[i] for i in chain))
    return None


def _longest_chain(lines: Sequence[_Line], step: int) -> list[int]:
    """Positions of the longest row of lines whose numbers go up by `step`; for steps over one, multiples of it."""
    ending: dict[int, tuple[int, int]] = {}
    previous: dict[int, int] = {}
    best = (0, -1)
    for i, line in enumerate(lines):
        if line.number is None or line.number % step:
            continue
        length, before = ending.get(line.number - step, (0, -1))
        previous[i] = before
        ending[line.number] = (length + 1, i)
        best = max(best, (length + 1, i), key=lambda found: found[0])
    chain = []
    at = best[1]
    while at >= 0:
        chain.append(at)
        at = previous[at]
    return chain[::-1]
