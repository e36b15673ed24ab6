"""A web server on loopback whose answers a test scripts by path."""

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Reply:
    """One answer, after a wait of `delay` seconds.

    `cut` closes the connection before the announced body is complete. `endless` sends the body again and again, each
    time after the wait, until the client goes. With `slow_headers` each header comes after the wait as well.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    endless: bool = False
    slow_headers: bool = False


class Site:
    """Replies by path, in order, the last one for ever, else 404; and the requests that came."""

    def __init__(self) -> None:
        self.replies: dict[str, list[Reply]] = {}
        self.requests: dict[str, list[dict[str, str]]] = defaultdict(list)
        self.times: dict[str, list[float]] = defaultdict(list)
        self.url = ""

    def on(self, path: str, *replies: Reply) -> str:
        self.replies[path] = list(replies)
        return self.url + path


@contextmanager
def serving() -> Iterator[Site]:
    """A site that is up until the block ends."""
    site = Site()
    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.requests[self.path].append({name.lower(): value for name, value in self.headers.items()})
            site.times[self.path].append(time.monotonic())
            replies = site.replies.get(self.path, [Reply(status=404)])
            reply = replies.pop(0) if len(replies) > 1 else replies[0]
            stopped.wait(reply.delay)
            self.send_response_only(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
                if reply.slow_headers:
                    self.flush_headers()
                    stopped.wait(reply.delay)
            if reply.endless:
                self.end_headers()
                self._drip(reply)
                return
            if reply.status != 304:
                self.send_header("Content-Length", str(len(reply.body) + reply.cut))
            self.end_headers()
            self.wfile.write(reply.body)
            if reply.cut:
                self.close_connection = True

        def _drip(self, reply: Reply) -> None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                while not stopped.wait(reply.delay):
                    self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            """Nothing: the requests are kept."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield site
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
