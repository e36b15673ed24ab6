"""A document as its source shows it, before it is taken in."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tasks.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Listed:
    """A document as its source shows it. With an `error` it could not be looked at, but it exists.

    `uri` is the path below the root (with /), the canonical URL or `<file>#<id>`, `locator` where `fetch` reads it.
    Bytes of a file name that are not text are written as `portable_name` does. `commit_time` is when the source
    committed the content. `version` is what a source tells about the content without showing it (an entity tag, a
    time and a size): while it stays the same the bytes do.
    """

    source: str
    uri: str
    locator: str
    media_type_declared: str | None = None
    size_bytes: int | None = None
    commit_time: datetime | None = None
    content_sha: str | None = None
    error: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Skips:
    """What sources hold that is no document, counted by (source, reason)."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, source: str, reason: str) -> None:
        """One thing more that a source passed over."""
        self.counts[source, reason] += 1

    def by_source(self) -> dict[str, dict[str, int]]:
        """{source: {reason: how many}}, sorted."""
        found: dict[str, dict[str, int]] = {}
        for (source, reason), count in sorted(self.counts.items()):
            found.setdefault(source, {})[reason] = count
        return found


def not_ahead(time: datetime | None, now: datetime) -> datetime | None:
    """A commit time that is not in the future: up to a day ahead is another clock or zone, more is nonsense."""
    if time is None or time > now + timedelta(days=1):
        return None
    return min(time, now)


def cannot_list(source: str, what: str, remedy: str) -> ConfigurationError:
    """The error for a source that cannot be listed to its end."""
    return ConfigurationError(f"source {source!r}: {what}", remedy=f"{remedy}; nothing was taken as deleted")
