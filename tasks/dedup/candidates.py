"""Pairs of documents that may be near duplicates, or of which one may stand inside the other, of one access scope.

The joins run in DuckDB, which spills to disk.

Near duplicates share a band. Within a band's bucket a document is paired with its neighbours only, in the order of
the bands that follow (an LSH forest: Bawa, Condie, Ganesan 2005), so that a bucket of ten thousand documents from one
template costs ten thousand times a constant, and the most similar ones still stand side by side. A document keeps
those candidates with which it shares most bands.

A document that holds another one may be many times as long, so that their bands tell nothing: they are found by
shared anchors. A document looks for its rarest ones that stand elsewhere too, each among the longest documents that
hold it. An edit costs up to `shingle_size` shingles, and up to `ANCHOR_SIZE` of the longer runs that anchors are made
of: a candidate shares at least what edits in the worst places leave of the anchors, less three standard errors.
"""

import tempfile
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice, pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.stages import SIGNATURE
from tasks.dedup.compared import COMPARED, Candidate, candidates_of
from tasks.dedup.minhash import ANCHOR_SIZE
from tasks.dedup.settings import DedupSettings

_SIGNATURES = "CREATE TEMP TABLE signatures AS SELECT document_id, scope, text_sha, shingles, bands, anchors FROM part"

_ORDERED = """
CREATE TEMP TABLE ordered AS
SELECT s.*, coalesce(p.precedence, 0) AS precedence
FROM signatures s LEFT JOIN precedences p USING (document_id)
"""

_EXACT = """
SELECT document_id, CASE WHEN text_sha = '' THEN document_id ELSE first_value(document_id) OVER (
    PARTITION BY scope, text_sha ORDER BY precedence, document_id
) END AS representative
FROM ordered ORDER BY document_id
"""

_ROWS = """
CREATE TEMP TABLE ranked AS
SELECT row_number() OVER (ORDER BY precedence, shingles DESC, document_id) AS rank, *, unhex(left(text_sha, 32)) AS half
FROM (
    SELECT * FROM ordered WHERE shingles > 0
    QUALIFY row_number() OVER (PARTITION BY scope, text_sha ORDER BY precedence, document_id) = 1
)
"""

_NEAR = """
CREATE TEMP TABLE near_pairs AS
WITH unnested AS (
    SELECT rank, scope, unnest(bands) AS key, unnest(range(1, len(bands) + 1)) AS band, bands FROM ranked
), banded AS (
    SELECT rank, scope, key, list_concat(bands[band + 1:], bands[:band - 1]) AS following FROM unnested
    QUALIFY count(*) OVER (PARTITION BY scope, key) > 1
), bucketed AS (
    SELECT rank, list(rank) OVER (
        PARTITION BY scope, key ORDER BY following, rank ROWS BETWEEN {neighbours} PRECEDING AND 1 PRECEDING
    ) AS others FROM banded
), flat AS (
    SELECT rank, unnest(others) AS other FROM bucketed
), pairs AS (
    SELECT DISTINCT least(rank, other) AS earlier, greatest(rank, other) AS later FROM flat
), weighed AS (
    SELECT earlier, later, len(list_intersect(e.bands, l.bands)) AS shared
    FROM pairs JOIN ranked AS e ON e.rank = earlier JOIN ranked AS l ON l.rank = later
)
SELECT later AS own, earlier AS other, row_number() OVER (ORDER BY later, earlier) AS place FROM weighed
QUALIFY row_number() OVER (PARTITION BY later ORDER BY shared DESC, earlier) <= {neighbours}
"""

_KNOWN = """
CREATE TEMP TABLE known_{pairs} AS
SELECT place, own, other, o.document_id AS own_id, c.document_id AS other_id, o.half AS own_text, c.half AS other_text,
       k.common, k.distinct_a, k.distinct_b
FROM {pairs} p JOIN ranked o ON o.rank = p.own JOIN ranked c ON c.rank = p.other
LEFT JOIN compared k ON k.a = least(o.half, c.half) AND k.b = greatest(o.half, c.half)
"""

_NEAR_IN_ORDER = """
SELECT own, other, coalesce(common / (distinct_a + distinct_b - common) < ?, false) AS told_apart,
       own_id, other_id, own_text, other_text, common, distinct_a, distinct_b
FROM known_near_pairs ORDER BY place
"""
"""`told_apart`: known to share too little. `/` gives a DOUBLE, the same as in Python."""

_MAY_STAND_INSIDE = """
SELECT DISTINCT own FROM known_container_pairs LEFT JOIN dropped ON dropped.document_id = other_id
WHERE dropped.document_id IS NOT NULL
   OR coalesce(common / CASE WHEN own_text <= other_text THEN distinct_a ELSE distinct_b END >= ?, true)
"""

