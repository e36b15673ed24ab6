"""Which documents are kept and which are dropped for which: the corpus's part of the dedup stage.

Documents are taken in a stated order (`keeper` of the settings; by default longest comparison text first, then least
document id). Each is compared with the kept documents of its candidates; the most similar one that passes takes it
in, else it is kept itself. So every dropped document was verified against the very document that stands for it,
never along a chain, and neither the order of input nor the time of commit has a say. Which of the kept documents
stand inside another one is asked afterwards, the longest first.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.stages import DEDUP
from tasks.dedup.candidates import Candidates, candidates
from tasks.dedup.compared import Candidate, Compared, Shared
from tasks.dedup.comparison import comparison_text, loses_facts, tokens
from tasks.dedup.minhash import shared, shingle_set
from tasks.dedup.settings import DedupSettings

TextOf = Callable[[Sequence[str]], Mapping[str, str]]

_HELD = 512
"""Texts held in memory at most."""

_NO_PRECEDENCE: Mapping[str, int] = MappingProxyType({})


class _Text:
    """A candidate's text and its shingle set; its words where they are asked for. What cannot be had is as if empty."""

    def __init__(self, text: str | None, shingle_size: int) -> None:
        self.is_lost = text is None
        self._text = text or ""
        self.shingles: NDArray[np.uint64] = shingle_set(comparison_text(self._text), shingle_size)

    @cached_property
    def words(self) -> list[str]:
        return tokens(self._text)


class _Texts:
    """Texts of candidates, fetched in groups, the least recently used let go."""

    def __init__(self, text_of: TextOf, shingle_size: int) -> None:
        self._text_of = text_of
        self._shingle_size = shingle_size
        self._held: OrderedDict[str, _Text] = OrderedDict()

    def fetch(self, document_ids: Iterable[str]) -> None:
        wanted = [d for d in dict.fromkeys(document_ids) if d not in self._held][:_HELD]
        if wanted:
            texts = self._text_of(wanted)
            for document_id in wanted:
                self._held[document_id] = _Text(texts.get(document_id), self._shingle_size)
        while len(self._held) > 2 * _HELD:
            self._held.popitem(last=False)

    def of(self, document_id: str) -> _Text:
        if document_id not in self._held:
            self.fetch([document_id])
        self._held.move_to_end(document_id)
        return self._held[document_id]


class _Pairs:
    """What the candidates of a group of documents share; a pair that is not known is compared, and known then."""

    def __init__(self, group: Sequence[tuple[str, list[Candidate]]], texts: _Texts, compared: Compared) -> None:
        self._known = {(document, c.document_id): c for document, candidates in group for c in candidates}
        self._texts = texts
        self._compared = compared

    def knows(self, document: str, other: str) -> Shared | None:
        """What the two share, null where their texts are needed to tell."""
        found = self._known.get((document, other))
        return found.shared if found is not None else None

    def shared(self, document: str, other: str) -> Shared:
        """What the two share."""
        known = self._known.get((document, other))
        if known is not None and known.shared is not None:
            return known.shared
        own, others = self._texts.of(document), self._texts.of(other)
        found = shared(own.shingles, others.shingles)
        if known is not None and not (own.is_lost or others.is_lost):
            self._compared.add(known.own_text, known.text, found)
            self._known[document, other] = replace(known, shared=found)
        return found


@dataclass(frozen=True, slots=True)
class _Inside:
    """The document that holds another one, how much of it, and how alike the two are as wholes."""

    container: str
    containment: float
    similarity: float


def decide(
    signatures: Iterable[pa.Table],
    text_of: TextOf,
    settings: DedupSettings,
    precedence: Mapping[str, int] = _NO_PRECEDENCE,
    compared: Compared | None = None,
) -> pa.Table:
    """Decides for every document whether it is kept, or dropped for which other one.

    Args:
        signatures: the `SIGNATURE` rows of the whole run, in parts, in any order.
        text_of: gives the clean texts of a bounded number of documents; asked for candidates only. One that it leaves
            out cannot be had: nothing is decided from it but what remembered counts alone tell, so that with
            `protect_facts` it is neither dropped as alike nor kept for another one. What it shares is not remembered.
        settings: thresholds and bounds.
        precedence: by document id, who comes first (least) where copies compete; 0 for a document not named. Equal
            numbers leave it to length and id.
        compared: pairs that need not be compared again; it takes in those that are.

    Returns:
        `DEDUP` rows, sorted by document id. Texts without any character are never duplicates of each other.
    """
    texts = _Texts(text_of, settings.shingle_size)
    compared = Compared() if compared is None else compared
    with candidates(signatures, precedence, settings, compared.known) as found:
        representatives = found.representatives()
        near = _near_duplicates(found, texts, settings, compared) if settings.near_duplicates else {}
        inside = _contained(found, texts, near, settings, compared) if settings.on_containment != "keep" else {}
        compared.asked = found.asked_for()
    gone = _dropped_for_containers(inside, near, texts, settings) if settings.on_containment == "drop" else {}
    rows = [_row(document_id, first, near, inside, gone) for document_id, first in representatives]
    return pa.Table.from_pylist(rows, schema=DEDUP)


