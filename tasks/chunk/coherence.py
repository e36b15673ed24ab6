"""Are sentences of one chunk more alike than those that a boundary parts?

At a boundary three pairs of neighbouring sentences are compared: the last two before it, the first two after it, and
the two on either side. A few boundaries of a document, evenly spaced, stand for all, so that the cost has a bound.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from schemas.names import MetricStatus
from tasks.chunk.breaks import sentence_starts
from tasks.chunk.structure import trim
from tasks.embedding.models import embedding_model
from tasks.embedding.settings import EmbeddingSettings
from tasks.metrics.rows import MetricRows

Place: TypeAlias = tuple[list[str], list[str]]

_REACH = 1000
"""Characters on either side of a boundary in which sentences are looked for."""


def sentences_at_boundaries(
    text: str, element_starts: Sequence[int], chunks: Sequence[Mapping[str, Any]], most: int
) -> list[Place]:
    """Up to two sentences before and two after each of up to `most` boundaries, of the clean text.

    An element that is no running text ends a sentence too. What the next chunk repeats of this one is left out.

    >>> text = "One. Two. Three. Four. Five."
    >>> chunks = [{"start": 0, "end": 16}, {"start": 10, "end": 28}]
    >>> sentences_at_boundaries(text, [0], chunks, 4)
    [(['Two.', 'Three.'], ['Four.', 'Five.'])]
    """
    boundaries = list(pairwise(chunks))
    step = max(1.0, len(boundaries) / most)
    found = []
    for n in range(min(most, len(boundaries))):
        before, after = boundaries[int((n + 0.5) * step)]
        edge = before["end"]
        left = _sentences(text, element_starts, max(before["start"], edge - _REACH), edge)[-2:]
        right = _sentences(text, element_starts, max(edge, after["start"]), min(after["end"], edge + _REACH))[:2]
        if left and right and len(left) + len(right) > 2:
            found.append((left, right))
    return found


def _sentences(text: str, element_starts: Sequence[int], start: int, end: int) -> list[str]:
    if start >= end:
        return []
    inner = element_starts[bisect_right(element_starts, start) : bisect_left(element_starts, end)]
    bounds = [start, *sorted({*inner, *sentence_starts(text, start, end)}), end]
    parts = (trim(text, a, b) for a, b in pairwise(bounds))
    return [text[a:b] for a, b in parts if a < b]


def coherence(before: NDArray[np.float32], after: NDArray[np.float32]) -> float | None:
    """Mean cosine of neighbours within, minus the cosine over the boundary, of unit vectors in reading order.

    From -2 to 2, higher is better: what is together is alike, what is parted is not. Null where no pair within, or not
    the pair over the boundary, says anything (a zero vector says nothing).

    >>> left, right = np.array([[1, 0], [1, 0]], np.float32), np.array([[0, 1], [0.6, 0.8]], np.float32)
    >>> round(coherence(left, right), 6)  # (1 + 0.8) / 2 - 0
    0.9
    """
    within = [cosine for side in (before, after) for pair in pairwise(side) if (cosine := _cosine(*pair)) is not None]
    across = _cosine(before[-1], after[0])
    return sum(within) / len(within) - across if within and across is not None else None


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float | None:
    return float(np.dot(one, other)) if one.any() and other.any() else None


def coherence_rows(rows: MetricRows, places: Mapping[str, Sequence[Place]]) -> None:
    """A row per document: the mean over its boundaries; not applicable where none can be judged."""
    texts = [text for found in places.values() for place in found for side in place for text in side]
    vectors = embedding_model(EmbeddingSettings(model="wordllama")).embed(texts).vectors
    position = 0
    for document_id, found in places.items():
        values = []
        for left, right in found:
            middle, end = position + len(left), position + len(left) + len(right)
            values.append(coherence(vectors[position:middle], vectors[middle:end]))
            position = end
        known = [value for value in values if value is not None]
        if known:
            rows.value("coherence", document_id, sum(known) / len(known))
        else:
            rows.without_value("coherence", document_id, MetricStatus.NOT_APPLICABLE)
