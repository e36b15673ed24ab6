"""What a source holds: one `Listed` per document, without taking the document in.

The planner calls this; it must see every document or fail, because what it does not see counts as deleted.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import httpx
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tasks.documents.sniff import declared_type
from tasks.errors import ConfigurationError
from tasks.fetch.local import portable_name

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DEFAULT_PORTS = {"http": 80, "https": 443}
SourceName: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[^:\x00-\x1f\x7f]+$",
        description="Name of the source, without a colon; it is part of every document's identity.",
    ),
]
"""Labels and ids name a document `source:path`: with a colon in the name two documents could share one."""


class FileSource(BaseModel):
    """A folder of files. Globs are matched against the path below `root`; `**` stands for any folders.

    A hidden file or folder (leading dot) is taken only where an include pattern names its dot. Symbolic links are
    passed over unless `follow_symlinks`; then those that lead out of `root` are refused, one by one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: SourceName
    type: Literal["files"] = "files"
    root: Path = Field(description="The folder. Relative to the configuration file.")
    include: tuple[str, ...] = Field(("**/*",), description="Globs of the files to take.")
    exclude: tuple[str, ...] = Field((), description="Globs of files and folders to leave out.")
    follow_symlinks: bool = Field(False, description="Whether symbolic links inside the folder are followed.")


