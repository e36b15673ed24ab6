"""The runs of a lake: ids that sort by time, manifests, the plan of the last scan and of what is live."""

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import DOCUMENTS, LOCATIONS
from tasks.errors import ConfigurationError
from tasks.lake.files import read_table, write_json, write_table
from tasks.lake.layout import Lake

_SECOND = "%Y%m%dt%H%M%S"
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


def new_run_id(now: datetime) -> str:
    """A run id that sorts by time: `20261130t021500-k3v9`."""
    return f"{now:{_SECOND}}-" + "".join(secrets.choice(_CROCKFORD) for _ in range(4))


@dataclass(frozen=True, slots=True)
class Runs:
    """Reads and writes the run folders of a lake."""

    lake: Lake

    def ids(self) -> list[str]:
        """All runs, oldest first."""
        return sorted(path.parent.name for path in self.lake.runs.glob("*/manifest.json"))

    def new_id(self, now: datetime) -> str:
        """An id that sorts after those of all runs so far, also where the clock has jumped back since."""
        newest = max((run_id.partition("-")[0] for run_id in self.ids()), default="")
        if f"{now:{_SECOND}}" <= newest:
            now = datetime.strptime(newest, _SECOND).replace(tzinfo=UTC) + timedelta(seconds=1)
        return new_run_id(now)

    def resolve(self, name: str) -> str:
        """A run by its id, an unambiguous beginning of it, or `last`: the newest run that can be read.

        That is one that got to its gate, not one that is still going on or broke off; where none did, the newest.

        Raises:
            ConfigurationError: there is no such run, or more than one.
        """
        ids = self.ids()
        if name == "last":
            found = next(([i] for i in reversed(ids) if self._is_over(i) and self.is_readable(i)), ids[-1:])
        else:
            found = [i for i in ids if i == name] or [i for i in ids if i.startswith(name)]
        if len(found) == 1:
            return found[0]
        recent = ", ".join(reversed(ids[-5:])) or "none yet"
        raise ConfigurationError(
            f"{'no' if not found else 'more than one'} run matches {name!r} in {self.lake.root}",
            remedy=f"give a run id or `last`; the newest runs are: {recent}",
        )

    def is_readable(self, run_id: str) -> bool:
        """Whether a run recorded where the rows of its documents are, as it does before it is judged."""
        return (self.lake.run(run_id) / "locations.parquet").exists()

    def _is_over(self, run_id: str) -> bool:
        return self.manifest(run_id).get("status") != "running"

    def manifest(self, run_id: str) -> dict[str, Any]:
        """What is recorded of a run."""
        manifest: dict[str, Any] = json.loads((self.lake.run(run_id) / "manifest.json").read_text(encoding="utf-8"))
        return manifest

    def configuration_file(self, run_id: str) -> Path | None:
        """The configuration that a run was started with, as it was named then; null where nobody recorded it."""
        name = self.manifest(run_id).get("configuration_file")
        return None if name is None else Path(name)

    def update(self, run_id: str, **facts: Any) -> dict[str, Any]:
        """Adds facts to a run's manifest, atomically."""
        path = self.lake.run(run_id) / "manifest.json"
        manifest = (self.manifest(run_id) if path.exists() else {"run_id": run_id}) | facts
        write_json(path, manifest)
        return manifest

    def mark_killed(self) -> None:
        """Runs that still say `running` are so no more: to be called by whoever holds the lake, before a new run."""
        for run_id in reversed(self.ids()):
            if self.manifest(run_id).get("status") != "running":
                return
            self.update(run_id, status="killed")

    def last_scan(self, before: str | None = None) -> str | None:
        """The newest run whose scan of all sources finished, or null."""
        for run_id in reversed(self.ids()):
            if before is not None and run_id >= before:
                continue
            if self.manifest(run_id).get("scan_finished_at"):
                return run_id
        return None

    def known_documents(self, before: str | None = None) -> pa.Table:
        """`DOCUMENTS` rows of all documents that the last finished scan saw, as later partial runs saw them."""
        last = self.last_scan(before)
        known = self.plan(last)
        for run_id in self.ids():
            later = (last is None or run_id > last) and (before is None or run_id < before)
            if later and self.manifest(run_id).get("partial_scan_finished_at"):
                newer = self.plan(run_id)
                older = pc.is_in(known.column("document_id"), newer.column("document_id").combine_chunks())
                known = pa.concat_tables([known.filter(pc.invert(older)), newer])
        return known

    def plan(self, run_id: str | None) -> pa.Table:
        """The documents of a run; empty where there is no run."""
        if run_id is None:
            return DOCUMENTS.empty_table()
        return read_table(self.lake.run(run_id) / "plan.parquet", DOCUMENTS)

    def write_plan(self, run_id: str, plan: pa.Table) -> None:
        """Stores the plan of a run."""
        write_table(plan.sort_by("document_id"), self.lake.run(run_id) / "plan.parquet", DOCUMENTS)

    def measured_as(self, run_id: str, baseline: str) -> str:
        """Under which name the measures of a run's baseline lie that were taken as those of the run were."""
        return str(self.manifest(run_id).get("measured_as", {}).get(baseline, baseline))

    def measured_within(self, run_id: str) -> list[str]:
        """The names under which a run keeps the measures of its baselines."""
        return sorted(f"{run_id}/{path.parent.name}" for path in self.lake.run(run_id).glob("*/manifest.json"))

    def locations(self, run_id: str) -> pa.Table:
        """Where each document's rows of each stage are, as this run saw it."""
        return read_table(self.lake.run(run_id) / "locations.parquet", LOCATIONS)


def timestamp(value: str | None) -> datetime | None:
    """A manifest's time as a datetime."""
    return datetime.fromisoformat(value).astimezone(UTC) if value else None