def _row(
    document_id: str,
    representative: str,
    near: Mapping[str, tuple[str, float]],
    inside: Mapping[str, _Inside],
    gone: Mapping[str, _Inside],
) -> dict[str, Any]:
    """`representative` stands for the exact copies of the document, itself included."""
    keeper, similarity = near.get(representative, (representative, 1.0))
    kind = "exact" if keeper == representative else "near"
    held = inside.get(document_id)
    if representative in gone:
        held = gone[representative]
        keeper, similarity, kind = held.container, held.similarity, "contained"
    dropped = keeper != document_id
    return {
        "document_id": document_id,
        "decision": "dropped" if dropped else "kept",
        "cluster_id": keeper,
        "duplicate_of": keeper if dropped else None,
        "kind": kind if dropped else None,
        "similarity": similarity if dropped else None,
        "contained_in": held.container if held is not None else None,
        "containment": held.containment if held is not None else None,
    }


def _near_duplicates(
    found: Candidates, texts: _Texts, settings: DedupSettings, compared: Compared
) -> dict[str, tuple[str, float]]:
    """{dropped document: (its keeper, their Jaccard similarity)} among the representatives of exact groups."""
    keepers: dict[str, tuple[str, float]] = {}
    for group in found.near(keepers):
        pairs = _Pairs(group, texts, compared)
        asked = [(document, _keeper(c.document_id, keepers)) for document, earlier in group for c in earlier]
        least = settings.threshold
        texts.fetch(
            i for pair in asked if (known := pairs.knows(*pair)) is None or known.jaccard >= least for i in pair
        )
        for document, earlier in group:
            others = sorted({_keeper(c.document_id, keepers) for c in earlier})
            best = _best_keeper(document, others, texts, pairs, settings)
            if best is not None:
                keepers[document] = best
    return keepers


def _keeper(document_id: str, keepers: Mapping[str, tuple[str, float]]) -> str:
    return keepers[document_id][0] if document_id in keepers else document_id


def _best_keeper(
    document_id: str, others: Sequence[str], texts: _Texts, pairs: _Pairs, settings: DedupSettings
) -> tuple[str, float] | None:
    similar = [(pairs.shared(document_id, other).jaccard, other) for other in others]
    for similarity, other in sorted(similar, key=lambda pair: (-pair[0], pair[1])):
        if similarity < settings.threshold:
            return None
        if not settings.protect_facts or not _loses_facts(texts.of(document_id), texts.of(other)):
            return other, similarity
    return None


def _loses_facts(dropped: _Text, kept: _Text) -> bool:
    """What a lost text says nobody knows, even where what it shares is remembered: it may be lost with it."""
    return dropped.is_lost or kept.is_lost or loses_facts(dropped.words, kept.words)


def _contained(
    found: Candidates,
    texts: _Texts,
    near: Mapping[str, tuple[str, float]],
    settings: DedupSettings,
    compared: Compared,
) -> dict[str, _Inside]:
    """{kept document: the kept document that holds most of it}, of those that hold enough, the longest document first.

    Documents that are alike as wholes (Jaccard similarity of `threshold` or more) are a matter of near duplicates.
    """
    inside: dict[str, _Inside] = {}
    for group in found.containers(near):
        pairs = _Pairs(group, texts, compared)
        asked = [(document, _keeper(c.document_id, near)) for document, others in group for c in others]
        texts.fetch(i for pair in asked if pairs.knows(*pair) is None for i in pair)
        for document, others in group:
            best: _Inside | None = None
            for other in dict.fromkeys(_keeper(c.document_id, near) for c in others):
                if other == document:
                    continue
                held = pairs.shared(document, other)
                if held.containment < settings.containment or (best and held.containment <= best.containment):
                    continue
                if held.jaccard < settings.threshold:
                    best = _Inside(other, held.containment, held.jaccard)
            if best is not None:
                inside[document] = best
    return inside


def _dropped_for_containers(
    inside: Mapping[str, _Inside], near: Mapping[str, tuple[str, float]], texts: _Texts, settings: DedupSettings
) -> dict[str, _Inside]:
    """{dropped document: what holds it}: those whose container stays and says all that they say.

    The documents that a contained one stands for go with it, each checked for itself; where one of them says more,
    all stay.
    """
    followers: dict[str, list[str]] = defaultdict(list)
    for document, (keeper, _) in near.items():
        followers[keeper].append(document)
    gone: dict[str, _Inside] = {}
    for document, held in inside.items():
        container = gone[held.container].container if held.container in gone else held.container
        moved = {d: _held_by(container, d, texts, settings) for d in (document, *sorted(followers[document]))}
        if all(value is not None for value in moved.values()):
            gone |= {d: value for d, value in moved.items() if value is not None}
            followers[container] += moved
    return gone


def _held_by(container: str, document: str, texts: _Texts, settings: DedupSettings) -> _Inside | None:
    text, holder = texts.of(document), texts.of(container)
    held = shared(text.shingles, holder.shingles)
    if held.containment < settings.containment or (settings.protect_facts and _loses_facts(text, holder)):
        return None
    return _Inside(container, held.containment, held.jaccard)
