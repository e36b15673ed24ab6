"""Which documents are kept and which are dropped for which: the corpus's part of the dedup stage.

Documents are taken in a stated order, longest comparison text first, then least document id. Each is compared with
the kept documents of its candidates; the most similar one that passes takes it in, else it is kept itself. So every
dropped document was verified against the very document that stands for it, never along a chain, and neither the
order of input nor the time of commit has a say.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.stages import DEDUP
from tasks.dedup.candidates import candidate_pairs
from tasks.dedup.comparison import comparison_text, loses_facts, tokens
from tasks.dedup.minhash import jaccard, shingle_set
from tasks.dedup.settings import DedupSettings

TextOf = Callable[[Sequence[str]], Mapping[str, str]]

_GROUP = 64
"""Documents whose texts are fetched at once."""

_HELD = 512
"""Texts held in memory at most."""


class _Texts:
    """Words and shingle sets of candidates, fetched in groups, the least recently used let go."""

    def __init__(self, text_of: TextOf, shingle_size: int) -> None:
        self._text_of = text_of
        self._shingle_size = shingle_size
        self._held: OrderedDict[str, tuple[list[str], NDArray[np.uint64]]] = OrderedDict()

    def fetch(self, document_ids: Iterable[str]) -> None:
        wanted = [d for d in dict.fromkeys(document_ids) if d not in self._held][:_HELD]
        if wanted:
            for document_id, text in self._text_of(wanted).items():
                self._held[document_id] = (tokens(text), shingle_set(comparison_text(text), self._shingle_size))
        while len(self._held) > 2 * _HELD:
            self._held.popitem(last=False)

    def of(self, document_id: str) -> tuple[list[str], NDArray[np.uint64]]:
        if document_id not in self._held:
            self.fetch([document_id])
        self._held.move_to_end(document_id)
        return self._held[document_id]


def decide(signatures: pa.Table, text_of: TextOf, settings: DedupSettings) -> pa.Table:
    """Decides for every document whether it is kept, or dropped for which other one.

    Args:
        signatures: the `SIGNATURE` rows of the whole run, in any order.
        text_of: gives the clean texts of a bounded number of documents; asked for candidates only.
        settings: thresholds and bounds.

    Returns:
        `DEDUP` rows, sorted by document id. Texts without any character are never duplicates of each other.
    """
    near = _near_duplicates(signatures, text_of, settings) if settings.near_duplicates else {}
    rows: list[dict[str, Any]] = []
    first: dict[tuple[str, str], str] = {}
    columns = (signatures.column(c).to_pylist() for c in ("document_id", "scope", "text_sha"))
    for document_id, scope, text_sha in sorted(zip(*columns, strict=True)):
        # Sorted by id, so the first of an exact group is its least. Empty texts have the empty hash.
        representative = first.setdefault((scope, text_sha), document_id) if text_sha else document_id
        keeper, similarity = near.get(representative, (representative, 1.0))
        dropped = keeper != document_id
        rows.append(
            {
                "document_id": document_id,
                "decision": "dropped" if dropped else "kept",
                "cluster_id": keeper,
                "duplicate_of": keeper if dropped else None,
                "kind": None if not dropped else "exact" if keeper == representative else "near",
                "similarity": similarity if dropped else None,
            }
        )
    return pa.Table.from_pylist(rows, schema=DEDUP)


def _near_duplicates(signatures: pa.Table, text_of: TextOf, settings: DedupSettings) -> dict[str, tuple[str, float]]:
    """{dropped document: (its keeper, their Jaccard similarity)} among the representatives of exact groups."""
    keepers: dict[str, tuple[str, float]] = {}
    texts = _Texts(text_of, settings.shingle_size)
    candidates = iter(candidate_pairs(signatures, settings))
    while group := list(islice(candidates, _GROUP)):
        texts.fetch(d for document, earlier in group for d in (document, *(_keeper(e, keepers) for e in earlier)))
        for document, earlier in group:
            found = _best_keeper(document, sorted({_keeper(e, keepers) for e in earlier}), texts, settings)
            if found is not None:
                keepers[document] = found
    return keepers


def _keeper(document_id: str, keepers: Mapping[str, tuple[str, float]]) -> str:
    return keepers[document_id][0] if document_id in keepers else document_id


def _best_keeper(
    document_id: str, others: Sequence[str], texts: _Texts, settings: DedupSettings
) -> tuple[str, float] | None:
    words, shingles = texts.of(document_id)
    similar = [(jaccard(shingles, texts.of(other)[1]), other) for other in others]
    for similarity, other in sorted(similar, key=lambda pair: (-pair[0], pair[1])):
        if similarity < settings.threshold:
            return None
        if not settings.protect_facts or not loses_facts(words, texts.of(other)[0]):
            return other, similarity
    return None
