"""Quarantine: documents that a stage could not process, with the cause and what to do."""

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.ledger import QUARANTINE
from tasks.lake.files import read_table, write_table, write_text
from tasks.stage import Failure


class Quarantine:
    """All quarantine rows of a lake; appended to, never rewritten."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._attempts: Counter[tuple[str, str]] = Counter()
        for row in self.read().select(["document_id", "stage_key"]).to_pylist():
            self._attempts[row["document_id"], row["stage_key"]] += 1

    def read(self, run_id: str | None = None) -> pa.Table:
        """All rows, or those of one run."""
        pattern = "*.parquet" if run_id is None else f"{run_id}-*.parquet"
        parts = [read_table(path, QUARANTINE) for path in sorted(self._folder.glob(pattern))]
        return pa.concat_tables(parts) if parts else QUARANTINE.empty_table()

    def newest(self, stage: str, document_ids: Collection[str]) -> dict[str, dict[str, Any]]:
        """The last failure of each of these documents at a stage, by id; absent where there was none."""
        rows = self.read().filter((pc.field("stage") == stage) & pc.field("document_id").isin(list(document_ids)))
        return {row["document_id"]: row for row in rows.sort_by("recorded_at").to_pylist()}

    def keep_traceback(self, run_id: str, stage: str, document_id: str, trace: str) -> None:
        """Stores where a defect came up: places in the code and no value, since values may be a document's text."""
        write_text(self.traceback(run_id, stage, document_id), trace)

    def traceback(self, run_id: str, stage: str, document_id: str) -> Path:
        """Where the traceback of a document's defect lies, if it has one."""
        return self._folder / "tracebacks" / f"{run_id}-{stage}-{document_id}.txt"

    def record(
        self,
        run_id: str,
        stage: str,
        stage_version: int,
        part: str,
        failures: Sequence[Failure],
        keys: Mapping[str, str],
        content_shas: Mapping[str, str | None],
    ) -> dict[str, int]:
        """Appends the failures of one batch or `part` of it; returns the number of the attempt by document."""
        if not failures:
            return {}
        now = datetime.now(UTC)
        with self._lock:
            for failure in failures:
                self._attempts[failure.document_id, keys[failure.document_id]] += 1
            attempts = {f.document_id: self._attempts[f.document_id, keys[f.document_id]] for f in failures}
        rows = [
            {
                "document_id": failure.document_id,
                "content_sha": content_shas.get(failure.document_id),
                "stage": stage,
                "stage_version": stage_version,
                "stage_key": keys[failure.document_id],
                "error_class": failure.error_class,
                "message": failure.message,
                "remedy": failure.remedy,
                "transient": failure.transient,
                "attempt": attempts[failure.document_id],
                "run_id": run_id,
                "recorded_at": now,
            }
            for failure in failures
        ]
        path = self._folder / f"{run_id}-{stage}-{part}.parquet"
        write_table(pa.Table.from_pylist(rows, schema=QUARANTINE), path, QUARANTINE)
        return attempts
