"""What runs inside a worker process of the cage. Imports nothing heavy, so that a worker is ready at once."""

import ctypes
import faulthandler
import importlib
import json
import os
import re
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tasks.errors import DocumentError

MAX_ANSWER_BYTES = 256 * 2**20
"""The largest answer a worker may send: the parent must not be filled by one document."""

_PR_SET_PDEATHSIG = 1

_REFUSED = re.compile(r"[mc]alloc|bad_alloc|alloc |failed to allocate|insufficient memory", re.IGNORECASE)


class Pages:
    """How a job reports its pages, so that the parent can limit the time of each.

    >>> Pages(lambda message: None, skip=[2]).enter(2)
    False
    """

    def __init__(self, send: Callable[[dict[str, Any]], None], skip: Sequence[int]) -> None:
        self._send = send
        self._skip = frozenset(skip)

    def enter(self, page: int) -> bool:
        """Says that work on this page (from 1) begins; false means that it must be left out."""
        if page in self._skip:
            return False
        self._send({"page": page})
        return True

    def extend(self) -> None:
        """Says that a model reads the current page: it may take twice the time, and the document longer by that."""
        self._send({"extend": True})

    def done(self) -> None:
        """Says that what follows belongs to no page."""
        self._send({"page": None})


def main() -> None:
    """Serves jobs until the parent closes the socket. Arguments: socket, parent's id, MiB, seconds per document."""
    descriptor, parent, memory_mb, seconds = (float(argument) for argument in sys.argv[1:5])
    _die_with_parent(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "darwin":  # which refuses this limit
        ceiling = int(memory_mb) * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection = Connection(int(descriptor))
    quiet = os.open(os.devnull, os.O_WRONLY)

    def arm() -> None:
        # Where there is no parent-death signal, this still ends a worker that spins in C code.
        faulthandler.dump_traceback_later(2 * seconds + 60, exit=True, file=quiet)

    def tell(message: dict[str, Any]) -> None:
        _send(connection, message)
        if "extend" in message:
            arm()

    while True:
        try:
            target, arguments, skip = json.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        try:
            module, _, name = target.partition(":")
            function = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, MemoryError, OSError) as error:
            _send(connection, {"unusable": f"{type(error).__name__} while importing {target}"})
            return
        os.dup2(quiet, 2)  # parsers write about the text they read; that must not reach a log
        _send(connection, {"started": True})
        _reset_peak_rss()
        arm()
        answer = _answer(function, arguments, Pages(tell, skip))
        faulthandler.cancel_dump_traceback_later()
        connection.send_bytes(answer)


def _answer(function: Any, arguments: list[Any], pages: Pages) -> bytes:
    try:
        payload = json.dumps({"value": function(*arguments, pages), "peak_rss": _peak_rss()}).encode()
        if len(payload) <= MAX_ANSWER_BYTES:
            return payload
        error = DocumentError(
            "too_large",
            f"the parsed document is larger than {MAX_ANSWER_BYTES // 2**20} MiB",
            remedy="split the document, or take it out of the source",
        )
    except DocumentError as raised:
        error = raised
    except MemoryError:
        error = _memory_error()
    except Exception as raised:  # noqa: BLE001  whatever a parser raises costs this one document
        # Parsers written in C report a refused allocation as an error of their own.
        error = _memory_error() if _REFUSED.search(str(raised)) else _parser_error(raised)
    details = [error.error_class, str(error), error.remedy, error.transient]
    return json.dumps({"error": details, "peak_rss": _peak_rss()}).encode()


def _memory_error() -> DocumentError:
    ceiling = resource.getrlimit(resource.RLIMIT_AS)[0] // 2**20
    return DocumentError(
        "memory",
        f"the document needs more than the worker's {ceiling} MiB of memory",
        remedy="raise memory_mb in the stage's limits, or split the document",
    )


def _parser_error(raised: Exception) -> DocumentError:
    """Names the exception and the line of code, never its message, which may quote the document."""
    frame = traceback.extract_tb(raised.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return DocumentError(
        "parser_error",
        f"the parser raised {type(raised).__name__} at {where}",
        remedy="check that the file opens in a viewer; if it does, report it as a defect",
    )


def _send(connection: Connection, message: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(message).encode())


def _die_with_parent(parent: int) -> None:
    """Asks the kernel for SIGKILL when the parent's thread that started this process ends (Linux)."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it had ended before the kernel knew
        os._exit(1)


def _reset_peak_rss() -> None:
    """Starts the kernel's peak counter anew, so that it belongs to one document (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return  # the peak is then that of the worker's life


def _peak_rss() -> int:
    try:
        status = Path("/proc/self/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
