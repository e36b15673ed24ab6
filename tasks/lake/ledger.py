"""The ledger: what is done, for which bytes, under which key. What it does not name does not exist."""

import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from schemas.ledger import LEDGER
from tasks.errors import RunError
from tasks.lake.files import read_table, write_table

_COMPACT_OVER = 64
_COMPRESS_AFTER = 20_000
"""Rows that lie uncompressed at most; compressed they take about an eighth."""
_WANTED = pa.schema([("document_id", pa.string()), ("stage_key", pa.string())])


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
        self._connection.register("empty", LEDGER.empty_table())
        self._connection.execute("CREATE TABLE ledger AS SELECT * FROM empty")
        for path in sorted(folder.glob("*.parquet")):
            self._append(read_table(path, LEDGER))

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
        """The newest row of each (document, key) that is done, by document id; absent where nothing is done."""
        wanted = pa.table([document_ids, stage_keys], schema=_WANTED)
        query = """
            SELECT l.* FROM ledger l JOIN wanted w USING (document_id, stage_key)
            WHERE l.kind = ? AND l.stage = ? ORDER BY l.recorded_at
        """
        return {row["document_id"]: row for row in self._rows(query, [kind, stage], wanted=wanted)}

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
                self._connection.execute(f"DELETE FROM ledger WHERE {where}", parameters)  # noqa: S608
            self.compact(always=True)
        return count

    def compact(self, *, always: bool = False) -> None:
        """Rewrites many small files as one. A crash between the two steps leaves rows twice, which is harmless.

        Of the rows of one key the newest stays, and of outputs that of each file, which an earlier run may name (where
        there is no file, that of each run).
        """
        old = sorted(self._folder.glob("*.parquet"))
        if not always and len(old) <= _COMPACT_OVER:
            return
        table = self.select(
            """SELECT * FROM ledger
               QUALIFY row_number() OVER (PARTITION BY kind, stage, document_id, stage_key,
                                                       CASE kind WHEN 'output' THEN coalesce(file, run_id) END
                                          ORDER BY recorded_at DESC) = 1
               ORDER BY recorded_at, stage, document_id"""
        ).cast(LEDGER)
        target = self._folder / f"compact-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.parquet"
        write_table(table, target, LEDGER)
        for path in old:
            path.unlink(missing_ok=True)

    def _rows(self, query: str, parameters: list[Any], **tables: pa.Table) -> list[dict[str, Any]]:
        return list(self.select(query, parameters, **tables).to_pylist())

    def _append(self, table: pa.Table) -> None:
        with self._lock:
            self._connection.register("added", table)
            self._connection.execute("INSERT INTO ledger SELECT * FROM added")
            self._connection.unregister("added")
            self._uncompressed += table.num_rows
            if self._uncompressed > _COMPRESS_AFTER:
                self._connection.execute("CHECKPOINT compressed")
                self._uncompressed = 0
