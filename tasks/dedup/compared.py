"""What pairs of texts share, remembered: two texts that were compared once are not fetched and compared again.

It holds nothing that a decision rests on but counts, which follow from the two texts and the length of a shingle alone.
So decisions are the same with and without it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

COMPARED = pa.schema(
    [
        pa.field("a", pa.binary(16), nullable=False),
        pa.field("b", pa.binary(16), nullable=False),
        pa.field("common", pa.int32(), nullable=False),
        pa.field("distinct_a", pa.int32(), nullable=False),
        pa.field("distinct_b", pa.int32(), nullable=False),
    ]
)
"""One row per pair: half of each `text_sha` (SHA-256 of the comparison text), the lesser first; the distinct shingles
that the two share, and that each of them has."""

_AT_ONCE = 4_096


@dataclass(frozen=True, slots=True)
class Shared:
    """How many distinct shingles two texts share, and how many each of them has."""

    common: int
    own: int
    other: int

    @property
    def jaccard(self) -> float:
        """|a and b| / |a or b|, in [0, 1]; 0 where both are empty.

        >>> Shared(common=2, own=3, other=3).jaccard
        0.5
        """
        union = self.own + self.other - self.common
        return self.common / union if union else 0.0

    @property
    def containment(self) -> float:
        """How much of the first text stands in the other, in [0, 1]; 0 where it is empty.

        >>> Shared(common=1, own=2, other=3).containment
        0.5
        """
        return self.common / self.own if self.own else 0.0


class Compared:
    """The pairs that are known before a decision; after it, those that it asked for.

    `known` has the `COMPARED` schema. Memory takes about fifty bytes for each pair that is new.
    """

    def __init__(self, known: pa.Table | None = None) -> None:
        self.known = COMPARED.empty_table() if known is None else known
        self.asked = COMPARED.empty_table()
        """Those of `known` that the decision asked for."""
        self._parts: list[pa.Table] = []
        self._rows: list[tuple[bytes, bytes, int, int, int]] = []

    def add(self, own: bytes, other: bytes, shared: Shared) -> None:
        """A pair that was not known: the first sixteen bytes of each `text_sha`, and what the texts share."""
        if own <= other:
            self._rows.append((own, other, shared.common, shared.own, shared.other))
        else:
            self._rows.append((other, own, shared.common, shared.other, shared.own))
        if len(self._rows) >= _AT_ONCE:
            self._parts.append(self._taken())

    @property
    def is_grown(self) -> bool:
        """Whether a pair came that was not known."""
        return bool(self._rows or self._parts)

    def table(self, *, with_unasked: bool = False) -> pa.Table:
        """The pairs that the decision asked for, sorted; `with_unasked`: and those that were known besides."""
        self._parts = [pa.concat_tables([*self._parts, self._taken()])]
        # A pair may come up twice: as near duplicates, and as one inside the other.
        known = self.known if with_unasked else self.asked
        distinct = pa.concat_tables([known, *self._parts]).group_by(COMPARED.names).aggregate([])
        return distinct.sort_by([("a", "ascending"), ("b", "ascending")]).cast(COMPARED)

    def _taken(self) -> pa.Table:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(COMPARED)
        self._rows = []
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, COMPARED, strict=True)], schema=COMPARED)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Another document that one may have to do with: its id, its text and the document's own (first sixteen bytes of
    each `text_sha`), and what the two texts share, null where it is not known."""

    document_id: str
    own_text: bytes
    text: bytes
    shared: Shared | None


def candidates_of(
    rows: Iterator[tuple[str, str, bytes, bytes, int | None, int, int]],
) -> Iterator[tuple[str, list[Candidate]]]:
    """Rows of (document, candidate, their texts, what is known of them) as one list for each document, in their order.

    The counts are those of the lesser text first, as `COMPARED` has them.
    """
    document: str | None = None
    found: list[Candidate] = []
    for of, other, own_text, text, common, distinct_a, distinct_b in rows:
        if of != document:
            if document is not None:
                yield document, found
            document, found = of, []
        shared = None
        if common is not None:
            sizes = (distinct_a, distinct_b) if own_text <= text else (distinct_b, distinct_a)
            shared = Shared(common, *sizes)
        found.append(Candidate(other, own_text, text, shared))
    if document is not None:
        yield document, found
