"""A run as DuckDB views: documents, where their rows are, each stage's rows, the measures."""

import re
from pathlib import Path

import duckdb
import pyarrow as pa

from schemas.ledger import QUARANTINE
from schemas.measures import ALONE_INPUTS, MEASURES
from schemas.names import StageName
from schemas.stages import STAGE_OUTPUTS
from tasks.lake.layout import Lake

_PARTS = {
    "elements": ("parse", "elements", "element"),
    "chunks": ("chunk", "chunks", "chunk"),
    "pii_spans": ("pii", "spans", "span"),
    "embeddings": ("embed", "embeddings", "embedding"),
}


def connect_run(
    lake: Lake, run_id: str, *, prefix: str = "", connection: duckdb.DuckDBPyConnection | None = None
) -> duckdb.DuckDBPyConnection:
    """Opens views over the files that a run names; nothing is read until it is asked for.

    Views: `documents`, `locations`, `measures` (documents' rows and run facts, joined to this run's locations),
    `alone` and `alone_inputs` (measures of stages scored alone, and what these were made from), `quarantine`, one per
    stage (`fetch` … `index`), and `elements`, `chunks`, `pii_spans`, `embeddings` (one row each). With a `prefix`,
    names get it, so that two runs lie side by side in one `connection`.
    """
    connection = connection or open_connection(lake)
    folder = lake.run(run_id)
    connection.execute(f"CREATE VIEW {prefix}documents AS {_scan([folder / 'plan.parquet'])}")
    connection.execute(f"CREATE VIEW {prefix}locations AS {_scan([folder / 'locations.parquet'])}")
    rows = connection.sql(
        f"SELECT DISTINCT stage, file, measures_file FROM {prefix}locations ORDER BY ALL"  # noqa: S608
    ).fetchall()
    files: dict[str, list[Path]] = {}
    measures: set[Path] = set()
    for stage, file, measures_file in rows:
        if file is not None:
            files.setdefault(stage, []).append(lake.root / file)
        if measures_file is not None:
            measures.add(lake.root / measures_file)
    for name, schema in STAGE_OUTPUTS.items():
        _create_stage_view(connection, prefix, name, sorted(set(files.get(name, []))), schema)
    for view, (stage, column, item) in _PARTS.items():
        connection.execute(
            f"CREATE VIEW {prefix}{view} AS SELECT document_id, unnest({item}) FROM "  # noqa: S608
            f'(SELECT document_id, unnest({column}) AS {item} FROM "{prefix}{stage}")'
        )
    _create_measures_view(connection, prefix, sorted(measures), sorted((folder / "facts").glob("*.parquet")))
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
    files = {lake.root / file for file in locations.column("measures_file").to_pylist() if file is not None}
    facts = lake.run(run_id) / "facts" / f"{stage}.parquet"
    _create_measures_view(connection, "", sorted(files), [facts] if facts.exists() else [])
    return connection


def open_connection(lake: Lake) -> duckdb.DuckDBPyConnection:
    """Spills to the lake's cache, so that memory does not grow with the number of documents."""
    spill = str(lake.cache / "duckdb")
    return duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "256MB", "temp_directory": spill})


def _create_stage_view(
    connection: duckdb.DuckDBPyConnection, prefix: str, name: StageName, files: list[Path], schema: pa.Schema
) -> None:
    view = f"{prefix}{name}"
    if not files:
        _create_or_empty(connection, view, [], schema)
        return
    connection.execute(
        # Quoted: `fetch` and `index` are words of SQL.
        f'CREATE VIEW "{view}" AS SELECT s.* EXCLUDE (file_of_row) FROM '  # noqa: S608
        f"(SELECT * EXCLUDE (filename), filename AS file_of_row FROM "
        f"read_parquet({_list(files)}, filename = true, union_by_name = true)) s "
        f"JOIN {prefix}locations l ON l.stage = '{name}' AND l.document_id = s.document_id "
        f"AND ends_with(s.file_of_row, l.file)"
    )


def _create_measures_view(
    connection: duckdb.DuckDBPyConnection, prefix: str, files: list[Path], facts: list[Path]
) -> None:
    columns = ", ".join(f"m.{name}" for name in MEASURES.names)
    parts = []
    if files:
        parts.append(
            f"SELECT {columns} FROM read_parquet({_list(files)}, filename = true, union_by_name = true) m "  # noqa: S608
            f"JOIN {prefix}locations l ON l.stage = m.stage AND l.document_id = m.document_id "
            f"AND l.stage_key = m.stage_key AND ends_with(m.filename, l.measures_file)"
        )
    if facts:
        parts.append(f"SELECT {columns} FROM read_parquet({_list(facts)}, union_by_name = true) m")  # noqa: S608
    if parts:
        connection.execute(f"CREATE VIEW {prefix}measures AS {' UNION ALL '.join(parts)}")
    else:
        _create_or_empty(connection, f"{prefix}measures", [], MEASURES)


def _create_or_empty(connection: duckdb.DuckDBPyConnection, view: str, files: list[Path], schema: pa.Schema) -> None:
    if files:
        connection.execute(f'CREATE VIEW "{view}" AS {_scan(files)}')
        return
    connection.register(f"{view}_empty", schema.empty_table())
    connection.execute(f'CREATE VIEW "{view}" AS SELECT * FROM {view}_empty')  # noqa: S608


def _scan(files: list[Path]) -> str:
    return f"SELECT * FROM read_parquet({_list(files)}, union_by_name = true)"  # noqa: S608


def _list(files: list[Path]) -> str:
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
