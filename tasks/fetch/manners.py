"""Manners towards web servers: what their robots.txt allows (RFC 9309), and how often they are asked."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

from tasks.errors import DocumentError

Loader: TypeAlias = Callable[[str], bytes]
"""The robots.txt at a URL; a DocumentError where there is none."""

_UNAVAILABLE = frozenset({"not_found", "gone", "http_client_error", "too_many_redirects", "bad_redirect"})
"""Answers after which RFC 9309 (2.3.1.3) lets a crawler read everything; others forbid it for now."""
_KEPT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one server; none where it has no robots.txt."""

    parser: RobotFileParser | None

    def allows(self, agent: str, url: str) -> bool:
        """Whether this client may read the URL."""
        return self.parser is None or self.parser.can_fetch(agent, url)

    def delay(self, agent: str) -> float:
        """Seconds between two requests that the server asks for; 0 where it asks for none."""
        if self.parser is None:
            return 0.0
        stated = float(self.parser.crawl_delay(agent) or 0)
        rate = self.parser.request_rate(agent)
        return max(stated, rate.seconds / rate.requests if rate and rate.requests else 0.0)


class Robots:
    """The robots.txt of each server, asked for once in a while. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Future[Rules]]] = {}

    def forget(self) -> None:
        """From here on every server is asked anew."""
        with self._lock:
            self._known.clear()

    def rules(self, url: str, load: Loader) -> Rules:
        """The rules of the URL's server.

        Raises:
            DocumentError: the server did not answer, so nothing may be read from it now.
        """
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        with self._lock:
            asked, future = self._known.get(origin, (0.0, None))
            mine = future is None or time.monotonic() > asked + _KEPT_SECONDS
            if future is None or mine:
                future = Future()
                self._known[origin] = time.monotonic(), future
        if mine:
            try:
                future.set_result(_read(origin, load))
            except BaseException as error:
                with self._lock:
                    self._known.pop(origin, None)  # whoever comes next may have more luck
                future.set_exception(error)
                raise
        return future.result()


def _read(origin: str, load: Loader) -> Rules:
    try:
        data = load(f"{origin}/robots.txt")
    except DocumentError as error:
        if error.error_class in _UNAVAILABLE:
            return Rules(None)
        raise
    parser = RobotFileParser()
    parser.parse(data.decode("utf-8-sig", "replace").splitlines())
    return Rules(parser)


class Pace:
    """When each server may be asked next, for all batches of this process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    def wait(self, url: str, seconds: float) -> float:
        """Waits for this request's turn, `seconds` after the one before; returns how long that took."""
        host = urlsplit(url).netloc
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next.get(host, now))
            if turn + seconds > now:
                self._next[host] = turn + seconds
            else:
                self._next.pop(host, None)
        if turn > now:
            time.sleep(turn - now)
        return turn - now

    def hold(self, url: str, seconds: float) -> None:
        """The server asked for a pause: nobody's turn comes before it ends."""
        host = urlsplit(url).netloc
        with self._lock:
            self._next[host] = max(self._next.get(host, 0.0), time.monotonic() + seconds)


PACE = Pace()
ROBOTS = Robots()
"""Both are shared by all batches of this process."""


def disallowed() -> DocumentError:
    """The error for a URL that its server asks robots not to read."""
    return DocumentError(
        "robots_disallowed",
        "the server's robots.txt asks not to read this URL, or one that it redirects to",
        remedy="take it out of the source, or set `robots: ignore` in the fetch settings if its owner agrees",
    )
