"""Objects of a store that fsspec knows: listing them and reading one.

Keys and endpoints come from the environment (fsspec's own variables and those of the store's library), never from the
configuration. What a store raises is named by its class alone: its text may quote a key.
"""

import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import IO, Any

from tasks.documents.sniff import declared_type
from tasks.errors import ConfigurationError, DocumentError
from tasks.fetch.containers import scan
from tasks.fetch.folders import Patterns
from tasks.fetch.listed import Listed, Skips, cannot_list, not_ahead
from tasks.fetch.local import portable_name, too_large
from tasks.fetch.places import Part, PartKind, Refused, StoreObject, locator_of
from tasks.fetch.settings import FetchSettings
from tasks.fetch.sources import FsspecSource

_CLOUD = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl"}
_CACHES = {"simplecache", "filecache", "blockcache"}
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")
_TAGS = ("ETag", "etag", "md5Hash", "generation")
_SETTLED = timedelta(seconds=2)
_CHUNK = 1 << 20
_LEAD_OUT = Refused(
    "path_escape",
    "its name leads out of the folder or archive that it stands in",
    "give it a plain relative name, or leave it out with `exclude`",
)


def list_objects(source: FsspecSource, settings: FetchSettings, skips: Skips) -> Iterator[Listed]:
    """Each object of the store as a document, not read; of a `zip::` URL each member of the archive.

    Raises:
        ConfigurationError: the store has no library here, does not answer, or refuses; the archive is damaged.
    """
    head, *rest = source.url.split("::")
    if head in ("zip", "zip://"):
        yield from _list_members(source, "::".join(rest), settings)
        return
    file_system, root = _open_store(source.url)
    file_system.invalidate_cache()  # a listing of an earlier run is no listing
    patterns = Patterns(source.include, source.exclude)
    now = datetime.now(UTC)
    for parts, entry in _walk(source, file_system, str(root).rstrip("/"), (), patterns, skips):
        uri = portable_name("/".join(parts))
        changed = _time(entry)
        place = _LEAD_OUT if _leads_out(parts) else StoreObject(source.url, entry["name"])
        yield Listed(
            source.name,
            uri,
            locator_of(place),
            declared_type(uri),
            entry.get("size"),
            not_ahead(changed, now),
            version=_version(entry, changed, now),
        )


