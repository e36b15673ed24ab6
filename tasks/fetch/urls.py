"""Documents by URL: those that a person names, and those that sitemaps list."""

import json
import tempfile
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tasks.documents.cage import Cage, Job
from tasks.errors import ConfigurationError, DocumentError
from tasks.fetch.http import HttpFetcher
from tasks.fetch.listed import Listed, Skips, cannot_list, not_ahead
from tasks.fetch.manners import ROBOTS
from tasks.fetch.secrets import carries_secret, references, with_secrets
from tasks.fetch.settings import FetchSettings
from tasks.fetch.sitemaps import lastmod
from tasks.fetch.sources import HttpSource
from tasks.globs import path_glob

_DEFAULT_PORTS = {"http": 80, "https": 443}
_MOST_SITEMAPS = 50_001
"""An index lists up to 50,000 sitemaps (sitemaps.org); this is no crawler for more."""


def list_urls(source: HttpSource, settings: FetchSettings, skips: Skips) -> Iterator[Listed]:
    """The URLs of a source, each once: those given, then those of its sitemaps. The pages are not fetched.

    Raises:
        ConfigurationError: an entry is no URL, or the file of URLs or a sitemap cannot be read.
    """
    ROBOTS.forget()
    seen: set[str] = set()
    for url, place in _given(source):
        uri = canonical_url(url)
        if uri is None:
            raise ConfigurationError(
                f"source {source.name!r}: {place} holds something that is not an http or https URL without a password",
                remedy="correct that entry",
            )
        _check_secrets(source, uri, place)
        if uri not in seen:
            seen.add(uri)
            yield Listed(source.name, uri, uri)
    if source.sitemaps:
        yield from _from_sitemaps(source, settings, skips, seen)


def _check_secrets(source: HttpSource, url: str, place: str) -> None:
    """A secret in a URL would stand in every plan and in the index; where it is named by a variable that must be set.

    Raises:
        ConfigurationError: it holds one, or the variable is not set. Neither is repeated.
    """
    if carries_secret(url):
        raise ConfigurationError(
            f"source {source.name!r}: {place} holds a URL with a secret in its query",
            remedy="put the secret into an environment variable and name it there: `?token=${API_TOKEN}`",
        )
    with_secrets(url)


def _given(source: HttpSource) -> Iterator[tuple[str, str]]:
    yield from ((url, "`urls`") for url in source.urls)
    if source.urls_file is None:
        return
    try:
        lines = source.urls_file.expanduser().read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise cannot_list(
            source.name, f"the list of URLs {source.urls_file} cannot be read as UTF-8 text", "correct `urls_file`"
        ) from error
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip(), f"{source.urls_file} line {number}"


def _from_sitemaps(source: HttpSource, settings: FetchSettings, skips: Skips, seen: set[str]) -> Iterator[Listed]:
    include = [path_glob(pattern) for pattern in source.include]
    exclude = [path_glob(pattern) for pattern in source.exclude]
    taken = 0
    for entry in _entries(source, settings):
        uri = canonical_url(entry["loc"])
        if uri is None or references(uri):
            skips.add(source.name, "no web address in a sitemap")
        elif carries_secret(uri):
            skips.add(source.name, "a secret in its query")
        elif uri in seen:
            skips.add(source.name, "listed before")
        elif not any(glob.fullmatch(uri) for glob in include) or any(glob.fullmatch(uri) for glob in exclude):
            skips.add(source.name, "left out by include or exclude")
        else:
            seen.add(uri)
            taken += 1
            if taken > source.max_urls:
                raise cannot_list(
                    source.name,
                    f"its sitemaps list more than {source.max_urls:,} URLs",
                    "raise max_urls, or narrow `include`",
                )
            yield _page(source, uri, entry["lastmod"])


def _page(source: HttpSource, uri: str, stated: str | None) -> Listed:
    when = lastmod(stated)
    now = datetime.now(UTC)
    if when is None or (committed := not_ahead(when.first, now)) is None:
        return Listed(source.name, uri, uri)
    # A change on the stated day itself, in whatever zone, may be followed by another with the same date.
    settled = source.trust_lastmod and when.last < now - timedelta(seconds=2)
    return Listed(source.name, uri, uri, commit_time=committed, version=f"lastmod={stated}" if settled else None)


def _entries(source: HttpSource, settings: FetchSettings) -> Iterator[dict[str, Any]]:
    """What the sitemaps list, through their indexes."""
    waiting = deque((url, 0) for url in source.sitemaps)
    asked: set[str] = set()
    with HttpFetcher(settings) as fetcher, tempfile.TemporaryDirectory(prefix="corpusgate-") as folder:
        while waiting:
            given, depth = waiting.popleft()
            url = canonical_url(given)
            if url is None or (depth and references(url)):
                raise cannot_list(source.name, "a sitemap has no http or https URL", "correct `sitemaps` or the index")
            if not depth:
                _check_secrets(source, url, "`sitemaps`")
            if url in asked:
                continue
            asked.add(url)
            if len(asked) > _MOST_SITEMAPS or depth > 2:
                raise cannot_list(
                    source.name,
                    "its sitemap indexes lead on without end",
                    "name the sitemaps themselves in `sitemaps`",
                )
            found = _read(source, url, fetcher, settings, Path(folder))
            for entry in found:
                if entry["sitemap"]:
                    waiting.append((entry["loc"], depth + 1))
                else:
                    yield entry


def _read(
    source: HttpSource, url: str, fetcher: HttpFetcher, settings: FetchSettings, folder: Path
) -> list[dict[str, Any]]:
    robots = urlsplit(url).path == "/robots.txt"
    try:
        data = fetcher.get(with_secrets(url), robots=False).data or b""
        (folder / "sitemap").write_bytes(data)
        job = Job(url, "tasks.fetch.sitemaps:read", [str(folder / "sitemap"), str(folder / "entries"), robots])
        [result] = Cage.shared(settings.limits).run([job])
        if result.error is not None:
            raise result.error
    except DocumentError as error:
        raise cannot_list(source.name, f"the sitemap {url} cannot be read: {error}", error.remedy) from error
    with (folder / "entries").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


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
