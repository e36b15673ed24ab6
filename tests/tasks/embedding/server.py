"""A loopback server that speaks OpenAI's embeddings protocol, and misbehaves as it is told."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], bytes]
Behaviour = Callable[[list[str]], Answer]


def vector_of(text: str) -> list[float]:
    """What the model behind the server gives for a text: three numbers that follow from it, not of unit norm."""
    return [float(len(text)), float(text.count("e") + 1), float(ord(text[0]))]


def ok(items: list[dict[str, Any]]) -> Answer:
    return 200, {}, json.dumps({"object": "list", "data": items, "model": "m"}).encode()


def right(texts: list[str]) -> list[dict[str, Any]]:
    return [{"object": "embedding", "index": i, "embedding": vector_of(text)} for i, text in enumerate(texts)]


class Server:
    """A loopback server; `script` are the next answers, then it answers rightly."""

    def __init__(self) -> None:
        self.script: list[Behaviour] = []
        self.asked: list[list[str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.bodies.append(body)
                outer.asked.append(body["input"])
                outer.keys.append(self.headers.get("authorization"))
                behave = outer.script.pop(0) if outer.script else (lambda texts: ok(right(texts)))
                status, headers, data = behave(body["input"])
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                """Silence."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
