"""Named SQL files over a run, and a connection in which they and anybody's own SELECT can run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import duckdb
import pyarrow as pa

from schemas.ledger import QUARANTINE
from schemas.names import StageName
from tasks.errors import ConfigurationError
from tasks.figures.catalogue import Catalogue
from tasks.figures.stored import read_figures
from tasks.lake.layout import Lake
from tasks.lake.quarantine import Quarantine
from tasks.lake.runs import Runs
from tasks.lake.views import confine, connect_run, open_sparing

_PARAMETER = re.compile(r"--   (?P<name>\w+)(?P<optional> =(?P<default>[^:]*))?: (?P<meaning>.+)")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a query asks for; one that is not required has a default, null where that is empty."""

    name: str
    meaning: str
    required: bool
    default: str | None


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A SQL file: what it answers, its parameters and an example stand in its head."""

    name: str
    answers: str
    parameters: tuple[Parameter, ...]
    example: str
    text: str


@lru_cache(maxsize=1)
def available() -> Mapping[str, NamedQuery]:
    """The SQL files that ship with the project, by name."""
    found = {}
    for file in sorted(files("tasks.report").joinpath("sql").iterdir(), key=lambda item: item.name):
        if file.name.endswith(".sql"):
            name = file.name.removesuffix(".sql")
            found[name] = _read_head(name, file.read_text(encoding="utf-8"))
    return found


def connect(
    lake: Lake, run_id: str, catalogue: Catalogue, *, figures: bool = True, sparing: bool = False
) -> duckdb.DuckDBPyConnection:
    """The views of a run (`tasks.lake.views`) and beside them what reading a run needs.

    `stages` and the macro `stage_order(stage)`: the order in which documents pass them; `catalogue`: one row per
    stage and measure; `figures`: the run's aggregated figures (with `figures` only);
    `paths`: a document's path as the pii stage left it, else as the source has it (a document that never came so far
    must be found to be mended); `labels_unbound`: how many labels of each set and kind name no document of the run;
    `quarantine_history`: all quarantine rows of the lake, since a failure that an earlier
    run met is not met again. Files outside the lake cannot be read through it.
    A `sparing` connection takes as little memory as those of a run, for work at its end.

    Raises:
        ConfigurationError: the run did not come far enough to be read.
    """
    connection = open_sparing(lake) if sparing else duckdb.connect(":memory:", config={"memory_limit": "1GB"})
    _add_run(connection, lake, run_id, "", catalogue, figures=figures)
    connection.execute(_PATHS)
    connection.register("labels_unbound", _labels_unbound(lake, run_id))
    _add_vocabulary(connection, lake, catalogue)
    confine(connection, lake)
    return connection


def connect_two(lake: Lake, run_a: str, run_b: str, catalogue: Catalogue) -> duckdb.DuckDBPyConnection:
    """Two runs side by side: every view of `connect` with the prefix `a_` or `b_`.

    Raises:
        ConfigurationError: one of the runs did not come far enough to be read.
    """
    connection = duckdb.connect(":memory:", config={"memory_limit": "1GB"})
    for prefix, run_id in (("a_", run_a), ("b_", run_b)):
        _add_run(connection, lake, run_id, prefix, catalogue, figures=True)
    _add_vocabulary(connection, lake, catalogue)
    confine(connection, lake)
    return connection


def run_query(
    connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, str | int | None] | None = None
) -> pa.Table:
    """Runs a SQL file by its name.

    Raises:
        ConfigurationError: there is no such file, a parameter is missing or unknown, or has an impossible value.
    """
    query = available().get(name)
    if query is None:
        raise ConfigurationError(
            f"there is no query {name!r}", remedy=f"the queries are: {', '.join(available())}; or give a SELECT"
        )
    given = dict(parameters or {})
    unknown = sorted(set(given) - {parameter.name for parameter in query.parameters})
    missing = [p.name for p in query.parameters if p.required and p.name not in given]
    if unknown or missing:
        said = ", ".join(f"{p.name}{'' if p.required else ' (optional)'}" for p in query.parameters) or "none"
        raise ConfigurationError(
            f"query {name}: " + (f"unknown parameter {unknown[0]!r}" if unknown else f"{missing[0]!r} is missing"),
            remedy=f"its parameters are: {said}; for example: {query.example}",
        )
    values = {p.name: given.get(p.name, p.default) for p in query.parameters}
    return _fetch(connection, query.text, values)


def run_select(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """Runs one SELECT of the user's own; anything else is refused, so that nothing can be written.

    Raises:
        ConfigurationError: the SQL is wrong, or is not one SELECT.
    """
    try:
        statements = duckdb.extract_statements(query)
    except duckdb.Error as error:
        raise _wrong_sql(error) from error
    allowed = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
    if len(statements) != 1 or statements[0].type not in allowed:
        raise ConfigurationError(
            "only one SELECT (or DESCRIBE, SUMMARIZE, SHOW) at a time is allowed: a lake is read, never written, here",
            remedy='give one SELECT over the views; `corpusgate sql "SHOW TABLES"` lists them',
        )
    return _fetch(connection, query, {})


def _fetch(connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, str | int | None]) -> pa.Table:
    try:
        return connection.sql(query, params=dict(values)).to_arrow_table()
    except duckdb.Error as error:
        raise _wrong_sql(error) from error


def _wrong_sql(error: duckdb.Error) -> ConfigurationError:
    return ConfigurationError(
        f"SQL: {str(error).strip()}",
        remedy='`corpusgate sql "SHOW TABLES"` lists the views, `corpusgate sql "DESCRIBE documents"` their columns; '
        'the stages fetch and index are written "fetch" and "index", with quotes',
    )


def _read_head(name: str, text: str) -> NamedQuery:
    head = [line for line in text.splitlines() if line.startswith("--")]
    parameters = []
    for line in head:
        if found := _PARAMETER.fullmatch(line):
            default = (found["default"] or "").strip() or None
            parameters.append(Parameter(found["name"], found["meaning"], found["optional"] is None, default))
    example = next(line.removeprefix("-- Example: ") for line in head if line.startswith("-- Example: "))
    return NamedQuery(name, head[0].removeprefix("-- "), tuple(parameters), example, text)


def _add_run(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    run_id: str,
    prefix: str,
    catalogue: Catalogue,
    *,
    figures: bool,
) -> None:
    if not Runs(lake).is_readable(run_id):
        status = Runs(lake).manifest(run_id).get("status", "unknown")
        raise ConfigurationError(
            f"run {run_id} has nothing to read: it did not get as far as the gate (status: {status})",
            remedy="give another run, or run the pipeline again: what is done is kept",
        )
    connect_run(lake, run_id, prefix=prefix, connection=connection)
    if figures:
        connection.register(f"{prefix}figures", read_figures(lake, run_id, catalogue))


def _add_vocabulary(connection: duckdb.DuckDBPyConnection, lake: Lake, catalogue: Catalogue) -> None:
    names = ", ".join(f"'{stage}'" for stage in StageName)
    connection.execute(f"CREATE TEMP VIEW stages AS SELECT unnest([{names}]) AS stage")
    connection.execute(f"CREATE TEMP MACRO stage_order(stage) AS list_position([{names}], stage)")
    connection.register("quarantine_history", Quarantine(lake.quarantine).read().cast(QUARANTINE))
    connection.register("catalogue", catalogue_table(catalogue))
    connection.execute(_TOLD)


def _labels_unbound(lake: Lake, run_id: str) -> pa.Table:
    counted = Runs(lake).manifest(run_id).get("labels_unbound") or {}
    rows = [(*name.rpartition(" ")[::2], count) for name, count in counted.items()]
    names = ("gold_set", "kind", "labels")
    kinds = (pa.string(), pa.string(), pa.int64())
    return pa.table({n: pa.array([row[i] for row in rows], kinds[i]) for i, n in enumerate(names)})


def catalogue_table(catalogue: Catalogue) -> pa.Table:
    """The catalogue with one row per stage and measure; measures that every stage has stand under each."""
    return pa.Table.from_pylist(
        [
            {
                "stage": str(stage),
                "metric": metric.id,
                "title": metric.title,
                "definition": metric.definition,
                "needs": metric.needs,
                "basis": metric.basis,
                "unit": metric.unit,
                "direction": metric.direction,
                "aggregation": metric.aggregation[0],
                "per": metric.per,
                "missing_score": metric.missing_score,
                "labels": list(metric.labels),
                "best": {"higher": metric.range[1], "lower": metric.range[0], "none": None}[metric.direction],
            }
            for stage in StageName
            for metric in catalogue.of_stage(stage)
        ],
        schema=pa.schema(
            [(name, pa.string()) for name in _TEXTS]
            + [("missing_score", pa.float64()), ("labels", pa.list_(pa.string())), ("best", pa.float64())]
        ),
    )


_PATHS = """
    CREATE TEMP VIEW paths AS
    SELECT d.document_id, coalesce(p.path, d.uri) AS path
    FROM documents d
    LEFT JOIN (SELECT document_id, list_filter(fields, lambda field: field.name = 'uri')[1].value AS path FROM pii) p
           USING (document_id)
"""

# Why a figure has no value, from what its documents are counted as; null where there are none.
_TOLD = """
    CREATE TEMP MACRO told(stale, upstream, invalid, missing, not_applicable) AS
    nullif(concat_ws(', ',
        CASE WHEN stale > 0 THEN stale || ' labels made for other bytes' END,
        CASE WHEN upstream > 0 THEN upstream || ' lost upstream' END,
        CASE WHEN invalid > 0 THEN invalid || ' invalid' END,
        CASE WHEN missing > 0 THEN missing || ' missing' END,
        CASE WHEN not_applicable > 0 THEN not_applicable || ' not applicable' END), '')
"""

_TEXTS = ("stage", "metric", "title", "definition", "needs", "basis", "unit", "direction", "aggregation", "per")
