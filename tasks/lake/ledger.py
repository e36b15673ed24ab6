"""The ledger: what is done, for which bytes, under which key. What it does not name does not exist."""

import threading
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from schemas.ledger import LEDGER
from tasks.errors import RunError
from tasks.lake.files import read_batches, write_batches, write_table
from tasks.lake.views import scan

SEEN = "seen"
"""Kind of the rows that say in which run a document was first seen, once what that run recorded is gone."""

_SEEN_AT = (SEEN, "fetch")
_COMPACT_OVER = 64
_LARGE = 2 * 2**20
_ROWS_AT_ONCE = 10_000
_COMPRESS_AFTER = 20_000
"""Rows that lie uncompressed at most; compressed they take about an eighth."""
_COST = ("document_id", "seconds", "peak_rss_bytes")
_WANTED = pa.schema([("document_id", pa.string()), ("stage_key", pa.string())])

_FOUND = pa.schema(
    [
        ("document_id", pa.string()),
        ("stage_key", pa.string()),
        ("outcome", pa.string()),
        ("reason", pa.string()),
        ("file", pa.string()),
        ("seconds", pa.float64()),
    ]
)

_KEPT = """
CREATE OR REPLACE TEMP TABLE kept AS
SELECT DISTINCT stage, document_id, stage_key, file, measures_key FROM {scan}
"""
_NOTHING_KEPT = """
CREATE OR REPLACE TEMP TABLE kept AS
SELECT stage, document_id, stage_key, file, stage_key AS measures_key FROM ledger WHERE false
"""
_DOOMED = {
    # A forced stage's output has rows under two keys, of which locations name one: by its file both are kept.
    "output": """
        CREATE OR REPLACE TEMP TABLE doomed AS
        SELECT rowid AS place, * FROM {table} AS t
        WHERE run_id NOT IN (SELECT run_id FROM kept_runs) AND NOT EXISTS (
            SELECT 1 FROM kept k WHERE k.stage = ? AND k.document_id = t.document_id
                                   AND coalesce(k.file, k.stage_key) = coalesce(t.file, t.stage_key))
    """,
    "measures": """
        CREATE OR REPLACE TEMP TABLE doomed AS
        SELECT rowid AS place, * FROM {table} AS t
        WHERE run_id NOT IN (SELECT run_id FROM kept_runs) AND NOT EXISTS (
            SELECT 1 FROM kept k WHERE k.stage = ? AND k.document_id = t.document_id AND k.measures_key = t.stage_key)
    """,
}
_SPARE = """
    DELETE FROM doomed AS d USING (
        SELECT n.document_id, n.file FROM doomed n JOIN {table} t USING (document_id, stage_key)
        WHERE n.outcome = 'ok' AND n.reason IS NOT NULL AND t.recorded_at < n.recorded_at
          AND t.rowid NOT IN (SELECT place FROM doomed)
        QUALIFY row_number() OVER (PARTITION BY document_id, stage_key ORDER BY n.recorded_at DESC) = 1
    ) AS newer
    WHERE d.document_id = newer.document_id AND d.file = newer.file
"""
"""What took the place of another output under its key (it is done and has a reason) stays as long as that one does:
else the older one would be found again."""


