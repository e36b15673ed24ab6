"""Which words of the parsed elements an extractor kept: alignment of two word sequences in order."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import LCSseq

_WORD = re.compile(r"\w+")
_CELLS = 20_000_000
"""Largest product of two lengths that is aligned at once (a table of 2.5 MB); longer texts are cut at anchors."""

_ANCHOR = 4
"""Words of an anchor: a group that stands once in each text."""

_STRAY = 2
"""Matches shorter than this inside a longer element are chance."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of an element's words were matched, of how many, and how many in a row from its first word."""

    matched: int
    words: int
    leading: int
    positions: tuple[int, ...]

    @property
    def share(self) -> float:
        """matched / words; 0 for an element without words."""
        return self.matched / self.words if self.words else 0.0


def words(text: str) -> list[str]:
    """The word tokens of a text.

    >>> words("To be, or not to be?")
    ['To', 'be', 'or', 'not', 'to', 'be']
    """
    return _WORD.findall(text)


def coverage(elements: Sequence[str], extracted: str) -> list[Coverage]:
    """Aligns the words of the elements with those of the extracted text by a longest common subsequence.

    A match of fewer than two words in a row in an element of more than three words does not count: frequent words match
    by chance. Where the product of the two lengths is over 20 million, both are first cut at groups of four words that
    stand once in each and keep their order; a stretch that is still too long is left unmatched.

    >>> [c.matched for c in coverage(["Home Shop", "The boat is green.", "Terms of sale"], "The boat is green.")]
    [0, 4, 0]
    """
    numbers: dict[str, int] = {}
    sequence: list[int] = []
    starts = [0]
    for text in elements:
        sequence.extend(numbers.setdefault(word, len(numbers)) for word in _WORD.findall(text))
        starts.append(len(sequence))
    target = [numbers.get(word, -1) for word in _WORD.findall(extracted)]
    matched = _matched(sequence, [number for number in target if number >= 0])
    return [_covered(matched[start:end]) for start, end in pairwise(starts)]


def _covered(matched: bytearray) -> Coverage:
    size = len(matched)
    if size > _STRAY + 1:
        for run in re.finditer(b"\x01+", bytes(matched)):
            if run.end() - run.start() < _STRAY:
                matched[run.start() : run.end()] = bytes(run.end() - run.start())
    leading = matched.find(0)
    return Coverage(
        matched.count(1),
        size,
        size if leading < 0 else leading,
        tuple(i for i, flag in enumerate(matched) if flag),
    )


def _matched(sequence: list[int], target: list[int]) -> bytearray:
    """One flag per word of `sequence`."""
    flags = bytearray(len(sequence))
    at = other = 0
    ends = (len(sequence), len(target))
    anchors = _anchors(sequence, target) if len(sequence) * len(target) > _CELLS else []
    for position, counterpart in [*anchors, ends]:
        if position < at or counterpart < other:
            continue
        if (position - at) * (counterpart - other) <= _CELLS:
            for operation in LCSseq.opcodes(sequence[at:position], target[other:counterpart]):
                if operation.tag == "equal":
                    size = operation.src_end - operation.src_start
                    first = at + operation.src_start
                    flags[first : first + size] = b"\x01" * size
        if (position, counterpart) != ends:
            flags[position : position + _ANCHOR] = b"\x01" * _ANCHOR
            at, other = position + _ANCHOR, counterpart + _ANCHOR
    return flags


def _anchors(sequence: list[int], target: list[int]) -> list[tuple[int, int]]:
    """Places of word groups that stand once in each sequence, as many as keep their order (patience sorting)."""
    unique = _once(sequence)
    pairs = sorted((unique[group], place) for group, place in _once(target).items() if group in unique)
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for i, (_, place) in enumerate(pairs):
        k = bisect_left(tails, place)
        before.append(ends[k - 1] if k else -1)
        if k == len(tails):
            tails.append(place)
            ends.append(i)
        else:
            tails[k], ends[k] = place, i
    chain = []
    i = ends[-1] if ends else -1
    while i >= 0:
        chain.append(pairs[i])
        i = before[i]
    return chain[::-1]


def _once(sequence: list[int]) -> dict[tuple[int, ...], int]:
    places: dict[tuple[int, ...], int] = {}
    for i, group in enumerate(zip(*(sequence[k:] for k in range(_ANCHOR)), strict=False)):
        places[group] = -1 if group in places else i
    return {group: place for group, place in places.items() if place >= 0}
