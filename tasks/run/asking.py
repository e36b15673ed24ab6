"""Asking web servers before a run whether documents have changed, without taking the documents."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS
from schemas.names import Cohort, StageName
from tasks.errors import DocumentError
from tasks.fetch.http import HttpFetcher
from tasks.fetch.secrets import with_secrets
from tasks.fetch.settings import FetchSettings
from tasks.run.context import RunContext
from tasks.run.fetching import previous_fetches

_MOST = 1_000
"""Documents that are asked about; of more nobody waits for the answers."""


def ask_servers(context: RunContext, documents: pa.Table) -> pa.Table:
    """The documents (`DOCUMENTS` rows of a plan), those of which servers say so as unchanged or changed.

    A server is asked as `fetch` asks it: a conditional request by what it told of the document before (entity tag, time
    of modification), robots.txt and pace obeyed, no body read. One that told neither, fails, or sends the document with
    the same entity tag all the same has said nothing: `fetch` finds out.
    """
    settings = context.settings(StageName.FETCH)
    if not isinstance(settings, FetchSettings):
        raise TypeError(f"settings of the fetch stage are {type(settings).__name__}")
    rows = documents.to_pylist()
    unsure = [row for row in rows if row["cohort"] == Cohort.UNCHANGED and row["content_sha"] is None]
    unsure = [row for row in unsure if row["locator"].startswith(("http://", "https://"))]
    table = pa.Table.from_pylist(unsure, schema=DOCUMENTS)
    before = {row["document_id"]: row for row in previous_fetches(context, table).to_pylist()}
    unsure = [row for row in unsure if _told(before.get(row["document_id"]))][:_MOST]
    if not unsure:
        return documents
    with HttpFetcher(settings) as fetcher, ThreadPoolExecutor(settings.parallel_requests, "ask") as pool:
        said = dict(
            zip(
                [row["document_id"] for row in unsure],
                pool.map(lambda row: _ask(fetcher, row, before[row["document_id"]]), unsure),
                strict=True,
            )
        )
    return pa.Table.from_pylist([row | said.get(row["document_id"], {}) for row in rows], schema=DOCUMENTS)


def _told(before: Mapping[str, Any] | None) -> bool:
    return before is not None and bool(before["etag"] or before["last_modified"])


def _ask(fetcher: HttpFetcher, row: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    try:
        answer = fetcher.get(with_secrets(row["locator"]), before["etag"], before["last_modified"], cut_at=1)
    except DocumentError:
        return {}
    if answer.data is None:
        known = ("content_sha", "size_bytes", "media_type_declared")
        return {name: before[name] for name in known} if before["content_sha"] == row["previous_content_sha"] else {}
    return {} if answer.etag and answer.etag == before["etag"] else {"cohort": Cohort.CHANGED.value}
