"""A run as DuckDB views: documents, where their rows are, each stage's rows, the measures."""

import re
import shutil
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from schemas.ledger import QUARANTINE
from schemas.measures import ALONE_INPUTS, MEASURES
from schemas.names import StageName
from schemas.stages import STAGE_OUTPUTS
from tasks.lake.layout import Lake
from tasks.lake.packed import STORED_AS, stored_in

_PARTS = {
    "elements": ("parse", "elements", "element"),
    "chunks": ("chunk", "chunks", "chunk"),
    "pii_spans": ("pii", "spans", "span"),
    "embeddings": ("embed", "embeddings", "embedding"),
}


def connect_run(
    lake: Lake,
    run_id: str,
    *,
    prefix: str = "",
    connection: duckdb.DuckDBPyConnection | None = None,
    stages: Collection[StageName] = tuple(StageName),
) -> duckdb.DuckDBPyConnection:
    """Opens views over the files that a run names; nothing is read until it is asked for.

    Views: `documents`, `locations`, `measures` (documents' rows and run facts, joined to this run's locations),
    `alone` and `alone_inputs` (measures of stages scored alone, and what these were made from), `quarantine`, one per
    stage (`fetch` … `index`), and `elements`, `chunks`, `pii_spans`, `embeddings` (one row each). With a `prefix`,
    names get it, so that two runs lie side by side in one `connection`. Rows of `stages` only: a view costs the opening
    of every file that it is of.
    """
    connection = connection or open_connection(lake)
    folder = lake.run(run_id)
    connection.execute(f"CREATE TEMP VIEW {prefix}documents AS FROM {scan([folder / 'plan.parquet'])}")
    connection.execute(f"CREATE TEMP VIEW {prefix}locations AS FROM {scan([folder / 'locations.parquet'])}")
    rows = connection.sql(
        f"SELECT DISTINCT stage, file, measures_file FROM {prefix}locations ORDER BY ALL"  # noqa: S608
    ).fetchall()
    files: dict[str, set[str]] = {}
    measures: set[str] = set()
    for stage, file, measures_file in rows:
        if file is not None:
            files.setdefault(stage, set()).add(file)
        if measures_file is not None:
            measures.add(measures_file)
    for name in stages:
        _create_stage_view(connection, prefix, name, _rows_of(lake, files.get(name, ())), STAGE_OUTPUTS[name])
    for view, (stage, column, item) in _PARTS.items():
        if stage not in stages:
            continue
        connection.execute(
            f"CREATE TEMP VIEW {prefix}{view} AS SELECT document_id, unnest({item}) FROM "  # noqa: S608
            f'(SELECT document_id, unnest({column}) AS {item} FROM "{prefix}{stage}")'
        )
    _create_measures_view(connection, prefix, _rows_of(lake, measures), sorted((folder / "facts").glob("*.parquet")))
    inputs = sorted(lake.alone(run_id, "inputs").glob("*.parquet"))
    alone = [path for stage in StageName for path in sorted(lake.alone(run_id, stage).glob("*.parquet"))]
    _create_or_empty(connection, f"{prefix}alone", alone, MEASURES)
    _create_or_empty(connection, f"{prefix}alone_inputs", inputs, ALONE_INPUTS)
    quarantine = sorted(lake.quarantine.glob(f"{run_id}-*.parquet"))
    _create_or_empty(connection, f"{prefix}quarantine", quarantine, QUARANTINE)
    return connection


def connect_stage(
    lake: Lake, run_id: str, stage: StageName, locations: pa.Table, plan: pa.Table
) -> duckdb.DuckDBPyConnection:
    """The views `documents`, `locations` and `measures` of one stage of a run, which need not be finished.

    `locations` are the stage's rows (`LOCATIONS`), `plan` the run's documents.
    """
    connection = open_connection(lake)
    connection.register("documents", plan)
    connection.register("locations", locations)
    files = pc.unique(locations.column("measures_file").drop_null()).to_pylist()
    facts = lake.run(run_id) / "facts" / f"{stage}.parquet"
    _create_measures_view(connection, "", _rows_of(lake, files), [facts] if facts.exists() else [])
    return connection


def open_connection(lake: Lake) -> duckdb.DuckDBPyConnection:
    """A connection for temporary views and tables, which no other sees. All connections to a lake share one database,
    since opening one takes as long as many a query, and the memory that it may take."""
    return _database(_spill(lake)).cursor()


