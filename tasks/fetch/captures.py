"""Web archives: each page that was captured with status 200 as a document by its URL."""

from collections.abc import Iterator
from datetime import UTC, datetime

from tasks.fetch.containers import scan
from tasks.fetch.listed import Listed, Skips, not_ahead
from tasks.fetch.places import Part, PartKind, Refused, locator_of
from tasks.fetch.records import containers
from tasks.fetch.settings import FetchSettings
from tasks.fetch.sources import WarcSource
from tasks.fetch.urls import canonical_url


def list_captures(source: WarcSource, settings: FetchSettings, skips: Skips) -> Iterator[Listed]:
    """The newest capture of each URL in the source's archives, hashed.

    Raises:
        ConfigurationError: an archive is damaged or ends early.
    """
    newest: dict[str, Listed] = {}
    now = datetime.now(UTC)
    for found, path in containers(source, skips):
        arguments = [str(path), {"max_ratio": settings.max_archive_ratio, "max_bytes": settings.max_bytes}]
        for row in scan("tasks.fetch.warcs:scan", arguments, source.name, found.uri, settings):
            uri = None if row["skipped"] else canonical_url(row["url"])
            if uri is None:
                skips.add(source.name, row["skipped"] or "not a web address")
                continue
            captured = None if row["captured"] is None else datetime.fromisoformat(row["captured"])
            captured = not_ahead(captured, now)
            refused = row["refused"]
            place = (
                Refused(refused[0], f"the record at byte {row['position']:,} {refused[1]}", refused[2])
                if refused
                else Part(PartKind.WARC, str(path), row["position"])
            )
            before = newest.get(uri)
            if before is not None:
                skips.add(source.name, "older capture of a URL")
                if _time(before) > (captured or datetime.min.replace(tzinfo=UTC)):
                    continue
            newest[uri] = Listed(
                source.name, uri, locator_of(place), row["media_type"], row["size"], captured, row["sha"]
            )
    yield from newest.values()


def _time(listed: Listed) -> datetime:
    return listed.commit_time or datetime.min.replace(tzinfo=UTC)
