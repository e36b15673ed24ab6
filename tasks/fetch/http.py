"""Fetching a document over HTTP: conditional, bounded in size and time, and never into a private network.

Proxies of the environment are not used: a proxy would resolve names itself, past the check of addresses.
"""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from tasks.errors import DocumentError
from tasks.fetch.connections import CheckedTransport, Deadline
from tasks.fetch.local import too_large
from tasks.fetch.manners import PACE, ROBOTS, disallowed
from tasks.fetch.packed_body import BadPackingError, TruncatedError, unpacked
from tasks.fetch.settings import FetchSettings
from tasks.http_logging import tell_no_requests

_RETRIED = frozenset({408, 425, 429})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WITH_BODY = frozenset({200, 203})
_ROBOTS_BYTES = 512_000
"""As much of a robots.txt is read; RFC 9309 (2.5) asks for 500 KiB at least."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sent. `data` is null after 304 (not modified)."""

    status: int
    data: bytes | None
    media_type: str | None
    etag: str | None
    last_modified: str | None
    commit_time: datetime | None


class HttpFetcher:
    """A client for one batch; safe to use from several threads. Close it after use."""

    def __init__(self, settings: FetchSettings) -> None:
        self._settings = settings
        self._deadline = Deadline()
        tell_no_requests()
        self._client = httpx.Client(
            transport=CheckedTransport(settings, self._deadline),
            timeout=httpx.Timeout(settings.read_seconds, connect=settings.connect_seconds),
            headers={"User-Agent": settings.user_agent, "Accept-Encoding": "gzip, deflate"},
            # No cookies: what a server sends must not depend on which documents were asked for before.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            follow_redirects=False,
            trust_env=False,
        )

    def __enter__(self) -> "HttpFetcher":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(
        self,
        url: str,
        etag: str | None = None,
        last_modified: str | None = None,
        *,
        robots: bool = True,
        cut_at: int | None = None,
    ) -> Answer:
        """The document at this URL, or 304 if it is still the one with this etag or time of modification.

        `robots` says whether the server's robots.txt decides. Of a body longer than `cut_at` only that much is read.

        Raises:
            DocumentError: `not_found`, `gone`, `http_client_error`, `too_large`, `too_many_redirects`,
                `address_refused`, `bad_redirect`, `robots_disallowed`, `corrupt`; transient: `http_server_error`,
                `timeout`, `unreachable`, `truncated`.
        """
        robots = robots and self._settings.robots == "obey"
        conditions = {"If-None-Match": etag, "If-Modified-Since": last_modified}
        headers = {name: value for name, value in conditions.items() if value}
        for attempt in range(self._settings.retries + 1):
            wait: float | None = None
            try:
                return self._attempt(url, headers, robots, cut_at)
            except _TryAgainError as again:
                failure, wait = again.failure, again.wait
            except BadPackingError as error:
                raise DocumentError(
                    "corrupt",
                    "the body is not packed as its Content-Encoding says",
                    remedy="report it to who runs the server, or take the URL out of the source",
                ) from error
            except httpx.TimeoutException as error:
                failure = _transient("timeout", f"no answer in time ({type(error).__name__})")
            except httpx.RequestError as error:
                failure = _transient("unreachable", f"the connection failed ({type(error).__name__})")
            if attempt == self._settings.retries:
                break
            asked, most = wait is not None, self._settings.max_wait_seconds
            wait = min(self._settings.backoff_seconds * 2**attempt if wait is None else wait, most)
            if asked:
                PACE.hold(url, wait)  # for every request to this host: the next one waits for its turn
            else:
                time.sleep(wait)
        raise failure

    def _attempt(self, url: str, headers: Mapping[str, str], robots: bool, cut_at: int | None) -> Answer:
        deadline = time.monotonic() + self._settings.total_seconds
        current = httpx.URL(url)
        for _ in range(self._settings.max_redirects + 1):
            deadline += self._admit(str(current), robots)
            self._deadline.at = deadline
            # The address is checked where the connection is made, so every hop passes the check.
            with self._client.stream("GET", current, headers=dict(headers)) as response:
                if response.status_code not in _REDIRECTS:
                    return self._answer(response, deadline, cut_at, conditional=bool(headers))
                current = _next_hop(current, response)
            self._check(deadline)
        raise DocumentError(
            "too_many_redirects",
            f"more than {self._settings.max_redirects} redirects",
            remedy="open the URL in a browser and put the final address into the source",
        )

    def _admit(self, url: str, robots: bool) -> float:
        """Waits until the URL may be asked for; returns for how long.

        Raises:
            DocumentError: its server's robots.txt forbids it, or could not be had.
        """
        started = time.monotonic()
        gap = self._settings.seconds_between_requests
        if robots:
            rules, agent = ROBOTS.rules(url, self._load_robots), self._settings.user_agent
            if not rules.allows(agent, url):
                raise disallowed()
            gap = max(gap, min(rules.delay(agent), self._settings.max_crawl_delay_seconds))
        PACE.wait(url, gap)
        return time.monotonic() - started

    def _load_robots(self, url: str) -> bytes:
        try:
            return self.get(url, robots=False, cut_at=_ROBOTS_BYTES).data or b""
        except DocumentError as error:
            if error.error_class == "corrupt":  # of the page itself nothing is known yet
                raise _transient("unreachable", "its server's robots.txt cannot be unpacked") from error
            raise

    def _answer(self, response: httpx.Response, deadline: float, cut_at: int | None, *, conditional: bool) -> Answer:
        status = response.status_code
        data: bytes | None = None
        if status in _WITH_BODY:
            data = self._body(response, deadline, cut_at)
        elif not (status == httpx.codes.NOT_MODIFIED and conditional):
            raise _refusal(response)
        headers = response.headers
        return Answer(
            status, data, headers.get("Content-Type"), headers.get("ETag"), headers.get("Last-Modified"),
            _commit_time(headers),
        )  # fmt: skip

    def _body(self, response: httpx.Response, deadline: float, cut_at: int | None) -> bytes:
        data = bytearray()
        try:
            for part in unpacked(response.iter_raw(), response.headers.get("Content-Encoding", "")):
                data += part
                if cut_at is not None and len(data) >= cut_at:
                    break
                if len(data) > self._settings.max_bytes:
                    raise too_large(self._settings.max_bytes)
                self._check(deadline)
        except TruncatedError as error:
            # Its length may be as announced: whoever packed it broke off.
            raise _TryAgainError(_transient("truncated", "the packed body ends before its end")) from error
        return bytes(data)

    def _check(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise _TryAgainError(_transient("timeout", f"not complete after {self._settings.total_seconds:g} s"))


class _TryAgainError(Exception):
    """This attempt failed; `wait` is what the server asked for, in seconds."""

    def __init__(self, failure: DocumentError, wait: float | None = None) -> None:
        super().__init__()
        self.failure = failure
        self.wait = wait


def _transient(error_class: str, message: str) -> DocumentError:
    return DocumentError(error_class, message, remedy="run again later; the run went on without it", transient=True)


def _refusal(response: httpx.Response) -> Exception:
    status = response.status_code
    if status in _RETRIED or status >= 500:
        failure = _transient("http_server_error", f"the server answered {status}")
        return _TryAgainError(failure, _retry_after(response.headers))
    known = {404: "not_found", 410: "gone"}
    return DocumentError(
        known.get(status, "http_client_error"),
        f"the server answered {status}",
        remedy="take the URL out of the source, or correct it or the permission to read it",
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from a number or a date (RFC 9110, 10.2.3); null where the header says neither."""
    asked = headers.get("Retry-After", "").strip()
    if asked.isascii() and asked.isdigit():
        return float(asked)
    until = _http_date(asked)
    return None if until is None else max(0.0, (until - datetime.now(UTC)).total_seconds())


def _commit_time(headers: Mapping[str, str]) -> datetime | None:
    """Last-Modified, but not later than the answer's own Date (RFC 9110, 8.8.2.1)."""
    modified = _http_date(headers.get("Last-Modified", ""))
    date = _http_date(headers.get("Date", ""))
    return min(modified, date) if modified and date else modified


def _http_date(value: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(value)
    except ValueError:
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def _next_hop(current: httpx.URL, response: httpx.Response) -> httpx.URL:
    target: httpx.URL | None = None
    with contextlib.suppress(httpx.InvalidURL, UnicodeError):
        target = current.join(response.headers.get("Location", ""))
    if not response.headers.get("Location") or target is None or target.scheme not in ("http", "https"):
        raise DocumentError(
            "bad_redirect",
            "the server redirects to something that is not a web address",
            remedy="open the URL in a browser and put the final address into the source",
        )
    return target.copy_with(userinfo=b"", fragment=None)
