"""Folders on this machine: which files a source takes in, and each of them as a document."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

from tasks.documents.sniff import declared_type
from tasks.fetch.listed import Listed, Skips, cannot_list
from tasks.fetch.local import portable_name
from tasks.fetch.sources import FolderSource

_LINK = "symbolic link"
_LEADS_BACK = "symbolic link to a folder that it lies in"
_LEADS_OUT = "symbolic link that leads out of the source's folder"
_NOT_REGULAR = "not a regular file"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Found:
    """A file that a source takes in: its name components below the root, the path found and what it leads to."""

    parts: tuple[str, ...]
    path: Path
    target: Path

    @property
    def uri(self) -> str:
        """The path below the root as text, with /."""
        return portable_name("/".join(self.parts))

    def leads_out(self, root: Path) -> bool:
        """Whether this is a link that leads out of the source's folder."""
        return self.target is not self.path and not self.target.is_relative_to(root)


def takes_in(source: FolderSource, folder: Path) -> bool:
    """Whether a listing of the source would look into this folder, there now or later."""
    root, folder = source.root.expanduser().resolve(), folder.resolve()
    if not folder.is_relative_to(root):
        return False
    patterns = Patterns(source.include, source.exclude)
    parts = folder.relative_to(root).parts
    above = [parts[:depth] for depth in range(1, len(parts) + 1)]
    return not any(patterns.excluded(here) or not patterns.may_hold(here) for here in above)


def list_files(source: FolderSource, skips: Skips) -> Iterator[Listed]:
    """Each file of the source as a document, hashed. Symbolic links that are passed over are counted in `skips`."""
    root = source.root.expanduser().resolve()
    for found in find_files(source, skips):
        yield _list_file(source.name, root, found)


def existing_root(source: FolderSource) -> Path:
    """The source's folder.

    Raises:
        ConfigurationError: there is none.
    """
    root = source.root.expanduser().resolve()
    if not root.is_dir():
        raise cannot_list(
            source.name,
            f"the folder {root} does not exist or is not a folder",
            "mount or create it, or correct `root`",
        )
    return root


def find_files(source: FolderSource, skips: Skips) -> Iterator[Found]:
    """The files that a source takes in, by name; also links that lead out of it, and things that are no files.

    Links that are not followed are counted in `skips`, as far as a pattern takes in their names.

    Raises:
        ConfigurationError: the root or a folder in it cannot be read.
    """
    root = existing_root(source)
    patterns = Patterns(source.include, source.exclude)
    yield from _walk(_Listing(source, patterns, root, skips), root, (), frozenset({root}))


@dataclass(frozen=True, slots=True)
class _Listing:
    source: FolderSource
    patterns: "Patterns"
    root: Path
    skips: Skips

    def pass_over(self, target: Path, reason: str) -> None:
        leads_out = not target.is_relative_to(self.root)
        self.skips.add(self.source.name, _LEADS_OUT if leads_out else reason)


def _walk(listing: _Listing, folder: Path, parts: tuple[str, ...], above: frozenset[Path]) -> Iterator[Found]:
    source, patterns = listing.source, listing.patterns
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise cannot_list(
            source.name,
            f"the folder {portable_name(str(folder))} cannot be read: {error.strerror}",
            "give read permission, or leave it out with `exclude`",
        ) from error
    for entry in entries:
        here = (*parts, entry.name)
        if patterns.excluded(here):
            continue
        path = Path(entry.path)
        linked = entry.is_symlink()
        # Not `resolve`, which raises where a link leads to itself.
        target = Path(os.path.realpath(path)) if linked else path
        # What is no link lies where its folder lies, and what it is, the listing of the folder has told.
        folder_like = target.is_dir() if linked else entry.is_dir(follow_symlinks=False)
        if folder_like and (not linked or target.is_relative_to(listing.root)):
            if not patterns.may_hold(here):
                continue
            if linked and not source.follow_symlinks:
                listing.pass_over(target, _LINK)
            elif target in above:
                listing.pass_over(target, _LEADS_BACK)
            else:
                yield from _walk(listing, target, here, above | {target})
        elif patterns.included(here) or (folder_like and patterns.may_hold(here)):
            if linked and not source.follow_symlinks:
                listing.pass_over(target, _LINK)
            else:
                yield Found(here, path, target)


def not_a_file(found: Found, root: Path) -> str | None:
    """Why this is no file of the source's folder; null where it is one."""
    if found.leads_out(root):
        return _LEADS_OUT
    try:
        return None if stat.S_ISREG(found.target.stat().st_mode) else _NOT_REGULAR
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _list_file(source: str, root: Path, found: Found) -> Listed:
    uri, target = found.uri, found.target
    declared = declared_type(uri)
    if found.leads_out(root):
        # The locator is the link itself, which `fetch` never follows.
        return Listed(source, uri, portable_name(str(found.path)), declared, error=_LEADS_OUT)
    locator = portable_name(str(target))
    try:
        status = target.stat()
        if not stat.S_ISREG(status.st_mode):
            return Listed(source, uri, locator, declared, error=_NOT_REGULAR)
        with target.open("rb") as file:
            content_sha = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as raised:
        return Listed(source, uri, locator, declared, error=f"cannot be read: {raised.strerror}")
    return Listed(source, uri, locator, declared, status.st_size, _time(status.st_mtime_ns), content_sha)


def _time(nanoseconds: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return None  # a nonsense time stamp is an unknown one


class Patterns:
    """Globs over path components, so that `*` never crosses a folder."""

    def __init__(self, include: tuple[str, ...], exclude: tuple[str, ...]) -> None:
        self._include = [tuple(pattern.split("/")) for pattern in include]
        self._exclude = [tuple(pattern.split("/")) for pattern in exclude]

    def included(self, parts: tuple[str, ...]) -> bool:
        """Whether a file of these name components is taken; a hidden one only where a pattern names its dot."""
        return any(_matches(parts, pattern, hidden=False) for pattern in self._include)

    def excluded(self, parts: tuple[str, ...]) -> bool:
        """Whether a file or folder is left out with all that is below it."""
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
