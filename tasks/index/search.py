"""Reading one generation: rows, vector search, keyword search. The access filter always comes before the search."""

import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tasks.errors import ConfigurationError, RunError
from tasks.index.settings import IndexSettings
from tasks.index.wholeness import torn_is_named
from tasks.metrics.late_interaction import max_similarity
from tasks.stage import EVERYTHING, SearchFilter

VECTOR_INDEX = "vector_idx"
_IDS_PER_FILTER = 5_000
_ROWS_AT_ONCE = 1_024
"""Rows read at once: with their vectors a megabyte or two. What Lance reads ahead counts in batches."""
_TOKENS_AT_ONCE = 256
"""Rows whose token vectors are read at once: a few hundred kilobytes each."""


class LanceView:
    """One generation of the index, pinned to its version (implements `tasks.stage.IndexView`).

    What happens to the index meanwhile does not show in it. A view of a retired generation answers until that
    generation is collected.
    """

    def __init__(self, dataset: Any, settings: IndexSettings, embedding: str) -> None:
        self._dataset = dataset
        self._settings = settings
        self._embedding = embedding
        self._table = Path(dataset.uri).stem

    @property
    def embedding(self) -> str:
        """The model that made its vectors, as name@version."""
        return self._embedding

    def count(self) -> int:
        """Rows in it."""
        with torn_is_named(self._table):
            return int(self._dataset.count_rows())

    def rows(self, columns: Sequence[str], document_ids: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Stored rows in the order in which they were written; all documents where none are named."""
        for predicate in [None] if document_ids is None else list(among("document_id", document_ids)):
            for batch in self._batches(columns=list(columns), filter=predicate, batch_size=_ROWS_AT_ONCE):
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])

    def search_vector(
        self, vector: Sequence[float], k: int, *, exact: bool, where: SearchFilter = EVERYTHING
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
                "minimum_nprobes": self._settings.ann_search_partitions,
                "refine_factor": self._settings.ann_refine,
            }
        found = self._found(
            columns=["chunk_id", "_distance"], nearest=nearest, filter=self._predicate(where), prefilter=True
        )
        return _ranked(found.column("chunk_id").to_pylist(), [1 - d for d in found.column("_distance").to_pylist()])

    def search_text(self, query: str, k: int, *, where: SearchFilter = EVERYTHING) -> list[tuple[str, float]]:
        """(chunk id, BM25 score), best first, equal ones by chunk id.

        Words count whole: no stemming, no stop words; case and accents are folded; scripts without spaces are
        segmented. Any of the words may match. A word with signs inside (QX-5518, 10.02, file.txt) matches only
        where its parts follow one another.
        """
        wanted = text_query(query)
        if wanted is None:
            return []
        found = self._found(
            columns=["chunk_id", "_score"],
            full_text_query=wanted,
            limit=k,
            filter=self._predicate(where),
            prefilter=True,
        )
        return _ranked(found.column("chunk_id").to_pylist(), found.column("_score").to_pylist())

    def search_tokens(
        self, vectors: Sequence[Sequence[float]], k: int, *, where: SearchFilter = EVERYTHING
    ) -> list[tuple[str, float]]:
        """(chunk id, score) by late interaction, best first, equal ones by chunk id. Every row is scored.

        The score is the mean, over the question's token `vectors` (shape (n, dimension), unit norm), of the largest
        cosine with any token of the chunk: -1 to 1. Rows without token vectors are not found.

        Raises:
            ConfigurationError: the generation was built without token vectors.
        """
        if not len(vectors):
            return []
        query = np.asarray(vectors, np.float32)
        best: list[tuple[float, str]] = []
        seen = 0
        self._columns(["token_vectors"])
        batches = self._batches(
            columns=["chunk_id", "token_vectors"], filter=self._predicate(where), batch_size=_TOKENS_AT_ONCE
        )
        for batch in batches:
            rows = batch.filter(batch.column("token_vectors").is_valid())
            scores = max_similarity(query, rows.column("token_vectors"))
            seen += rows.num_rows
            hits = zip(scores.tolist(), rows.column("chunk_id").to_pylist(), strict=True)
            best = heapq.nsmallest(k, [*best, *((-score, chunk_id) for score, chunk_id in hits)])
        if not seen and self.count() and not self._any_token_vectors():
            raise ConfigurationError(
                "this generation of the index holds no token vectors",
                remedy="set stages.embed.token_vectors: true and run, or search by vector",
            )
        return [(chunk_id, -score) for score, chunk_id in best]

    def stored_keys(self) -> dict[str, set[str]]:
        """The index keys under which each document's rows are stored (more than one only after a defect)."""
        keys: dict[str, set[str]] = {}
        for table in self.rows(["document_id", "index_key"]):
            for row in table.group_by(["document_id", "index_key"]).aggregate([]).to_pylist():
                keys.setdefault(row["document_id"], set()).add(row["index_key"])
        return keys

    def indexed_vectors(self) -> int:
        """Rows that the approximate index covers; 0 where there is none."""
        with torn_is_named(self._table):
            described = self._dataset.describe_indices()
        return next((d.num_rows_indexed for d in described if d.name == VECTOR_INDEX), 0)

    def _batches(self, **asked: Any) -> Iterator[pa.RecordBatch]:
        with torn_is_named(self._table):
            yield from self._dataset.to_batches(**asked)

    def _found(self, **asked: Any) -> pa.Table:
        scanner = self._dataset.scanner(**asked)  # a question that makes no sense is refused here
        with torn_is_named(self._table):
            return scanner.to_table()

    def _any_token_vectors(self) -> bool:
        found = self._found(columns=["chunk_id"], filter="token_vectors IS NOT NULL", limit=1)
        return bool(found.num_rows)

    def _predicate(self, where: SearchFilter) -> str | None:
        if where.doc_classes:
            self._columns(["doc_class"])
        return predicate(where)

    def _columns(self, names: Sequence[str]) -> None:
        missing = [name for name in names if name not in self._dataset.schema.names]
        if missing:
            raise RunError(
                f"this generation of the index was built before it had the column {missing[0]}",
                remedy="run again: the next candidate has it",
            )


def predicate(where: SearchFilter) -> str | None:
    """The filter as an SQL predicate; null where nothing is asked for.

    >>> predicate(SearchFilter(tenant="O'Brien", groups=("staff",)))
    "tenant = 'O''Brien' AND (cardinality(groups) = 0 OR array_has_any(groups, ['staff']))"
    """
    parts = [f"document_id IN ({_list(where.document_ids)})"] if where.document_ids else []
    if where.tenant is not None:
        parts.append(f"tenant = {literal(where.tenant)}")
    if where.groups is not None:
        member = f" OR array_has_any(groups, [{_list(where.groups)}])" if where.groups else ""
        parts.append(f"(cardinality(groups) = 0{member})")
    for column, values in (("doc_class", where.doc_classes), ("language", where.languages)):
        if values:
            parts.append(f"{column} IN ({_list(values)})")
    if where.published_from is not None:
        parts.append(f"published >= date '{where.published_from.isoformat()}'")
    if where.published_to is not None:
        parts.append(f"published <= date '{where.published_to.isoformat()}'")
    if where.uri_prefix is not None:
        parts.append(f"starts_with(uri, {literal(where.uri_prefix)})")
    return " AND ".join(parts) or None


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
        yield f"{column} IN ({_list(values[start : start + _IDS_PER_FILTER])})"


def _list(values: Sequence[str]) -> str:
    return ", ".join(literal(value) for value in values)


def _core(token: str) -> tuple[int, int]:
    inside = [i for i, character in enumerate(token) if character.isalnum()]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


def _ranked(chunk_ids: list[str], scores: list[float]) -> list[tuple[str, float]]:
    return sorted(zip(chunk_ids, scores, strict=True), key=lambda hit: (-hit[1], hit[0]))
