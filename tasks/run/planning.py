"""The plan: what the sources hold now, who each document is, and how it relates to what is live."""

import hashlib
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS
from schemas.names import Cohort
from tasks.fetch.listed import Listed, Skips
from tasks.fetch.listing import list_source
from tasks.fetch.places import Part, place_of
from tasks.fetch.sources import Source
from tasks.globs import path_glob
from tasks.lake.erased import NOTHING_ERASED, Erased, place_digest
from tasks.run.configuration import AccessRule, Configuration, PathRule

UNCLASSIFIED = "unclassified"

STILL_BATCHES = 8


def make_plan(
    configuration: Configuration,
    known: pa.Table,
    live: pa.Table,
    skips: Skips | None = None,
    sources: Sequence[Source] | None = None,
    erased: Erased = NOTHING_ERASED,
    listed: Iterable[Listed] | None = None,
) -> pa.Table:
    """Lists the sources and gives every document its id, class, access scope and cohort.

    Args:
        configuration: sources, class rules and access rules.
        known: the documents seen so far (`Runs.known_documents`), whose ids are kept (empty on a first run).
        live: the plan behind the live generation, against which cohorts are told (empty where nothing is live).
        skips: where what the sources hold besides documents is counted.
        sources: those to list where not all are wanted; documents of the others then look deleted.
        erased: what is not taken in again; it is counted among the skips, as `erased`.
        listed: what the sources are taken to hold; they are then not asked.

    Returns:
        `DOCUMENTS` rows sorted by id, deleted and retained documents included.

    Raises:
        ConfigurationError: a source cannot be listed; nothing is then taken for deleted.
    """
    skips = skips or Skips()
    if listed is None:
        asked = configuration.sources if sources is None else sources
        listed = chain.from_iterable(list_source(source, configuration.stages.fetch, skips) for source in asked)
    listed = list(listed)
    names = [(item.source, item.uri, item.locator) for item in listed]
    known, live = named_again(known, names), named_again(live, names)
    before = [
        # Two paths may read alike once redacted; their digests do not.
        row | ({"uri": row["place"]} if row["place"] else {})
        for row in known.to_pylist()
        if row["cohort"] != Cohort.DELETED
    ]
    seen = {(row["source"], row["uri"]): row for row in before if row["source_version"] and row["content_sha"]}
    found = [_recognised(item, seen.get((item.source, item.uri))) for item in listed]
    found = _not_erased(found, erased, {(row["source"], row["uri"]) for row in before}, skips)
    ids = assign_ids([(item.source, item.uri, item.content_sha) for item in found], before)
    live_rows = {row["document_id"]: row for row in live.to_pylist() if row["cohort"] != Cohort.DELETED}
    rows = [
        _row(configuration, item, document_id, live_rows.get(document_id))
        for item, document_id in zip(found, ids, strict=True)
    ]
    present = set(ids)
    retaining = {source.name for source in configuration.sources if source.on_source_removed == "retain"}
    rows += [_gone(row, retaining) for document_id, row in live_rows.items() if document_id not in present]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["document_id"]), schema=DOCUMENTS)


def named_again(documents: pa.Table, names: Iterable[tuple[str, str, str]]) -> pa.Table:
    """Documents whose paths the lake does not keep (`place`), under the names (source, path, locator) that their
    sources give, so that their bytes can be asked for.

    One that no name is given of stays as the lake has it.
    """
    if documents.column("place").null_count == documents.num_rows:
        return documents
    of_place = {place_digest(source, uri): (uri, locator) for source, uri, locator in names}
    rows = documents.to_pylist()
    for row in rows:
        if (found := of_place.get(row["place"])) is not None:
            row |= {"uri": found[0], "locator": found[1], "place": None}
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


def _recognised(item: Listed, before: dict[str, Any] | None) -> Listed:
    """A document whose source tells the same version as at the last scan has the bytes that it had then."""
    if before is None or item.version is None or item.content_sha is not None:
        return item
    if item.version != before["source_version"]:
        return item
    return replace(
        item,
        content_sha=before["content_sha"],
        size_bytes=before["size_bytes"],
        media_type_declared=before["media_type_declared"],
    )


def _not_erased(listed: list[Listed], erased: Erased, known: Container[tuple[str, str]], skips: Skips) -> list[Listed]:
    if not erased.tombstones:
        return listed
    kept = []
    for item in listed:
        if erased.withholds(item.source, item.uri, item.content_sha, known=(item.source, item.uri) in known):
            skips.add(item.source, "erased")
        else:
            kept.append(item)
    return kept