_CONTAINERS_IN_ORDER = """
SELECT own_id, other_id, own_text, other_text, common, distinct_a, distinct_b
FROM known_container_pairs WHERE own IN (FROM wanted) AND own_id NOT IN (FROM dropped) ORDER BY place
"""

_CANDIDATE = ("own_id", "other_id", "own_text", "other_text", "common", "distinct_a", "distinct_b")
"""The columns that `candidates_of` takes."""

_ASKED_FOR = """
SELECT DISTINCT least(own_text, other_text) AS a, greatest(own_text, other_text) AS b, common, distinct_a, distinct_b
FROM known_{pairs} WHERE common IS NOT NULL
"""

_AT_ONCE = 10_000
"""Rows read at once."""

_GROUP = 64
"""Documents decided at once, so that their texts are fetched together."""

_ASKED = 16
"""Anchors by which a document looks for those that hold it."""

_HOLDERS = """
CREATE TEMP TABLE anchored AS
SELECT rank, scope, shingles, anchor, count(*) OVER (PARTITION BY scope, anchor) AS frequency
FROM (SELECT rank, scope, shingles, unnest(anchors) AS anchor FROM ranked)
QUALIFY frequency > 1
"""

_CONTAINERS = """
CREATE TEMP TABLE container_pairs AS
WITH holders AS (
    SELECT scope, anchor, rank, shingles FROM anchored
    QUALIFY row_number() OVER (PARTITION BY scope, anchor ORDER BY shingles DESC, rank) <= {holders}
), asked AS (
    SELECT scope, anchor, rank, shingles, least(count(*) OVER (PARTITION BY rank), {asked}) AS questions
    FROM anchored WHERE shingles >= {least}
    QUALIFY row_number() OVER (PARTITION BY rank ORDER BY frequency, anchor) <= {asked}
), pairs AS (
    SELECT a.rank AS short, h.rank AS long FROM asked a JOIN holders h USING (scope, anchor)
    WHERE h.shingles > a.shingles GROUP BY a.rank, h.rank, h.shingles, a.questions
    HAVING 8 * count(*) >= a.questions
    QUALIFY row_number() OVER (PARTITION BY a.rank ORDER BY count(*) DESC, h.shingles DESC, h.rank) <= {holders}
), weighed AS (
    SELECT short, long, s.shingles AS size, l.shingles AS longest,
           len(list_intersect(s.anchors, l.anchors)) AS shared, len(s.anchors) AS all_anchors
    FROM pairs JOIN ranked AS s ON s.rank = short JOIN ranked AS l ON l.rank = long
)
SELECT short AS own, long AS other, row_number() OVER (ORDER BY size DESC, short, longest DESC, long) AS place
FROM weighed
WHERE shared >= {share} * all_anchors - 3 * sqrt({share} * (1 - {share}) * all_anchors) - 1
QUALIFY row_number() OVER (PARTITION BY short ORDER BY shared DESC, longest DESC, long) <= {neighbours}
"""


