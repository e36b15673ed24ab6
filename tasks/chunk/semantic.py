"""Cuts between sentences that are least alike.

Every place between two sentences is judged by the cosine similarity of the sentences before it and after it, a few on
either side. The lowest places of the document (of each part, where it has sheets or attachments) are cut. Headings,
tables, list items and code are units as a whole, and nothing is cut between a heading and what follows it.
Source: the percentile rule of Kamradt's semantic chunking (5 Levels of Text Splitting, 2024).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tasks.chunk.breaks import allowed, sentence_starts
from tasks.chunk.settings import ChunkSettings
from tasks.chunk.structure import Piece, trim
from tasks.embedding.model import Tokenizer
from tasks.embedding.models import embedding_model
from tasks.embedding.settings import EmbeddingSettings

_RUNNING = ("paragraph", "footnote", "caption")


def semantic_groups(
    pieces: Sequence[Piece],
    text: str,
    forbidden: Sequence[tuple[int, int]],
    settings: ChunkSettings,
    counter: Tokenizer,
) -> list[list[Piece]]:
    """The pieces in groups; a piece that is cut between two sentences is in two groups, in part."""
    units = [part for piece in pieces for part in _sentences(piece, text, forbidden)]
    if not units:
        return []
    model = embedding_model(EmbeddingSettings(model=settings.semantic_model))
    vectors = model.embed([text[unit.start : unit.end] for unit in units]).vectors
    free = np.array([unit.kind != "heading" for unit in units[:-1]], np.bool_)
    cuts = lowest(similarities(vectors, settings.semantic_window), free, settings.semantic_percentile)
    parts = np.split(np.arange(len(units)), cuts + 1)
    sizes = counter.count([text[units[part[0]].start : units[part[-1]].end] for part in parts])
    made: list[list[Piece]] = []
    waiting: list[Piece] = []
    tokens = 0
    for part, size in zip(parts, sizes, strict=True):
        waiting += [units[i] for i in part]
        tokens += size
        if tokens >= settings.least_tokens:
            made.append(_joined(waiting))
            waiting, tokens = [], 0
    if waiting and made:
        made[-1] = _joined([*made[-1], *waiting])
    elif waiting:
        made.append(_joined(waiting))
    return made


def similarities(vectors: NDArray[np.float32], window: int) -> NDArray[np.float64]:
    """For each place between two of n vectors, the cosine of the sums of up to `window` on either side: shape (n-1,).

    A side that says nothing (zero vectors) is taken for alike, so that nothing is cut for it.

    >>> similarities(np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32), 2).tolist()
    [0.5..., 0.0, 0.5...]
    """
    sums = np.vstack([np.zeros(vectors.shape[1]), np.cumsum(vectors, axis=0, dtype=np.float64)])
    n = len(vectors)
    places = np.arange(1, n)
    before = sums[places] - sums[np.maximum(places - window, 0)]
    after = sums[np.minimum(places + window, n)] - sums[places]
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    dots = (before * after).sum(axis=1)
    cosines: NDArray[np.float64] = np.divide(dots, norms, out=np.ones_like(dots), where=norms > 1e-9)
    return cosines


def lowest(values: NDArray[np.float64], free: NDArray[np.bool_], percentile: float) -> NDArray[np.int64]:
    """Places of the lowest `percentile` per cent of the values (rounded down), of those that are `free`, ascending.

    >>> lowest(np.array([0.9, 0.1, 0.5, 0.2]), np.array([True, False, True, True]), 50).tolist()
    [3]
    """
    places = np.flatnonzero(free)
    wanted = int(len(places) * percentile / 100)
    order = np.argsort(values[places], kind="stable")[:wanted]
    found: NDArray[np.int64] = np.sort(places[order])
    return found


def _sentences(piece: Piece, text: str, forbidden: Sequence[tuple[int, int]]) -> list[Piece]:
    if piece.kind not in _RUNNING:
        return [piece]
    starts = [p for p in sentence_starts(text, piece.start, piece.end) if allowed(p, forbidden)]
    bounds = [piece.start, *starts, piece.end]
    parts = [trim(text, start, end) for start, end in pairwise(bounds)]
    return [replace(piece, start=start, end=end) for start, end in parts if start < end]


def _joined(units: Sequence[Piece]) -> list[Piece]:
    """Neighbouring sentences of one element as one piece."""
    made: list[Piece] = []
    for unit in units:
        if made and made[-1].element_id == unit.element_id:
            made[-1] = replace(made[-1], end=unit.end)
        else:
            made.append(unit)
    return made
