"""Which document is meant, and what a lake holds of it."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.compute as pc

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from tasks.erase.gold import labels_of, stored_sets
from tasks.erase.tables import rows_of
from tasks.errors import ConfigurationError, RunError
from tasks.index.store import LanceIndex
from tasks.lake.erased import place_digest
from tasks.lake.files import read_table
from tasks.lake.layout import TORN, Lake
from tasks.lake.raw import RawStore
from tasks.lake.views import literal, open_connection

_BY_ID = "document_id = $name OR starts_with(document_id, $name) OR starts_with(document_id, 'doc-' || $name)"
_BY_REDACTED_PATH = "len(list_filter(fields, lambda f: f.name = 'uri' AND f.value = $name)) > 0"


@dataclass(frozen=True, slots=True)
class Meant:
    """A document as the kept runs know it: every place and every version that it had in one of them."""

    document_id: str
    places: tuple[tuple[str, str], ...]
    contents: tuple[str, ...]
    locators: tuple[str, ...]
    runs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """`<source>:<path>` of each place, as labels name documents."""
        return tuple(f"{source}:{uri}" for source, uri in self.places)


@dataclass(frozen=True, slots=True)
class Footprint:
    """What would go. Rows are counted by part of the lake (`stages/parse`, `measures/chunk`, `ledger`, `runs` …).

    `raw` are versions whose bytes go, `shared` those whose bytes stay, since another document has them. `generations`
    says how many chunks each kept generation of the index holds, by run. `copies` are other documents that say the
    same and stay.
    """

    document: Meant
    rows: Mapping[str, int]
    files: int
    raw: int
    shared: int
    labels: int
    generations: Mapping[str, int]
    copies: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def plans(lake: Lake) -> list[Path]:
    """Every plan in a lake, those of baselines that were measured again included."""
    return sorted(lake.runs.rglob("plan.parquet"))


def tables(lake: Lake) -> Iterator[Path]:
    """Every Parquet file of a lake that may hold rows of documents; labels, the index and what was set aside as torn
    are another matter."""
    for path in sorted(lake.root.rglob("*.parquet")):
        part = path.relative_to(lake.root).parts[0]
        if part not in ("gold", "index", "cache", "prefect", TORN) and not path.name.startswith("."):
            yield path


def find_document(lake: Lake, name: str) -> Meant:
    """The document of this id, the beginning of its id, or its path or URL, in any kept run; else among rows that no
    run names any more and that have not been packed away yet, where its path is as the pii stage left it.

    Raises:
        ConfigurationError: no document, or more than one, is meant.
    """
    files = plans(lake)
    with open_connection(lake) as connection:
        rows = _rows(connection, files, "ends_with(uri, '/' || $name) OR distance < 2", name) if files else []
        nearest = {row["document_id"]: row["uri"] for row in rows if row["distance"] == rows[0]["distance"]}
        nearest = nearest or _withheld(files, name) or _unnamed(connection, lake, name)
        if len(nearest) == 1:
            (document_id,) = nearest
            return _meant(lake, document_id, _rows(connection, files, "document_id = $name", document_id))
    if nearest:
        several = ", ".join(f"{uri!r} ({document_id})" for document_id, uri in list(nearest.items())[:5])
        raise ConfigurationError(
            f"{len(nearest)} documents of the lake match {name!r}", remedy=f"give the id of one of them: {several}"
        )
    raise ConfigurationError(
        f"no document of a run in {lake.root} matches {name!r}",
        remedy="give its id, the beginning of it, or its path in the source; list them: "
        '`corpusgate sql "SELECT document_id, uri FROM documents"`',
    )


def _withheld(files: list[Path], name: str) -> dict[str, str]:
    """Documents by a path of their source that the lake keeps a digest of alone; their ids with the names they have."""
    found = {}
    for path in files:
        plan = read_table(path, DOCUMENTS).filter(pc.field("place").is_valid())
        for row in plan.select(["document_id", "source", "uri", "place"]).to_pylist():
            if row["place"] == place_digest(row["source"], name):
                found[row["document_id"]] = row["uri"]
    return found


def _unnamed(connection: duckdb.DuckDBPyConnection, lake: Lake, name: str) -> dict[str, str]:
    """Documents of rows that no kept run names: their ids, twice."""
    of_pii = sorted(lake.stage(StageName.PII).glob("*.parquet"))
    found = set[str]()
    for files, where in ((list(tables(lake)), _BY_ID), (of_pii, _BY_REDACTED_PATH)):
        if files and not found:
            query = f"SELECT DISTINCT document_id FROM read_parquet($files, union_by_name = true) WHERE {where}"  # noqa: S608
            parameters = {"name": name, "files": [literal(path) for path in files]}
            found |= {document_id for (document_id,) in connection.sql(query, params=parameters).fetchall()}
    return {document_id: document_id for document_id in sorted(found)}


def _rows(connection: duckdb.DuckDBPyConnection, files: list[Path], where: str, name: str) -> list[dict[str, Any]]:
    query = f"""
        SELECT document_id, source, uri, locator, content_sha, previous_content_sha, previous_uri, filename AS file,
               CASE WHEN document_id = $name OR uri = $name THEN 0
                    WHEN starts_with(document_id, $name) OR starts_with(document_id, 'doc-' || $name) THEN 1
                    ELSE 2 END AS distance
        FROM read_parquet($files, union_by_name = true, filename = true) WHERE {where} ORDER BY distance, uri
    """  # noqa: S608
    parameters = {"name": name, "files": [literal(path) for path in files]}
    return list(connection.sql(query, params=parameters).to_arrow_table().to_pylist())


def _meant(lake: Lake, document_id: str, rows: list[dict[str, Any]]) -> Meant:
    places = {(row["source"], uri) for row in rows for uri in (row["uri"], row["previous_uri"]) if uri}
    contents = {sha for row in rows for sha in (row["content_sha"], row["previous_content_sha"]) if sha}
    folders = {Path(row["file"]).parent.relative_to(lake.runs).as_posix() for row in rows}
    locators = {row["locator"] for row in rows}
    with open_connection(lake) as connection:
        ledger = [literal(path) for path in sorted(lake.ledger.glob("*.parquet"))]
        if ledger:
            query = (
                "SELECT DISTINCT content_sha FROM read_parquet($files, union_by_name = true) WHERE document_id = $id"
            )
            parameters = {"files": ledger, "id": document_id}
            contents |= {sha for (sha,) in connection.execute(query, parameters).fetchall() if sha}
    return Meant(
        document_id, tuple(sorted(places)), tuple(sorted(contents)), tuple(sorted(locators)), tuple(sorted(folders))
    )


def measure(lake: Lake, index: LanceIndex, keep: int, document: Meant) -> Footprint:
    """What a lake holds of a document.

    Raises:
        RunError: a file of the lake is torn.
    """
    ids = (document.document_id,)
    rows: dict[str, int] = defaultdict(int)
    files = 0
    for path in tables(lake):
        if found := rows_of(path, ids):
            parts = path.relative_to(lake.root).parts
            rows["/".join(parts[:2]) if parts[0] in ("stages", "measures") else parts[0]] += found
            files += 1
    others = named_contents(lake, but=ids)
    raw = RawStore(lake.raw)
    there = [sha for sha in document.contents if raw.has(sha)]
    return Footprint(
        document,
        dict(rows),
        files,
        raw=sum(sha not in others for sha in there),
        shared=sum(sha in others for sha in there),
        labels=sum(labels_of(path, ids) for path in stored_sets(lake)),
        generations=_chunks(index, keep, document.document_id),
        copies=_copies(lake, document.document_id),
    )


def named_contents(lake: Lake, *, but: Collection[str]) -> set[str]:
    """The versions that a plan or the ledger names for any document but these."""
    found: set[str] = set()
    with open_connection(lake) as connection:
        for files in (plans(lake), sorted(lake.ledger.glob("*.parquet"))):
            if not files:
                continue
            query = """SELECT DISTINCT content_sha FROM read_parquet($files, union_by_name = true)
                       WHERE document_id NOT IN (SELECT unnest($but)) AND content_sha IS NOT NULL"""
            parameters = {"files": [literal(path) for path in files], "but": list(but)}
            found |= {sha for (sha,) in connection.execute(query, parameters).fetchall()}
    return found


def _chunks(index: LanceIndex, keep: int, document_id: str) -> dict[str, int]:
    found = {}
    for generation in index.kept(keep):
        try:
            parts = index.open(generation).rows(["document_id"], [document_id])
            found[generation.run_id] = sum(part.num_rows for part in parts)
        except RunError:
            continue  # collected: no file of it is left
    return found


def _copies(lake: Lake, document_id: str) -> tuple[str, ...]:
    """Documents that a dedup decision calls copies of this one, or this one a copy of them."""
    files = [literal(path) for path in sorted((lake.root / "stages" / "dedup").glob("*.parquet"))]
    if not files:
        return ()
    query = """
        SELECT DISTINCT CASE WHEN document_id = $id THEN duplicate_of ELSE document_id END AS other
        FROM read_parquet($files, union_by_name = true)
        WHERE duplicate_of IS NOT NULL AND $id IN (document_id, duplicate_of) ORDER BY other
    """
    with open_connection(lake) as connection:
        return tuple(other for (other,) in connection.execute(query, {"files": files, "id": document_id}).fetchall())
