"""Character and word error rate: exact edit distance with its substitutions, deletions and insertions.

How it is fast and still exact: the texts are cut where a passage of one is found again in the other, and the parts
are aligned. The parts' distances add up to an upper bound; the true distance, which is quick to find with that bound
as a hint, confirms it. Where it does not, the texts are aligned as a whole.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise
from operator import itemgetter
from typing import cast

from rapidfuzz.distance import Levenshtein

from tasks.metrics.rates import ratio

_PART_LIMIT = 4e10
"""Cells of one alignment's matrix above which parts are cut blindly (200,000 unlike characters, some 5 s)."""
_CONFIRM_LIMIT = 1e11
"""Length times distance above which the sum of the parts is not confirmed."""
_BLIND_PART = 20_000


@dataclass(frozen=True, slots=True)
class EditCounts:
    """The fewest edits that turn the reference into the hypothesis.

    `length` is the reference's. The sum of the three counts and the difference of deletions and insertions are
    unique; how many substitutions stand for deletions with insertions is not. The tie-break is rapidfuzz's: walking
    back from the end of each part, a deletion is taken where one is optimal, else a match or substitution, and an
    insertion only where neither is. `exact` is false where the texts were too long and too unlike (see the limits of
    this module): the counts are then an upper bound, from parts aligned one by one.
    """

    substitutions: int
    deletions: int
    insertions: int
    length: int
    exact: bool = True

    @property
    def distance(self) -> int:
        """Substitutions + deletions + insertions."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float | None:
        """distance / length; from 0, lower is better, above 1 where much is invented; null for an empty reference."""
        return ratio(self.distance, self.length)


@dataclass(frozen=True, slots=True)
class Edit:
    """Edits side by side, taken as one: [start, end) of the reference became [found_start, found_end).

    Characters or words, counted from 0, whichever were compared.
    """

    start: int
    end: int
    found_start: int
    found_end: int

    @property
    def size(self) -> int:
        """The longer of the two sides: how many edits it holds."""
        return max(self.end - self.start, self.found_end - self.found_start)

    @property
    def fault(self) -> str:
        """`missing` where nothing is in its place, `invented` where there was nothing, else `changed`."""
        if self.found_start == self.found_end:
            return "missing"
        return "invented" if self.start == self.end else "changed"


@dataclass(frozen=True, slots=True)
class Alignment:
    """The number of edits, and the largest of them, largest first, in the order of the reference where equal."""

    counts: EditCounts
    largest: tuple[Edit, ...]


def comparison_text(text: str) -> str:
    """The text as CER and WER compare it: NFC, every run of white space one space, none at the ends.

    Case, punctuation and compatibility forms count.

    >>> comparison_text("  Cafe\\u0301\\n\\tnoir ")
    'Café noir'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def edit_counts(reference: str | Sequence[str], hypothesis: str | Sequence[str]) -> EditCounts:
    """The edits between two strings, by code point, or between two lists of words, by word.

    Source: Levenshtein, 1966.

    >>> edit_counts("kitten", "sitting")
    EditCounts(substitutions=2, deletions=0, insertions=1, length=6, exact=True)
    >>> edit_counts("the cat sat".split(), "the cat sat down".split())
    EditCounts(substitutions=0, deletions=0, insertions=1, length=3, exact=True)
    """
    return align(reference, hypothesis, most=0).counts


def align(reference: str | Sequence[str], hypothesis: str | Sequence[str], most: int) -> Alignment:
    """`edit_counts`, and where up to `most` of the edits are.

    >>> align("the cat sat down".split(), "a cat sat".split(), most=1).largest
    (Edit(start=0, end=1, found_start=0, found_end=1),)
    """
    if reference == hypothesis:
        return Alignment(EditCounts(0, 0, 0, len(reference)), ())
    if isinstance(reference, str) and isinstance(hypothesis, str):
        return _align(reference, hypothesis, 512, 32, most)
    # Words become single characters, for which rapidfuzz has its fastest code.
    numbers: dict[str, int] = {}
    left, right = (
        "".join(chr(numbers.setdefault(word, len(numbers))) for word in words) for words in (reference, hypothesis)
    )
    return _align(left, right, 128, 8, most)