def remove_spilled(lake: Lake) -> bool:
    """Removes what databases have spilled, or killed processes have left; returns whether there was any.

    Connections opened from here on are to another database: one that has spilled needs its folder.

    Raises:
        OSError: a file cannot be removed.
    """
    _database.cache_clear()
    folder = _spill(lake)
    found = any(path.is_file() for path in folder.rglob("*"))
    if folder.exists():
        shutil.rmtree(folder)
    return found


def open_sparing(lake: Lake) -> duckdb.DuckDBPyConnection:
    """A database of its own that takes as little memory."""
    return _open(_spill(lake))


def _spill(lake: Lake) -> Path:
    return lake.cache / "duckdb"


def _open(spill: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "memory_limit": "256MB",
            "temp_directory": str(spill),
            "enable_external_file_cache": False,
        },
    )


_database = lru_cache(maxsize=1)(_open)


def _create_stage_view(
    connection: duckdb.DuckDBPyConnection, prefix: str, name: StageName, rows: str | None, schema: pa.Schema
) -> None:
    view = f"{prefix}{name}"
    if rows is None:
        _create_or_empty(connection, view, [], schema)
        return
    connection.execute(
        # Quoted: `fetch` and `index` are words of SQL.
        f'CREATE TEMP VIEW "{view}" AS SELECT s.* EXCLUDE (file_of_row) FROM ({rows}) s '  # noqa: S608
        f"JOIN {prefix}locations l ON l.stage = '{name}' AND l.document_id = s.document_id "
        f"AND ends_with(s.file_of_row, l.file)"
    )


def _create_measures_view(
    connection: duckdb.DuckDBPyConnection, prefix: str, rows: str | None, facts: list[Path]
) -> None:
    columns = ", ".join(f"m.{name}" for name in MEASURES.names)
    parts = []
    if rows is not None:
        parts.append(
            f"SELECT {columns} FROM ({rows}) m "  # noqa: S608
            f"JOIN {prefix}locations l ON l.stage = m.stage AND l.document_id = m.document_id "
            f"AND l.stage_key = m.stage_key AND ends_with(m.file_of_row, l.measures_file)"
        )
    if facts:
        parts.append(f"SELECT {columns} FROM read_parquet({_list(facts)}, union_by_name = true) m")  # noqa: S608
    if parts:
        connection.execute(f"CREATE TEMP VIEW {prefix}measures AS {' UNION ALL '.join(parts)}")
    else:
        _create_or_empty(connection, f"{prefix}measures", [], MEASURES)


def _rows_of(lake: Lake, files: Collection[str]) -> str | None:
    """A query for all rows of the files in which these names lie, with the name of each row as `file_of_row`."""
    plain, packed = [], set()
    for file in sorted(files):
        stored = stored_in(lake, (lake.root / file).parent)
        if stored.is_packed(file):
            packed.add(stored.path(file))
        else:
            plain.append(lake.root / file)
    parts = [
        f"SELECT * EXCLUDE ({column}), {column} AS file_of_row "  # noqa: S608
        f"FROM read_parquet({_list(paths)}, filename = {column == 'filename'}, union_by_name = true)"
        for column, paths in (("filename", plain), (STORED_AS, sorted(packed)))
        if paths
    ]
    return " UNION ALL BY NAME ".join(parts) or None


def _create_or_empty(connection: duckdb.DuckDBPyConnection, view: str, files: list[Path], schema: pa.Schema) -> None:
    if files:
        connection.execute(f'CREATE TEMP VIEW "{view}" AS FROM {scan(files)}')
        return
    connection.register(f"{view}_empty", schema.empty_table())
    connection.execute(f'CREATE TEMP VIEW "{view}" AS SELECT * FROM {view}_empty')  # noqa: S608


def scan(files: Sequence[Path]) -> str:
    """The rows of Parquet files as SQL, to stand after FROM."""
    return f"read_parquet({_list(files)}, union_by_name = true)"


def _list(files: Sequence[Path]) -> str:
    quoted = ", ".join("'" + literal(path).replace("'", "''") + "'" for path in files)
    return f"[{quoted}]"


def literal(path: Path) -> str:
    """A path as DuckDB must be given it, so that `*`, `?` and `[` in a folder's name are not read as patterns.

    >>> literal(Path("/srv/lake [old]"))
    '/srv/lake [[]old]'
    """
    return re.sub(r"[\[*?]", r"[\g<0>]", str(path))


def confine(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """From here on the connection reads files of the lake and nothing else, and says so for good."""
    connection.execute("SET allowed_directories = $folders", {"folders": [f"{lake.root}/", f"{literal(lake.root)}/"]})
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