class Candidates:
    """The signatures of a run, asked three times. No answer depends on the order in which they came."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, settings: DedupSettings) -> None:
        self._connection = connection
        self._settings = settings
        self._asked: list[str] = []

    def representatives(self) -> list[tuple[str, str]]:
        """(document, the one of its exact copies that stands for them), sorted by document; an empty text has none."""
        return self._connection.execute(_EXACT).fetchall()

    def near(self, dropped: Container[str]) -> Iterator[list[tuple[str, list[Candidate]]]]:
        """(representative, the candidates that come before it), in the stated order and in groups. A group is to be
        decided, and what of it is `dropped`, before the next is asked for.

        A document is left out where nothing can come of it: it is known that it shares less than `threshold` with each
        of its candidates, and none of them was dropped, which would put another one in its place.
        """
        self._take("near_pairs", _NEAR.format(neighbours=self._settings.neighbours))
        ((last,),) = self._connection.sql("SELECT coalesce(max(rank), 0) FROM ranked").fetchall()
        pairs = self._connection.sql(_NEAR_IN_ORDER, params=[self._settings.threshold]).to_arrow_reader(_AT_ONCE)
        doubtful = np.zeros(last + 1, np.bool_)
        group: dict[int, tuple[str, list[Candidate]]] = {}
        for rank, others, may_be_alike, rows in _by_document(pairs):
            if not (may_be_alike or doubtful[others].any()):
                continue
            columns = (rows.column(name).to_pylist() for name in _CANDIDATE)
            group[rank] = next(candidates_of(zip(*columns, strict=True)))
            doubtful[rank] = True
            if len(group) == _GROUP:
                yield list(group.values())
                for decided, (document_id, _) in group.items():
                    doubtful[decided] = document_id in dropped
                group = {}
        if group:
            yield list(group.values())

    def containers(self, dropped: Collection[str]) -> Iterator[list[tuple[str, list[Candidate]]]]:
        """(representative, longer ones that may hold it, the longest first), the longest document first, in groups.

        One is left out where it is `dropped` itself, and where it is known that each of its candidates holds less than
        `containment` of it, and none of them is dropped, which would put another one in its place.
        """
        settings = self._settings
        self._connection.execute(_HOLDERS)
        query = _CONTAINERS.format(
            holders=4 * settings.neighbours,
            least=settings.containment_min_length - settings.shingle_size + 1,
            asked=_ASKED,
            share=max(0.0, 1 - (1 - settings.containment) * ANCHOR_SIZE / settings.shingle_size),
            neighbours=settings.neighbours,
        )
        self._take("container_pairs", query)
        self._connection.register("dropped", pa.table({"document_id": pa.array(dropped, pa.string())}))
        wanted = self._connection.sql(_MAY_STAND_INSIDE, params=[settings.containment]).to_arrow_table()
        self._connection.register("wanted", wanted)
        found = candidates_of(self._rows(_CONTAINERS_IN_ORDER))
        while group := list(islice(found, _GROUP)):
            yield group

    def asked_for(self) -> pa.Table:
        """The known pairs (`COMPARED`) that came up so far; to be called when an answer is read to its end."""
        if not self._asked:
            return COMPARED.empty_table()
        parts = " UNION ".join(_ASKED_FOR.format(pairs=pairs) for pairs in self._asked)
        return self._connection.sql(parts).to_arrow_table().cast(COMPARED)

    def _take(self, pairs: str, query: str) -> None:
        self._connection.execute(query)
        self._connection.execute(_KNOWN.format(pairs=pairs))
        self._asked.append(pairs)

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        # A cursor of its own sees no temporary tables; the answer is therefore read to its end before the next query.
        cursor = self._connection.execute(query)
        while rows := cursor.fetchmany(_AT_ONCE):
            yield from rows


def _by_document(
    pairs: pa.RecordBatchReader,
) -> Iterator[tuple[int, NDArray[np.int64], bool, pa.Table]]:
    """(rank, ranks of its candidates, whether one of them is not told apart from it, its rows) of each document."""
    left: pa.Table = pairs.schema.empty_table()
    for batch in chain(pairs, [None]):
        here = pa.concat_tables([left, pa.Table.from_batches([batch] if batch is not None else [], pairs.schema)])
        own, other, apart = (here.column(name).to_numpy() for name in ("own", "other", "told_apart"))
        bounds = [*np.flatnonzero(np.diff(own, prepend=-1)).tolist(), len(own)]
        # The rows of the last document may go on in the next batch.
        whole = bounds if batch is None else bounds[:-1] or [0]
        for start, end in pairwise(whole):
            yield int(own[start]), other[start:end], not apart[start:end].all(), here.slice(start, end - start)
        left = here.slice(whole[-1])


@contextmanager
def candidates(
    signatures: Iterable[pa.Table], precedence: Mapping[str, int], settings: DedupSettings, known: pa.Table
) -> Iterator[Candidates]:
    """Takes in `SIGNATURE` rows, part by part, and what is `known` of pairs of texts (`COMPARED`).

    The stated order is least `precedence` first (0 where a document has none), then longest text, then least document
    id. Of exact copies the one with the least precedence, then the least id, stands for all.
    """
    with tempfile.TemporaryDirectory(prefix="corpusgate-dedup-") as spill, duckdb.connect() as connection:
        connection.execute("SET memory_limit = ?", [f"{settings.memory_limit_mb}MB"])
        connection.execute("SET temp_directory = ?", [spill])
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET enable_progress_bar = false")
        connection.register("compared", known)
        connection.register("part", SIGNATURE.empty_table())
        connection.execute(_SIGNATURES)
        for part in signatures:
            connection.register("part", part)
            connection.execute(f"INSERT INTO signatures {_SIGNATURES.partition(' AS ')[2]}")
        order = pa.table(
            {
                "document_id": pa.array(list(precedence), pa.string()),
                "precedence": pa.array(list(precedence.values()), pa.int64()),
            }
        )
        connection.register("precedences", order)
        connection.execute(_ORDERED)
        connection.execute("DROP TABLE signatures")
        connection.execute(_ROWS)
        yield Candidates(connection, settings)