def assign_ids(found: Sequence[tuple[str, str, str | None]], known: Iterable[dict[str, Any]]) -> list[str]:
    """Document ids for (source, uri, content_sha) triples.

    A path that was known keeps its id. A new path with the bytes of a document whose path is gone is a move and
    takes over that document's id (several of them pair up in the order of their paths). Every other new path gets
    the hash of `source:uri`, numbered where that id is taken by a document that has moved away.
    """
    by_place = {(row["source"], row["uri"]): row for row in known}
    places = {(source, uri) for source, uri, _ in found}
    gone: dict[tuple[str, str], list[str]] = defaultdict(list)
    for place in sorted(by_place.keys() - places):
        row = by_place[place]
        if row["content_sha"]:
            gone[place[0], row["content_sha"]].append(row["document_id"])
    ids: dict[tuple[str, str], str] = {}
    for source, uri, sha in sorted(found, key=lambda item: item[:2]):
        if (source, uri) in by_place:
            ids[source, uri] = by_place[source, uri]["document_id"]
        elif sha and gone[source, sha]:
            ids[source, uri] = gone[source, sha].pop(0)
    taken = set(ids.values())
    for source, uri, _ in sorted(found, key=lambda item: item[:2]):
        if (source, uri) not in ids:
            number = 1
            while (document_id := document_hash(source, uri, number)) in taken:
                number += 1
            ids[source, uri] = document_id
            taken.add(document_id)
    return [ids[source, uri] for source, uri, _ in found]


def document_hash(source: str, uri: str, number: int = 1) -> str:
    """An opaque id that is the same on every machine and leaks no name."""
    place = f"{source}:{uri}" if number == 1 else f"{source}:{uri}#{number}"
    return "doc-" + hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def matches(rule: PathRule, source: str, uri: str) -> bool:
    """Whether a rule's source and path glob fit a document; `**` crosses folders, `*` does not."""
    return (rule.source is None or rule.source == source) and path_glob(rule.path).fullmatch(uri) is not None


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Documents of one batch, by position in the plan."""

    number: int
    documents: pa.Table


def split_batches(plan: pa.Table, batch_size: int, *, done_before: bool = False) -> list[BatchPlan]:
    """Batches of at most `batch_size` documents, at least four where there are documents enough.

    Documents that are new or changed come first, so that they travel together; deleted ones travel nowhere. Parts of
    one file come in their order, so that a batch reads one stretch of it. Where the stages are those of the run before
    (`done_before`), nothing is to be done for an unchanged document but to look it up: then those travel in batches of
    their own, `STILL_BATCHES` times as large, and changed ones in batches as small as they need be.
    """
    rows = plan.filter(pa.array([cohort != Cohort.DELETED for cohort in plan.column("cohort").to_pylist()], pa.bool_()))
    still = [
        cohort in (Cohort.UNCHANGED, Cohort.MOVED, Cohort.RETAINED) for cohort in rows.column("cohort").to_pylist()
    ]
    parts = [_part(locator) for locator in rows.column("locator").to_pylist()]
    order = sorted(range(rows.num_rows), key=lambda i: (still[i], *parts[i], i))
    rows = rows.take(pa.array(order, pa.int64()))
    size = max(1, min(batch_size, -(-rows.num_rows // 4)))
    moving = len(still) - sum(still) if done_before else rows.num_rows
    cuts = [(start, min(size, moving - start)) for start in range(0, moving, size)]
    large = batch_size * STILL_BATCHES
    cuts += [(start, min(large, rows.num_rows - start)) for start in range(moving, rows.num_rows, large)]
    return [BatchPlan(number, rows.slice(start, length)) for number, (start, length) in enumerate(cuts, start=1)]


def _part(locator: str) -> tuple[str, int]:
    place = place_of(locator)
    return (place.container, place.position) if isinstance(place, Part) else ("", 0)


def _row(configuration: Configuration, item: Listed, document_id: str, live: dict[str, Any] | None) -> dict[str, Any]:
    access = next((rule for rule in configuration.access if matches(rule, item.source, item.uri)), AccessRule())
    doc_class = next(
        (rule.doc_class for rule in configuration.classes if matches(rule, item.source, item.uri)), UNCLASSIFIED
    )
    return {
        "document_id": document_id,
        "source": item.source,
        "uri": item.uri,
        "locator": item.locator,
        "media_type_declared": item.media_type_declared,
        "doc_class": doc_class,
        "tenant": access.tenant,
        "groups": sorted(access.groups),
        "content_sha": item.content_sha,
        "size_bytes": item.size_bytes,
        "commit_time": item.commit_time,
        "cohort": _cohort(item, live),
        "previous_content_sha": live["content_sha"] if live else None,
        "previous_uri": live["uri"] if live else None,
        "source_version": item.version,
        "place": None,
    }


def _cohort(item: Listed, live: dict[str, Any] | None) -> Cohort:
    if live is None:
        return Cohort.NEW
    if item.content_sha is not None and item.content_sha != live["content_sha"]:
        return Cohort.CHANGED
    if item.uri != live["uri"]:
        return Cohort.MOVED
    return Cohort.UNCHANGED


def _gone(live: dict[str, Any], retaining: Set[str]) -> dict[str, Any]:
    """What nobody ever had the bytes of cannot be retained."""
    retained = live["source"] in retaining and live["content_sha"] is not None
    return as_in_live(live, Cohort.RETAINED if retained else Cohort.DELETED)


def as_in_live(live: dict[str, Any], cohort: Cohort) -> dict[str, Any]:
    """The row of a document that is not looked at now: as it was in the run that made live."""
    return live | {"cohort": cohort, "previous_content_sha": live["content_sha"], "previous_uri": live["uri"]}