def cer(reference: str, hypothesis: str) -> float | None:
    """Character error rate of two texts in their `comparison_text`; null for an empty reference.

    >>> cer("kitten", "sitting")
    0.5
    """
    return edit_counts(comparison_text(reference), comparison_text(hypothesis)).rate


def wer(reference: str, hypothesis: str) -> float | None:
    """Word error rate of two texts in their `comparison_text`, words parted by spaces; null for an empty reference.

    >>> wer("the cat sat down", "the cat stood")
    0.5
    """
    return edit_counts(comparison_text(reference).split(), comparison_text(hypothesis).split()).rate


def _align(reference: str, hypothesis: str, step: int, anchor: int, most: int) -> Alignment:
    parts = list(_parts(reference, hypothesis, step, anchor))
    blind = [part for part in parts if len(part[0]) * len(part[1]) > _PART_LIMIT]
    pieces = [piece for part in parts for piece in (_blind_parts(*part) if part in blind else [part])]
    tally, largest = _edits(pieces, 64, most)
    bound = sum(tally.values())
    exact = not blind and len(reference) * bound <= _CONFIRM_LIMIT
    if exact and len(pieces) > 1:
        distance = Levenshtein.distance(reference, hypothesis, score_hint=max(bound, 1))
        if distance != bound:
            tally, largest = _edits([(reference, hypothesis)], distance, most)
    counts = EditCounts(tally["replace"], tally["delete"], tally["insert"], len(reference), exact)
    return Alignment(counts, tuple(largest))


def _edits(pieces: Iterable[tuple[str, str]], hint: int, most: int) -> tuple[dict[str, int], list[Edit]]:
    """Edits of texts that are aligned piece by piece: how many of each kind, and the largest."""
    tally = {"replace": 0, "delete": 0, "insert": 0}
    # All are read, to be counted, also where none is wanted.
    largest = nlargest(max(most, 1), _joined(pieces, hint, tally), key=itemgetter(0))
    return tally, [Edit(*place) for _, *place in largest[:most]]


def _joined(
    pieces: Iterable[tuple[str, str]], hint: int, tally: dict[str, int]
) -> Iterator[tuple[int, int, int, int, int]]:
    """Size and place of each edit, those side by side as one; tuples, since there may be very many."""
    start = found_start = 0
    size = first = end = found_first = found_end = 0
    for left, right in pieces:
        if left != right:
            operations = Levenshtein.opcodes(left, right, score_hint=hint).as_list()
            for kind, a, b, c, d in cast(list[tuple[str, int, int, int, int]], operations):
                if kind == "equal":
                    continue
                number = b - a or d - c
                tally[kind] += number
                if start + a == end and found_start + c == found_end:
                    size += number
                else:
                    if size:
                        yield size, first, end, found_first, found_end
                    size, first, found_first = number, start + a, found_start + c
                end, found_end = start + b, found_start + d
        start, found_start = start + len(left), found_start + len(right)
    if size:
        yield size, first, end, found_first, found_end


def _parts(reference: str, hypothesis: str, step: int, anchor: int) -> Iterator[tuple[str, str]]:
    """Cuts both texts where a passage of the reference stands at about the same place of the hypothesis."""
    start, found_start = 0, 0
    for position in range(step, len(reference) - anchor, step):
        advance = position - start
        slack = step // 8 + advance // 4
        expected = found_start + advance
        found = hypothesis.find(
            reference[position : position + anchor], max(found_start, expected - slack), expected + slack + anchor
        )
        if found >= 0:
            yield reference[start:position], hypothesis[found_start:found]
            start, found_start = position, found
    yield reference[start:], hypothesis[found_start:]


def _blind_parts(reference: str, hypothesis: str) -> list[tuple[str, str]]:
    """Cuts both texts into equally many parts of proportional length."""
    number = max(len(reference), len(hypothesis)) // _BLIND_PART + 1
    cuts = [(len(reference) * i // number, len(hypothesis) * i // number) for i in range(number + 1)]
    return [(reference[a:c], hypothesis[b:d]) for (a, b), (c, d) in pairwise(cuts)]
