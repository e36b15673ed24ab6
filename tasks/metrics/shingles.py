"""Overlap of two texts on token shingles: how well a page's main text was extracted.

Source: the article-extraction-benchmark (Scrapinghub, 2019). Tokens are runs of word characters (`\\w+`), case
kept; a shingle is four tokens in a row, and a text of one to three tokens is one shingle of that length. Shingles
are counted, so a passage printed twice is wrong once.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tasks.metrics.rates import f_score, ratio

_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ShingleCounts:
    """Shingles in both texts, in the extracted text only, and in the reference text only."""

    shared: int
    invented: int
    missed: int

    @property
    def precision(self) -> float | None:
        """shared / extracted; null where nothing was extracted."""
        return ratio(self.shared, self.shared + self.invented)

    @property
    def recall(self) -> float | None:
        """shared / reference; null where the reference is empty."""
        return ratio(self.shared, self.shared + self.missed)

    @property
    def f1(self) -> float | None:
        """2 · shared / (extracted + reference); null where both texts are empty."""
        return ratio(2 * self.shared, 2 * self.shared + self.invented + self.missed)


def shingles(text: str, size: int = 4) -> Counter[tuple[str, ...]]:
    """The shingles of a text with their counts; empty for a text without a word character.

    >>> sorted(shingles("To be, or not to be"))
    [('To', 'be', 'or', 'not'), ('be', 'or', 'not', 'to'), ('or', 'not', 'to', 'be')]
    >>> sorted(shingles("two words"))
    [('two', 'words')]
    """
    tokens = _TOKEN.findall(text)
    if not tokens:
        return Counter()
    if len(tokens) <= size:
        return Counter([tuple(tokens)])
    return Counter(zip(*(tokens[i:] for i in range(size)), strict=False))


def shingle_counts(reference: str, extracted: str, size: int = 4) -> ShingleCounts:
    """Compares an extracted text with the labelled main text.

    Three of the four shingles of "a b c d e f g" are kept when its last token is lost, and none is invented:

    >>> shingle_counts("a b c d e f g", "a b c d e f")
    ShingleCounts(shared=3, invented=0, missed=1)
    """
    expected, found = shingles(reference, size), shingles(extracted, size)
    shared = (expected & found).total()
    return ShingleCounts(shared, found.total() - shared, expected.total() - shared)


def macro_scores(counts: Iterable[ShingleCounts]) -> tuple[float | None, float | None, float | None]:
    """Precision, recall and F1 over pages as the benchmark aggregates them.

    Precision and recall are means over the pages where they are defined; F1 is that of the two means, so it
    differs from the mean of the pages' own F1. Null over no page.

    >>> macro_scores([ShingleCounts(1, 1, 0), ShingleCounts(0, 0, 4), ShingleCounts(2, 0, 0)])
    (0.75, 0.6666666666666666, 0.7058823529411765)
    """
    pages = list(counts)
    precisions = [page.precision for page in pages if page.precision is not None]
    recalls = [page.recall for page in pages if page.recall is not None]
    precision = ratio(sum(precisions), len(precisions))
    recall = ratio(sum(recalls), len(recalls))
    return precision, recall, f_score(precision, recall)
