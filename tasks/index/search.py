"""Reading one generation: rows, vector search, keyword search. The access filter always comes before the search."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from tasks.index.settings import IndexSettings

VECTOR_INDEX = "vector_idx"
TEXT_INDEX = "text_idx"
_IDS_PER_FILTER = 5_000


class LanceView:
    """One generation of the index, pinned to its version (implements `tasks.stage.IndexView`).

    What happens to the index meanwhile does not show in it. A view of a retired generation answers until that
    generation is collected.
    """

    def __init__(self, dataset: Any, settings: IndexSettings) -> None:
        self._dataset = dataset
        self._settings = settings

    def count(self) -> int:
        """Rows in it."""
        return int(self._dataset.count_rows())

    def rows(self, columns: Sequence[str], document_ids: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Stored rows in the order in which they were written; all documents where none are named."""
        for predicate in [None] if document_ids is None else list(among("document_id", document_ids)):
            for batch in self._dataset.to_batches(columns=list(columns), filter=predicate):
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])

    def search_vector(
        self, vector: Sequence[float], k: int, *, exact: bool, tenant: str | None = None
    ) -> list[tuple[str, float]]:
        """(chunk id, cosine similarity), best first, equal ones by chunk id.

        `exact` reads every vector. Otherwise the approximate index is used where there is one, and its hits are
        ranked by their exact distance.
        """
        nearest: dict[str, Any] = {
            "column": "vector",
            "q": pa.array(vector, pa.float32()),
            "k": k,
            "metric": "cosine",
            "use_index": not exact,
        }
        if not exact and self.indexed_vectors():
            nearest |= {
                "ef": max(self._settings.ann_search_candidates, k * self._settings.ann_refine),
                "refine_factor": self._settings.ann_refine,
            }
        found = self._dataset.scanner(
            columns=["chunk_id", "_distance"], nearest=nearest, filter=_scope(tenant), prefilter=True
        ).to_table()
        return _ranked(found.column("chunk_id").to_pylist(), [1 - d for d in found.column("_distance").to_pylist()])

    def search_text(self, query: str, k: int, *, tenant: str | None = None) -> list[tuple[str, float]]:
        """(chunk id, BM25 score), best first, equal ones by chunk id.

        Words count whole: no stemming, no stop words; case and accents are folded; scripts without spaces are
        segmented. Any of the words may match. A word with signs inside (QX-5518, 10.02, file.txt) matches only
        where its parts follow one another.
        """
        wanted = text_query(query)
        if wanted is None:
            return []
        found = self._dataset.scanner(
            columns=["chunk_id", "_score"], full_text_query=wanted, limit=k, filter=_scope(tenant), prefilter=True
        ).to_table()
        return _ranked(found.column("chunk_id").to_pylist(), found.column("_score").to_pylist())

    def indexed_vectors(self) -> int:
        """Rows that the approximate index covers; 0 where there is none."""
        return next((d.num_rows_indexed for d in self._dataset.describe_indices() if d.name == VECTOR_INDEX), 0)


def text_query(query: str) -> Any:
    """The native query for a line of words, or null where it holds no letter and no digit."""
    from lance.query import BooleanQuery, MatchQuery, Occur, PhraseQuery

    words: list[str] = []
    codes: list[str] = []
    for token in query.split():
        start, end = _core(token)
        core = token[start:end]
        if core:
            (words if core.isalnum() else codes).append(core)
    clauses: list[Any] = [PhraseQuery(code, "text") for code in dict.fromkeys(codes)]
    if words:
        clauses.append(MatchQuery(" ".join(words), "text"))
    if len(clauses) < 2:
        return clauses[0] if clauses else None
    return BooleanQuery([(Occur.SHOULD, clause) for clause in clauses])


def literal(value: str) -> str:
    """A string as an SQL literal; a quote inside is doubled, nothing else has a meaning there.

    >>> literal("O'Brien")
    "'O''Brien'"
    """
    return "'" + value.replace("'", "''") + "'"


def among(column: str, values: Sequence[str]) -> Iterator[str]:
    """SQL predicates that together select the rows whose column holds one of the values."""
    for start in range(0, len(values), _IDS_PER_FILTER):
        yield f"{column} IN ({', '.join(literal(value) for value in values[start : start + _IDS_PER_FILTER])})"


def _scope(tenant: str | None) -> str | None:
    return None if tenant is None else f"tenant = {literal(tenant)}"


def _core(token: str) -> tuple[int, int]:
    inside = [i for i, character in enumerate(token) if character.isalnum()]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


def _ranked(chunk_ids: list[str], scores: list[float]) -> list[tuple[str, float]]:
    return sorted(zip(chunk_ids, scores, strict=True), key=lambda hit: (-hit[1], hit[0]))