class Ledger:
    """Reads the ledger's files into DuckDB (compressed; it may spill) and appends to both.

    Safe to use from several threads of one process; the lake's lock keeps other writers out.
    """

    def __init__(self, folder: Path, spill: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        spill = spill or folder.parent / "cache" / "duckdb"
        self._connection = duckdb.connect(
            ":memory:", config={"memory_limit": "256MB", "threads": 1, "temp_directory": str(spill)}
        )
        self._connection.execute("ATTACH ':memory:' AS compressed (COMPRESS)")
        self._connection.execute("USE compressed")
        self._uncompressed = 0
        self._tables: dict[tuple[str, str], str] = {}
        self._connection.register("empty", LEDGER.empty_table())
        self._connection.execute("CREATE VIEW ledger AS SELECT * FROM empty")
        for path in sorted(folder.glob("*.parquet")):
            for batch in read_batches(path, LEDGER, _ROWS_AT_ONCE):
                self._append(pa.Table.from_batches([batch]))

    @classmethod
    def beside_a_run(cls, folder: Path, spill: Path) -> "Ledger":
        """Reads the ledger without its lake's lock: a run may put files together meanwhile, and it is read again then.

        Raises:
            RunError: a file is torn.
        """
        while True:
            there = sorted(folder.glob("*.parquet"))
            try:
                return cls(folder, spill)
            except RunError:
                if sorted(folder.glob("*.parquet")) == there:
                    raise

    def find(self, kind: str, stage: str, document_ids: list[str], stage_keys: list[str]) -> dict[str, dict[str, Any]]:
        """`find_rows` by document id."""
        rows = self.find_rows(kind, stage, document_ids, stage_keys)
        return {row["document_id"]: row | {"stage": stage} for row in rows.to_pylist()}

    def find_rows(self, kind: str, stage: str, document_ids: Sequence[str], stage_keys: Sequence[str]) -> pa.Table:
        """The newest row of each (document, key) that is done, in no stated order; none where nothing is done.

        Columns: `document_id`, `stage_key`, `outcome`, `reason`, `file`, `seconds`. A document is asked for once.
        """
        table = self._tables.get((kind, stage))
        if table is None or not len(document_ids):
            return _FOUND.empty_table()
        wanted = pa.table([document_ids, stage_keys], schema=_WANTED)
        query = f"""
            SELECT {", ".join(_FOUND.names)}, recorded_at FROM {table} JOIN wanted USING (document_id, stage_key)
        """  # noqa: S608
        found = self.select(query, wanted=wanted)
        if pc.count_distinct(found.column("document_id")).as_py() < found.num_rows:
            # The last row of each document is the newest one.
            found = found.sort_by("recorded_at").append_column("place", pa.array(range(found.num_rows), pa.int64()))
            newest = found.group_by("document_id").aggregate([("place", "max")]).column("place_max")
            found = found.take(newest.combine_chunks())
        return found.select(_FOUND.names).cast(_FOUND)

    def costs(self, stage: str, wanted: pa.Table, *, up_to: str) -> pa.Table:
        """Seconds and peak memory of what made these rows (`document_id`, `stage_key`, `file`) of a stage: those of the
        same file, and where there is none, of the last try up to the run `up_to`; a row per document that is known."""
        table = self._tables.get(("output", stage))
        if table is None:
            return LEDGER.empty_table().select(_COST)
        query = f"""
            SELECT {", ".join(f"l.{name}" for name in _COST)}
            FROM {table} l JOIN wanted w USING (document_id, stage_key)
            WHERE l.file = w.file OR (l.file IS NULL AND w.file IS NULL AND l.run_id <= ?)
            QUALIFY row_number() OVER (PARTITION BY l.document_id ORDER BY l.recorded_at DESC) = 1"""  # noqa: S608
        return self.select(query, [up_to], wanted=wanted)

    def select(self, query: str, parameters: list[Any] | None = None, **tables: pa.Table) -> pa.Table:
        """Any read-only query over the table `ledger` and the given Arrow tables."""
        with self._lock:
            for name, table in tables.items():
                self._connection.register(name, table)
            try:
                return self._connection.sql(query, params=parameters or []).to_arrow_table()
            finally:
                for name in tables:
                    self._connection.unregister(name)

    def record(self, rows: Iterable[dict[str, Any]], name: str) -> None:
        """Appends rows as one file called `name`; a file of that name is replaced. `recorded_at` is added here."""
        now = datetime.now(UTC)
        table = pa.Table.from_pylist([row | {"recorded_at": now} for row in rows], schema=LEDGER)
        if table.num_rows:
            write_table(table, self._folder / f"{name}.parquet", LEDGER)
            self._append(table)

    def forget(self, where: str, parameters: list[Any]) -> int:
        """Removes the rows that match a SQL condition, here and on disk; returns how many."""
        doomed = self.select(f"SELECT count(*) AS n FROM ledger WHERE {where}", parameters)  # noqa: S608
        count = int(doomed.column("n")[0].as_py())
        if count:
            with self._lock:
                for (kind, stage), table in self._tables.items():
                    view = f"(SELECT '{kind}' AS kind, '{stage}' AS stage, rowid AS place, * FROM {table})"  # noqa: S608
                    places = f"SELECT place FROM {view} WHERE {where}"  # noqa: S608
                    self._connection.execute(f"DELETE FROM {table} WHERE rowid IN ({places})", parameters)  # noqa: S608
            self.rewrite()
        return count

    def keep_only(self, run_ids: Collection[str], locations: Sequence[Path]) -> int:
        """Forgets what neither these runs recorded nor these files of `LOCATIONS` name; returns how many rows.

        What a forced stage made otherwise stays under both of its keys, also while only what it replaced is named.
        Of a document that stays and whose first row goes, a row of the kind `seen` says in which run that was.
        """
        with self._lock:
            execute = self._connection.execute
            before = self._count()
            runs = pa.table({"run_id": pa.array(sorted(run_ids), pa.string())})
            self._connection.register("kept_runs", runs)
            execute(_KEPT.format(scan=scan(locations)) if locations else _NOTHING_KEPT)
            first = "SELECT document_id, min(run_id) AS run_id FROM ledger GROUP BY document_id"
            execute(f"CREATE OR REPLACE TEMP TABLE first_seen AS {first}")
            for (kind, stage), table in list(self._tables.items()):
                if kind != SEEN:
                    execute(_DOOMED[kind].format(table=table), [stage])
                    execute(_SPARE.format(table=table))
                    execute(f"DELETE FROM {table} WHERE rowid IN (SELECT place FROM doomed)")  # noqa: S608
                    execute("DROP TABLE doomed")
            if seen_in := self._tables.get(_SEEN_AT):
                others = "SELECT document_id FROM ledger WHERE kind <> 'seen'"
                execute(f"DELETE FROM {seen_in} WHERE document_id NOT IN ({others})")  # noqa: S608
            later = f"JOIN ({first}) l USING (document_id) WHERE f.run_id < l.run_id"
            seen = self._connection.sql(f"SELECT f.* FROM first_seen f {later}").to_arrow_table()  # noqa: S608
            after = self._count()
            for name in ("kept", "first_seen"):
                execute(f"DROP TABLE {name}")
            self._connection.unregister("kept_runs")
        self._append(_seen_rows(seen))
        if after < before:
            self.rewrite()
        return before - after

    def compact(self) -> None:
        """Puts many small files together in one. A crash between the two steps leaves rows twice, which is harmless."""
        paths = sorted(self._folder.glob("*.parquet"))
        if len(paths) <= _COMPACT_OVER:
            return
        small = [path for path in paths if path.stat().st_size < _LARGE]
        write_batches(chain.from_iterable(read_batches(path, LEDGER) for path in small), self._new_file(), LEDGER)
        for path in small:
            path.unlink(missing_ok=True)

    def rewrite(self) -> None:
        """Writes all rows as one file, and removes the others; a crash between the two leaves rows twice.

        Of the rows of one key the newest stays, and of outputs that of each file, which an earlier run may name (where
        there is no file, that of each run).
        """
        old = sorted(self._folder.glob("*.parquet"))
        query = f"""SELECT {", ".join(LEDGER.names)} FROM ledger
               QUALIFY row_number() OVER (PARTITION BY kind, stage, document_id, stage_key,
                                                       CASE kind WHEN 'output' THEN coalesce(file, run_id) END
                                          ORDER BY recorded_at DESC) = 1
               ORDER BY recorded_at, stage, document_id"""  # noqa: S608
        with self._lock:
            reader = self._connection.sql(query).to_arrow_reader(_ROWS_AT_ONCE)
            batches = (pa.Table.from_batches([batch]).cast(LEDGER) for batch in reader)
            write_batches((part for table in batches for part in table.to_batches()), self._new_file(), LEDGER)
        for path in old:
            path.unlink(missing_ok=True)

    def _new_file(self) -> Path:
        return self._folder / f"compact-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.parquet"

    def _count(self) -> int:
        return int(self._connection.sql("SELECT count(*) AS n FROM ledger").to_arrow_table().column("n")[0].as_py())

    def _append(self, table: pa.Table) -> None:
        with self._lock:
            self._connection.register("added", table)
            groups = self._connection.execute("SELECT DISTINCT kind, stage FROM added ORDER BY ALL").fetchall()
            for kind, stage in groups:
                self._connection.execute(
                    f"INSERT INTO {self._table(kind, stage)} BY NAME "  # noqa: S608
                    "SELECT * EXCLUDE (kind, stage) FROM added WHERE kind = ? AND stage = ?",
                    [kind, stage],
                )
            self._connection.unregister("added")
            self._uncompressed += table.num_rows
            if self._uncompressed > _COMPRESS_AFTER:
                self._connection.execute("CHECKPOINT compressed")
                self._uncompressed = 0

    def _table(self, kind: str, stage: str) -> str:
        """The table of one kind and stage: looking a batch up must not cost what the other stages have done."""
        known = self._tables.get((kind, stage))
        if known is None:
            known = self._tables[kind, stage] = f'"{kind} {stage}"'
            self._connection.execute(f"CREATE TABLE {known} AS SELECT * EXCLUDE (kind, stage) FROM empty")  # noqa: S608
            parts = [
                f"SELECT '{kind}' AS kind, '{stage}' AS stage, * FROM {table}"  # noqa: S608
                for (kind, stage), table in self._tables.items()
            ]
            self._connection.execute(f"CREATE OR REPLACE VIEW ledger AS {' UNION ALL BY NAME '.join(parts)}")
        return known


def _seen_rows(first: pa.Table) -> pa.Table:
    shared = {
        "kind": SEEN,
        "content_sha": "",
        "stage": _SEEN_AT[1],
        "stage_key": "",
        "outcome": "ok",
        "attempt": 1,
        "recorded_at": datetime.now(UTC),
    }
    return pa.Table.from_pylist([row | shared for row in first.to_pylist()], schema=LEDGER)
