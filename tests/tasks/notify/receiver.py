"""A webhook's receiver on loopback that answers as it is told and keeps what it got."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any


class Receiver:
    """Answers with the given statuses in turn, the last one from then on."""

    def __init__(self, statuses: tuple[int, ...]) -> None:
        self.messages: list[dict[str, Any]] = []
        self.url = ""
        self._statuses = statuses

    def answer(self, body: bytes) -> int:
        self.messages.append(json.loads(body))
        return self._statuses[min(len(self.messages), len(self._statuses)) - 1]


@contextmanager
def receiver(*statuses: int) -> Iterator[Receiver]:
    """A running receiver."""
    told = Receiver(statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status = told.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_port}/hook/s3cret"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
