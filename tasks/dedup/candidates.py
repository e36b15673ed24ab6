"""Pairs of documents that may be near duplicates: documents of one access scope that share a band.

The join runs in DuckDB, which spills to disk. Within a band's bucket a document is paired with its neighbours only,
in the order of the bands that follow (an LSH forest: Bawa, Condie, Ganesan 2005), so that a bucket of ten thousand
documents from one template costs ten thousand times a constant, and the most similar ones still stand side by side. A
document keeps those candidates with which it shares most bands.
"""

import tempfile
from collections.abc import Iterator

import duckdb
import pyarrow as pa

from tasks.dedup.settings import DedupSettings

_REPRESENTATIVES = """
CREATE TEMP TABLE representatives AS
SELECT min(document_id) AS document_id, scope, any_value(shingles) AS shingles, any_value(bands) AS bands
FROM signatures WHERE shingles > 0 GROUP BY scope, text_sha
"""

_ROWS = """
CREATE TEMP TABLE ranked AS
SELECT row_number() OVER (ORDER BY shingles DESC, document_id) AS rank, document_id, scope, bands FROM representatives
"""

_PAIRS = """
CREATE TEMP TABLE pairs AS
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
SELECT earlier, later FROM weighed
QUALIFY row_number() OVER (PARTITION BY later ORDER BY shared DESC, earlier) <= {neighbours}
"""

_RESULT = """
SELECT e.document_id AS earlier, l.document_id AS later
FROM pairs JOIN ranked AS e ON e.rank = pairs.earlier JOIN ranked AS l ON l.rank = pairs.later
ORDER BY pairs.later, pairs.earlier
"""


def candidate_pairs(signatures: pa.Table, settings: DedupSettings) -> Iterator[tuple[str, list[str]]]:
    """(document, the candidates that come before it), the documents in the stated order.

    The stated order is longest text first, then least document id. Exact copies are represented by the one with
    the least id. The result does not depend on the order of the signatures.
    """
    with tempfile.TemporaryDirectory(prefix="corpusgate-dedup-") as spill, duckdb.connect() as connection:
        connection.execute("SET memory_limit = ?", [f"{settings.memory_limit_mb}MB"])
        connection.execute("SET temp_directory = ?", [spill])
        connection.execute("SET preserve_insertion_order = false")
        connection.register("signatures", signatures)
        connection.execute(_REPRESENTATIVES)
        connection.execute(_ROWS)
        connection.execute(_PAIRS.format(neighbours=settings.neighbours))
        document: str | None = None
        earlier: list[str] = []
        cursor = connection.execute(_RESULT)
        while rows := cursor.fetchmany(10_000):
            for other, later in rows:
                if later != document:
                    if document is not None:
                        yield document, earlier
                    document, earlier = later, []
                earlier.append(other)
        if document is not None:
            yield document, earlier
