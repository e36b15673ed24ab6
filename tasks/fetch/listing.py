"""What a source holds: one `Listed` per document, without taking the document in.

The planner calls this; it must see every document or fail, because what it does not see counts as deleted.
"""

from collections.abc import Iterator

from tasks.fetch.captures import list_captures
from tasks.fetch.folders import list_files
from tasks.fetch.listed import Listed, Skips
from tasks.fetch.records import list_records
from tasks.fetch.settings import FetchSettings
from tasks.fetch.sources import FileSource, FsspecSource, HttpSource, RecordsSource, Source, WarcSource
from tasks.fetch.stores import list_objects
from tasks.fetch.urls import list_urls


def list_source(source: Source, settings: FetchSettings, skips: Skips) -> Iterator[Listed]:
    """The documents of a source, always in the same order. What is on this machine is hashed, the rest not fetched.

    What a source holds that is no document is counted in `skips`.

    Raises:
        ConfigurationError: a folder, a store, a list of URLs, a sitemap or an archive cannot be read to its end, or a
            URL is not one. An unfinished listing must never look like a finished one.
    """
    match source:
        case FileSource():
            return list_files(source, skips)
        case HttpSource():
            return list_urls(source, settings, skips)
        case FsspecSource():
            return list_objects(source, settings, skips)
        case RecordsSource():
            return list_records(source, settings, skips)
        case WarcSource():
            return list_captures(source, settings, skips)