class HttpSource(BaseModel):
    """Documents by URL, given here and in a text file with one URL a line (blank lines and # comments allowed)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: SourceName
    type: Literal["http"] = "http"
    urls: tuple[str, ...] = Field((), description="The URLs; each is one document, links are not followed.")
    urls_file: Path | None = Field(None, description="A text file of URLs. Relative to the configuration file.")

    @model_validator(mode="after")
    def _names_urls(self) -> "HttpSource":
        if not self.urls and self.urls_file is None:
            raise ValueError("a source of type http needs `urls` or `urls_file`")
        return self


Source: TypeAlias = Annotated[FileSource | HttpSource, Field(discriminator="type")]


@dataclass(frozen=True, slots=True)
class Listed:
    """A document as its source shows it. With an `error` it could not be looked at, but it exists.

    `uri` is the path below the root (with /) or the canonical URL, `locator` where `fetch` reads it. Bytes of a
    file name that are not text are written as `portable_name` does. `commit_time` is the file's modification time.
    """

    source: str
    uri: str
    locator: str
    media_type_declared: str | None = None
    size_bytes: int | None = None
    commit_time: datetime | None = None
    content_sha: str | None = None
    error: str | None = None


def list_source(source: FileSource | HttpSource) -> Iterator[Listed]:
    """The documents of a source, always in the same order. Files are hashed, URLs are not fetched.

    Raises:
        ConfigurationError: the root, a folder in it or the list of URLs cannot be read, or a URL is not one. An
            unfinished listing must never look like a finished one.
    """
    return _list_files(source) if isinstance(source, FileSource) else _list_urls(source)


def takes_in(source: FileSource, folder: Path) -> bool:
    """Whether a listing of the source would look into this folder, there now or later."""
    root, folder = source.root.expanduser().resolve(), folder.resolve()
    if not folder.is_relative_to(root):
        return False
    patterns = _Patterns(source)
    parts = folder.relative_to(root).parts
    above = [parts[:depth] for depth in range(1, len(parts) + 1)]
    return not any(patterns.excluded(here) or not patterns.may_hold(here) for here in above)


def _list_files(source: FileSource) -> Iterator[Listed]:
    root = source.root.expanduser().resolve()
    if not root.is_dir():
        raise ConfigurationError(
            f"source {source.name!r}: the folder {root} does not exist or is not a folder",
            remedy="mount or create it, or correct `root`; nothing was taken as deleted",
        )
    patterns = _Patterns(source)
    yield from _walk(source, patterns, root, root, (), frozenset({root}))


def _walk(
    source: FileSource, patterns: "_Patterns", root: Path, folder: Path, parts: tuple[str, ...], above: frozenset[Path]
) -> Iterator[Listed]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise ConfigurationError(
            f"source {source.name!r}: the folder {portable_name(str(folder))} cannot be read: {error.strerror}",
            remedy="give read permission, or leave it out with `exclude`; nothing was taken as deleted",
        ) from error
    for entry in entries:
        here = (*parts, entry.name)
        if patterns.excluded(here) or (entry.is_symlink() and not source.follow_symlinks):
            continue
        path = Path(entry.path)
        target = path.resolve() if entry.is_symlink() else path
        if target.is_dir() and target.is_relative_to(root):
            if target not in above and patterns.may_hold(here):
                yield from _walk(source, patterns, root, target, here, above | {target})
        elif patterns.included(here) or (target.is_dir() and patterns.may_hold(here)):
            yield _list_file(source.name, root, here, path, target)


def _list_file(source: str, root: Path, parts: tuple[str, ...], path: Path, target: Path) -> Listed:
    uri = portable_name("/".join(parts))
    declared = declared_type(uri)
    if not target.is_relative_to(root):
        error = "symbolic link that leads out of the source's folder"
        # The locator is the link itself, which `fetch` never follows.
        return Listed(source, uri, portable_name(str(path)), declared, error=error)
    locator = portable_name(str(target))
    try:
        status = target.stat()
        if not stat.S_ISREG(status.st_mode):
            return Listed(source, uri, locator, declared, error="not a regular file")
        with target.open("rb") as file:
            content_sha = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return Listed(source, uri, locator, declared, error=f"cannot be read: {error.strerror}")
    return Listed(source, uri, locator, declared, status.st_size, _time(status.st_mtime_ns), content_sha)


def _time(nanoseconds: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return None  # a nonsense time stamp is an unknown one


class _Patterns:
    """Globs over path components, so that `*` never crosses a folder."""

    def __init__(self, source: FileSource) -> None:
        self._include = [tuple(pattern.split("/")) for pattern in source.include]
        self._exclude = [tuple(pattern.split("/")) for pattern in source.exclude]

    def included(self, parts: tuple[str, ...]) -> bool:
        return any(_matches(parts, pattern, hidden=False) for pattern in self._include)

    def excluded(self, parts: tuple[str, ...]) -> bool:
        return any(_matches(parts, pattern, hidden=True) for pattern in self._exclude)

    def may_hold(self, parts: tuple[str, ...]) -> bool:
        """Whether an included document can lie below this folder; a hidden one must be named."""
        return not parts[-1].startswith(".") or any(
            component.startswith(".") and fnmatchcase(parts[-1], component)
            for pattern in self._include
            for component in pattern
        )


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...], *, hidden: bool) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**" and _matches(parts, pattern[1:], hidden=hidden):
        return True
    if not parts or (parts[0].startswith(".") and not hidden and not pattern[0].startswith(".")):
        return False
    if pattern[0] == "**":
        return _matches(parts[1:], pattern, hidden=hidden)
    return fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:], hidden=hidden)


def _list_urls(source: HttpSource) -> Iterator[Listed]:
    places = [(url, "`urls`") for url in source.urls]
    if source.urls_file is not None:
        try:
            lines = source.urls_file.expanduser().read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"source {source.name!r}: the list of URLs {source.urls_file} cannot be read as UTF-8 text",
                remedy="correct `urls_file`; nothing was taken as deleted",
            ) from error
        places += [
            (line.strip(), f"{source.urls_file} line {number}")
            for number, line in enumerate(lines, 1)
            if line.strip() and not line.lstrip().startswith("#")
        ]
    seen: set[str] = set()
    for url, place in places:
        uri = canonical_url(url)
        if uri is None:
            raise ConfigurationError(
                f"source {source.name!r}: {place} holds something that is not an http or https URL without a password",
                remedy="correct that entry",
            )
        if uri not in seen:
            seen.add(uri)
            yield Listed(source.name, uri, uri)


def canonical_url(url: str) -> str | None:
    """A URL by which the same document is the same: scheme and host in lower case, no fragment, no default port.

    Null if it is not an http or https URL with a host, or if it carries a user name or password (these would
    end up in the index).

    >>> canonical_url("HTTP://Example.org:80/A?b=1#c"), canonical_url("mailto:a@example.org")
    ('http://example.org/A?b=1', None)
    """
    try:
        parsed = httpx.URL(url.strip())
    except (httpx.InvalidURL, UnicodeError):
        return None
    if parsed.scheme not in _DEFAULT_PORTS or not parsed.host or parsed.userinfo:
        return None
    port = None if parsed.port == _DEFAULT_PORTS[parsed.scheme] else parsed.port
    return str(parsed.copy_with(fragment=None, port=port, raw_path=parsed.raw_path or b"/"))
