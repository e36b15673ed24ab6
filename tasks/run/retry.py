"""Documents in quarantine tried again from the bytes that the lake has: no source is asked, and no scan is made.

A failure that may pass leaves no row in the ledger, so every run tries again. One that cannot pass has one, under the
key of its bytes, settings and stage; taken out, the document is tried once more. The record of all attempts stays in
quarantine.
"""

from collections.abc import Collection

import pyarrow as pa

from schemas.names import Cohort, Outcome
from tasks.errors import ConfigurationError
from tasks.fetch.listed import Listed
from tasks.lake.ledger import Ledger


def forget_failures(ledger: Ledger, document_ids: Collection[str]) -> int:
    """Takes the failures of these documents out of the ledger, at whatever stage; returns how many there were."""
    return ledger.forget("outcome = ? AND list_contains(?, document_id)", [str(Outcome.QUARANTINED), [*document_ids]])


def listed_before(known: pa.Table) -> list[Listed]:
    """The documents seen so far (`Runs.known_documents`), as their sources would list them if nothing had changed.

    Raises:
        ConfigurationError: there are none.
    """
    if not known.num_rows:
        raise ConfigurationError(
            "no scan of the sources has finished in this lake yet, so there are no documents to try again",
            remedy="run the pipeline first: `corpusgate run`",
        )
    return [
        Listed(
            source=row["source"],
            uri=row["uri"],
            locator=row["locator"],
            media_type_declared=row["media_type_declared"],
            size_bytes=row["size_bytes"],
            commit_time=row["commit_time"],
            content_sha=row["content_sha"],
            version=row["source_version"],
        )
        for row in known.to_pylist()
        if row["cohort"] not in (Cohort.DELETED, Cohort.RETAINED)
    ]
