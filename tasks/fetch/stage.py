"""Takes documents from their sources: bytes into the raw store, and what is known about them into a row."""

import hashlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

from schemas.names import StageName
from schemas.stages import FETCH
from tasks.documents.sniff import declared_type, sniff
from tasks.errors import DocumentError
from tasks.fetch.containers import Taken, changed, take
from tasks.fetch.evaluator import evaluate, facts
from tasks.fetch.http import HttpFetcher
from tasks.fetch.local import read_file
from tasks.fetch.places import Part, Place, Refused, StoreObject, place_of
from tasks.fetch.secrets import with_secrets
from tasks.fetch.settings import FetchSettings
from tasks.fetch.stores import read_object
from tasks.stage import Batch, Cost, DocumentRow, RawBytes, Resources, Stage, StageOutput, documents_loop


def run(batch: Batch, settings: FetchSettings, resources: Resources) -> StageOutput:
    """Fetches each document of the batch; several from the web and from stores at the same time.

    `batch.tables[FETCH]`, where the caller gives it, holds the previous FETCH rows of some of these documents:
    with them a server is asked only whether its document has changed.
    """
    previous = _previous_rows(batch)
    rows = batch.documents.to_pylist()
    places = {row["document_id"]: place_of(row["locator"]) for row in rows}
    parts = {document_id: place for document_id, place in places.items() if isinstance(place, Part)}
    costs: dict[str, Cost] = {}
    with ExitStack() as stack:
        pending: dict[str, Future[DocumentRow]] = {}
        if any(_is_remote(row, places[row["document_id"]]) for row in rows):
            fetcher = stack.enter_context(HttpFetcher(settings))
            pool = stack.enter_context(ThreadPoolExecutor(settings.parallel_requests, "fetch"))
            for row in rows:
                document_id, place = row["document_id"], places[row["document_id"]]
                if isinstance(place, StoreObject):
                    fetch = _timed(costs, document_id, _fetch_object)
                    pending[document_id] = pool.submit(fetch, row, place, settings, resources.raw)
                elif _is_remote(row, place):
                    fetch = _timed(costs, document_id, _fetch_url)
                    pending[document_id] = pool.submit(fetch, row, previous.get(document_id), fetcher, resources.raw)
        taken = _take(parts, stack, settings, resources)

        def fetch_one(document: DocumentRow, _: object) -> DocumentRow:
            document_id = document["document_id"]
            place = places[document_id]
            if isinstance(place, Refused):
                raise place.error()
            if document_id in taken:
                return _fetch_part(document, taken[document_id], resources.raw)
            future = pending.get(document_id)
            return future.result() if future else _fetch_file(document, settings, resources.raw)

        output = documents_loop(replace(batch, tables={}), FETCH, fetch_one)
    shares = {document_id: Cost(part.seconds, part.peak_rss_bytes) for document_id, part in taken.items()}
    return replace(output, costs={**output.costs, **costs, **shares})


def _take(
    parts: Mapping[str, Part], stack: ExitStack, settings: FetchSettings, resources: Resources
) -> dict[str, Taken]:
    if not parts:
        return {}
    resources.cache_dir.mkdir(parents=True, exist_ok=True)
    folder = stack.enter_context(TemporaryDirectory(prefix="fetch-", dir=resources.cache_dir))
    return take(parts, Path(folder), resources.cache_dir / "unpacked", settings)


def _previous_rows(batch: Batch) -> dict[str, DocumentRow]:
    table = batch.tables.get(StageName.FETCH)
    return {} if table is None else {row["document_id"]: row for row in table.to_pylist()}


def _is_remote(document: DocumentRow, place: Place | None) -> bool:
    return isinstance(place, StoreObject) or str(document["locator"]).startswith(("http://", "https://"))


def _timed(costs: dict[str, Cost], document_id: str, fetch: Callable[..., DocumentRow]) -> Callable[..., DocumentRow]:
    def timed(*arguments: Any) -> DocumentRow:
        started = time.perf_counter()
        try:
            return fetch(*arguments)
        finally:
            costs[document_id] = Cost(time.perf_counter() - started)

    return timed


def _fetch_file(document: DocumentRow, settings: FetchSettings, raw: RawBytes) -> DocumentRow:
    declared = document["media_type_declared"]
    return _row(document, read_file(document["locator"], settings.max_bytes), declared, declared, raw)


def _fetch_object(document: DocumentRow, place: StoreObject, settings: FetchSettings, raw: RawBytes) -> DocumentRow:
    declared = document["media_type_declared"]
    return _row(document, read_object(place, settings), declared, declared, raw)


def _fetch_part(document: DocumentRow, taken: Taken, raw: RawBytes) -> DocumentRow:
    if taken.error is not None:
        raise taken.error
    if taken.file is None:
        raise AssertionError("a part has bytes or an error")
    data, declared = taken.file.read_bytes(), document["media_type_declared"]
    if taken.hashed and hashlib.sha256(data).hexdigest() != document["content_sha"]:
        raise changed()
    hint = declared or declared_type(unquote(urlsplit(document["uri"]).path))
    return _row(document, data, declared, hint, raw)


def _fetch_url(document: DocumentRow, previous: DocumentRow | None, fetcher: HttpFetcher, raw: RawBytes) -> DocumentRow:
    url = document["locator"]
    if previous is None:
        answer = fetcher.get(with_secrets(url))
    else:
        answer = fetcher.get(with_secrets(url), previous["etag"], previous["last_modified"])
    source = {
        "etag": answer.etag,
        "last_modified": answer.last_modified,
        # A sitemap's time is about the page's content; a server's is often that of its answer.
        "commit_time": None if document["commit_time"] else answer.commit_time,
        "http_status": answer.status,
    }
    if answer.data is not None:
        declared = answer.media_type or document["media_type_declared"]
        hint = declared or declared_type(unquote(urlsplit(url).path))
        return _row(document, answer.data, declared, hint, raw) | source
    # A 304 may repeat the validators or leave them out.
    repeated = {name: value for name, value in source.items() if value is not None}
    return (previous or {}) | repeated | {"unchanged": True}


def _row(document: DocumentRow, data: bytes, declared: str | None, hint: str | None, raw: RawBytes) -> DocumentRow:
    if not data:
        raise DocumentError(
            "empty", "the document has no bytes", remedy="fill it at its source, or take it out of the source"
        )
    content_sha = raw.write(data)
    return {
        "content_sha": content_sha,
        "media_type": sniff(data, hint),
        "media_type_declared": declared,
        "size_bytes": len(data),
        "unchanged": document["previous_content_sha"] == content_sha,
    }


def fingerprint(_: FetchSettings) -> Mapping[str, str]:
    """Nothing but our own code shapes a row; its version is the stage's."""
    return {}


STAGE = Stage(
    name=StageName.FETCH,
    version=3,
    reads=(),
    writes=FETCH,
    settings=FetchSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=1,
    evaluate=evaluate,
    context=("media_type_declared",),
    facts=facts,
)
