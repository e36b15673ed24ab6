"""Whether sources look as they did: a digest over their listings that reads no document."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks.fetch.folders import Found, existing_root, find_files, not_a_file
from tasks.fetch.listed import Skips
from tasks.fetch.listing import list_source
from tasks.fetch.settings import FetchSettings
from tasks.fetch.sources import FolderSource, Source


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How sources look: equal digests mean that nothing is seen to have changed. `listed` counts files and objects."""

    digest: str
    listed: int


def look_at(sources: Sequence[Source], settings: FetchSettings) -> Snapshot:
    """Looks at all sources, in memory that does not grow with them.

    Of files on this machine names, sizes, times and file numbers count; of stores and sitemaps what they tell of a
    version. Pages named by URL alone have none: that such a page changed is only seen by a run.

    Raises:
        ConfigurationError: a source cannot be listed to its end.
    """
    digest, listed = hashlib.sha256(), 0
    for source in sources:
        for line in _lines(source, settings):
            digest.update(line.encode("utf-8", "surrogateescape") + b"\0\n")
            listed += 1
    return Snapshot(digest.hexdigest(), listed)


def _lines(source: Source, settings: FetchSettings) -> Iterator[str]:
    if isinstance(source, FolderSource):
        root = existing_root(source)
        for found in find_files(source, Skips()):
            yield f"{source.name}\0{found.uri}\0{_looks(found, error=not_a_file(found, root))}"
        return
    for item in list_source(source, settings, Skips()):
        yield f"{source.name}\0{item.uri}\0{item.version or (item.size_bytes, item.commit_time)}\0{item.error or ''}"


def _looks(found: Found, *, error: str | None) -> str:
    if error is not None:
        return error
    try:
        status = found.target.stat()
    except OSError as raised:
        return f"cannot be read: {raised.strerror}"
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"
