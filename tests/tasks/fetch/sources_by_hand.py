"""A source through planning and fetch, in one process and without the later stages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from schemas.names import StageName
from schemas.stages import FETCH
from tasks.lake.files import read_table
from tasks.run.fetching import run_fetch
from tasks.run.session import Session
from tests.tasks.run.runs_by_hand import started


class Scan:
    """One finished scan: what the plan says of each document, and what fetch made of it.

    `between` is done after the plan and before the fetch.
    """

    def __init__(
        self,
        lake: Path,
        number: int,
        source: dict[str, Any],
        between: Callable[[], None] | None = None,
        **settings: Any,
    ) -> None:
        self.session: Session = started(lake, number, [{"name": "s"} | source], fetch=settings)
        planned = self.session.plan()
        if between is not None:
            between()
        batches = [run_fetch(self.session.context, batch) for batch in planned]
        self.session.close_scan(batches)
        run_id = self.session.context.run_id
        self.plan = {row["uri"]: row for row in self.session.runs.plan(run_id).to_pylist()}
        uris = {row["document_id"]: uri for uri, row in self.plan.items()}
        self.places: dict[str, dict[str, Any]] = {
            uris[row["document_id"]]: row
            for batch in batches
            for row in batch.read_locations(StageName.FETCH).to_pylist()
        }

    @property
    def outcomes(self) -> dict[str, str]:
        """`ok`, or the class of the error, by the document's path."""
        return {uri: row["reason"] or row["outcome"] for uri, row in self.places.items()}

    @property
    def computed(self) -> set[str]:
        """The documents that this scan really fetched."""
        return {uri for uri, row in self.places.items() if row["computed"]}

    def bytes_of(self, uri: str) -> bytes:
        """A document's bytes in the lake."""
        return self.session.context.resources.raw.read(self.plan[uri]["content_sha"])

    def row(self, uri: str) -> dict[str, Any]:
        """A document's row of fetch."""
        place = self.places[uri]
        file = self.session.context.lake.root / place["file"]
        [row] = read_table(file, FETCH, document_ids=[place["document_id"]]).to_pylist()
        return dict(row)

    @property
    def skipped(self) -> dict[str, int]:
        """What the source passed over, by reason."""
        manifest = self.session.runs.manifest(self.session.context.run_id)
        found: dict[str, int] = manifest["skipped"].get("s", {})
        return found

    def message(self, uri: str) -> str:
        """What quarantine says about a document."""
        rows = self.session.context.quarantine.read(self.session.context.run_id).to_pylist()
        [said] = [row["message"] for row in rows if row["document_id"] == self.plan[uri]["document_id"]]
        return str(said)