def _walk(
    source: FsspecSource, file_system: Any, folder: str, parts: tuple[str, ...], patterns: Patterns, skips: Skips
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    # Not `find`: of a folder that cannot be listed it says nothing, and its documents would count as deleted.
    try:
        entries = sorted(file_system.ls(folder, detail=True), key=lambda entry: str(entry["name"]))
    except Exception as error:  # every store's library raises classes of its own
        raise cannot_list(
            source.name,
            f"{_below(source, parts)} cannot be listed ({type(error).__name__})",
            "check the URL, the keys in the environment and the network",
        ) from error
    for entry in entries:
        name = str(entry["name"]).rstrip("/")
        if name == folder and entry["type"] == "directory":
            continue  # the marker that some stores keep for a folder
        last = name.rpartition("/")[2] if name == folder else name[len(folder) :].lstrip("/")
        here = (*parts, *last.split("/"))
        if not last or patterns.excluded(here):
            continue
        if entry.get("islink"):
            if patterns.included(here) or (entry["type"] == "directory" and patterns.may_hold(here)):
                skips.add(source.name, "symbolic link")
            continue
        if entry["type"] == "directory":
            if patterns.may_hold(here):
                yield from _walk(source, file_system, name, here, patterns, skips)
        elif patterns.included(here):
            yield here, entry


def _below(source: FsspecSource, parts: tuple[str, ...]) -> str:
    return portable_name("/".join((source.url.rstrip("/"), *parts)))


def _leads_out(parts: tuple[str, ...]) -> bool:
    name = "/".join(parts)
    return ".." in re.split(r"[/\\]", name) or re.match(r"[/\\]|[A-Za-z]:[/\\]", name) is not None


def _list_members(source: FsspecSource, outer: str, settings: FetchSettings) -> Iterator[Listed]:
    if not outer or "::" in outer:
        raise cannot_list(
            source.name,
            f"{source.url} does not name one archive",
            "write `zip::` and the URL of the archive; archives inside archives are not read",
        )
    _open_store(outer)
    patterns = Patterns(source.include, source.exclude)
    now = datetime.now(UTC)
    seen: set[str] = set()
    for row in scan("tasks.fetch.zips:scan", [outer, settings.max_archive_ratio], source.name, outer, settings):
        parts = tuple(row["name"].split("/"))
        uri = portable_name(row["name"])
        if patterns.excluded(parts) or not (patterns.included(parts) or _leads_out(parts)):
            continue
        refused = _LEAD_OUT if _leads_out(parts) else Refused(*row["refused"]) if row["refused"] else None
        if uri in seen:
            uri = next(name for n in count(2) if (name := f"{uri} ({n})") not in seen)
            refused = Refused(
                "duplicate_name",
                "another member of the archive has the same name",
                "write the archive anew with one member of each name",
            )
        seen.add(uri)
        place = refused or Part(PartKind.ZIP, outer, row["position"])
        changed = _parsed(row["modified"])
        yield Listed(
            source.name,
            uri,
            locator_of(place),
            declared_type(uri),
            row["size"],
            not_ahead(changed, now),
            version=None if refused else row["version"],
        )


def _open_store(url: str) -> tuple[Any, Any]:
    """The file system behind a URL, and the path in it.

    Raises:
        ConfigurationError: no library knows it, or it is one that has a source of its own.
    """
    from fsspec.core import url_to_fs

    *chain, _ = url.split("::")
    protocol = url.rpartition("::")[2].partition("://")[0] if "://" in url else "file"
    if protocol in ("http", "https"):
        raise ConfigurationError(
            f"{url}: web pages are not read through a store", remedy="use a source of `type: http`"
        )
    if unknown := {link.partition("://")[0] for link in chain} - _CACHES:
        raise ConfigurationError(
            f"{url}: {', '.join(sorted(unknown))} is not read; of archives only ZIP is",
            remedy="write `zip::` and the URL of the archive, or unpack it into a folder",
        )
    try:
        file_system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        remedy = (
            "install the extra `cloud`, in corpusgate's folder: .venv/bin/pip install -e '.[cloud]'"
            if protocol in _CLOUD
            else "correct the URL, or install the fsspec library of that store"
        )
        raise ConfigurationError(f"{url}: no library here can read {protocol}://", remedy=remedy) from error
    except Exception as error:
        raise ConfigurationError(
            f"{url}: the store cannot be opened ({type(error).__name__})",
            remedy="check the URL and the keys in the environment",
        ) from error
    return file_system, path


def open_url(url: str) -> IO[bytes]:
    """One object of a store, for reading anywhere in it."""
    file_system, path = _open_store(url)
    opened: IO[bytes] = file_system.open(path, "rb")
    return opened


def read_object(place: StoreObject, settings: FetchSettings) -> bytes:
    """The bytes of an object.

    Raises:
        DocumentError: `not_found`, `not_permitted`, `too_large`; transient: `unreachable`, `timeout`.
    """
    for attempt in range(settings.retries + 1):
        try:
            return _read(place, settings)
        except FileNotFoundError as error:
            raise DocumentError(
                "not_found",
                "the object is no longer in its store",
                remedy="run again; if it stays, the listing of the store is out of date",
                transient=True,
            ) from error
        except PermissionError as error:
            raise DocumentError(
                "not_permitted",
                "the store refuses to show the object",
                remedy="give the keys in the environment the right to read it, or leave it out with `exclude`",
                transient=True,
            ) from error
        except OSError as error:
            if attempt == settings.retries:
                raise DocumentError(
                    "unreachable",
                    f"the store did not give the object ({type(error).__name__})",
                    remedy="run again later; the run went on without it",
                    transient=True,
                ) from error
        time.sleep(min(settings.backoff_seconds * 2**attempt, settings.max_wait_seconds))
    raise AssertionError("the last attempt returns or raises")


def _read(place: StoreObject, settings: FetchSettings) -> bytes:
    file_system, _ = _open_store(place.url)
    deadline = time.monotonic() + settings.total_seconds
    data = bytearray()
    with file_system.open(place.path, "rb") as opened:
        while part := opened.read(_CHUNK):
            data += part
            if len(data) > settings.max_bytes:
                raise too_large(settings.max_bytes)
            if time.monotonic() > deadline:
                raise DocumentError(
                    "timeout",
                    f"not complete after {settings.total_seconds:g} s",
                    remedy="raise total_seconds in the fetch settings, or run again later",
                    transient=True,
                )
    return bytes(data)


def _version(entry: Mapping[str, Any], changed: datetime | None, now: datetime) -> str | None:
    """What stays the same as long as the bytes do; null where the store tells nothing that does.

    A time of modification counts only once it has passed: a second change may follow within its resolution.
    """
    size = entry.get("size")
    for tag in _TAGS:
        if entry.get(tag):
            return f"{tag.lower()}={entry[tag]} size={size}"
    if changed is None or changed > now - _SETTLED:
        return None
    return f"modified={changed.isoformat()} size={size} file={entry.get('ino', '')}"


def _time(entry: Mapping[str, Any]) -> datetime | None:
    for name in _TIMES:
        if entry.get(name) is not None:
            return _parsed(entry[name])
    return None


def _parsed(value: Any) -> datetime | None:
    try:
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value, UTC)
        parsed = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None  # a nonsense time stamp is an unknown one
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
