"""The cage: foreign files are handled in recycled worker processes that may die without harm to anyone else.

Each slot of a `Cage` is one thread of the parent with one worker process and one socket between them. The thread
starts the worker, hands it a job, reads what it says (a page begun, a result, an error) and kills it when a limit
is passed. Because the thread that starts a worker lives as long as the cage, the kernel's parent-death signal,
which fires when the *starting thread* ends, does not fire early.

Workers are fresh interpreters started on `tasks.documents.cage_worker`, not `multiprocessing` children: those would
import the parent's `__main__` again, and with it the command line. Messages are JSON, so a worker that a hostile
file has taken over cannot make the parent run anything.
"""

import atexit
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tasks.errors import DocumentError, RunError

_START_SECONDS = 120
"""How long a worker may take to start and to import its parser: generous, because a loaded machine is slow."""

_BOOT = "import sys; sys.path[:] = sys.argv.pop(1).split('\\n'); from tasks.documents.cage_worker import main; main()"
"""A worker takes the parent's module path over here; PYTHONPATH would come before the standard library."""


class CageLimits(BaseModel):
    """What a worker may use. None of it shapes what a document that stays within the limits becomes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds_per_document: float = Field(
        default=120,
        gt=0,
        le=86_400,
        description="Wall seconds one document may take; a page that a model reads (OCR, the layout of tables) adds "
        "seconds_per_page.",
    )
    seconds_per_page: float = Field(
        default=20,
        gt=0,
        le=86_400,
        description="Wall seconds one page may take, twice that if a model reads it; a page over it is left out and "
        "the document tried once more.",
    )
    memory_mb: int = Field(
        default=3072,
        ge=256,
        le=1_048_576,
        description="Address space of a worker in MiB (RLIMIT_AS; virtual, not resident).",
    )
    workers: int = Field(default=2, ge=1, le=256, description="Worker processes that run at the same time.")
    tasks_per_worker: int = Field(
        default=1000,
        ge=1,
        description="Documents after which a worker is replaced by a fresh one. One that has grown to half of "
        "memory_mb is replaced at once.",
    )


@dataclass(frozen=True, slots=True)
class Job:
    """One document's work: `target` is `module:function`, called in a worker with `arguments` and its `Pages`.

    `arguments` and what the function returns must be JSON values; paths are given as strings, bytes never.
    """

    key: str
    target: str
    arguments: Sequence[Any]


@dataclass(frozen=True, slots=True)
class JobResult:
    """What became of a job: a value, or the error that quarantines its document.

    `skipped_pages` were over the limit and were left out of `value`. `seconds` is wall time over all attempts,
    without the start of the worker; `peak_rss_bytes` is the worker's peak while it handled this document.
    """

    key: str
    value: Any
    error: DocumentError | None
    seconds: float
    peak_rss_bytes: int | None
    skipped_pages: tuple[int, ...] = ()


class _PageTimeoutError(DocumentError):
    """A page was over its limit; `page` is its number, from 1."""

    def __init__(self, page: int, seconds: float) -> None:
        super().__init__(
            "page_timeout",
            f"page {page} took longer than {seconds:g} s, and so did another page or the second attempt",
            remedy="raise seconds_per_page in the stage's limits, or mend the page",
            transient=True,
        )
        self.page = page


class _Worker:
    """One worker process and the parent's end of its socket. Used by one thread only."""

    def __init__(self, limits: CageLimits) -> None:
        self._limits = limits
        self._jobs = 0
        self._peak = 0
        ours, theirs = socket.socketpair()
        path = "\n".join(entry or str(Path.cwd()) for entry in sys.path)
        arguments = [str(theirs.fileno()), str(os.getpid()), str(limits.memory_mb), str(limits.seconds_per_document)]
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _BOOT, path, *arguments],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._connection = Connection(ours.detach())

    def handle(self, job: Job, skip: Sequence[int]) -> JobResult:
        """Runs one attempt of a job.

        Whatever goes wrong with the document is in the result.

        Raises:
            RunError: the worker could not start or could not import the target.
        """
        self._jobs += 1
        started: float | None = None
        try:
            self._connection.send_bytes(json.dumps([job.target, list(job.arguments), list(skip)]).encode())
            self._expect_start(job)
            started = time.monotonic()
            answer = self._watch(started)
        except DocumentError as error:
            return self._failed(job, error, started)
        except (EOFError, OSError):
            self.process.wait()
            if started is None:
                raise self._unusable(job, f"it ended with exit status {self.process.returncode}") from None
            return self._failed(job, _ended(self.process.returncode), started)
        seconds = time.monotonic() - started
        self._peak = answer["peak_rss"]
        if "error" in answer:
            error_class, message, remedy, transient = answer["error"]
            if error_class == "memory":
                self.stop()
            stated = DocumentError(error_class, message, remedy=remedy, transient=transient)
            return JobResult(job.key, None, stated, seconds, answer["peak_rss"])
        return JobResult(job.key, answer["value"], None, seconds, answer["peak_rss"], tuple(skip))

    def stop(self) -> None:
        """Ends the process at once; it holds nothing that could be lost."""
        self.process.kill()
        self.process.wait()
        self._connection.close()

    @property
    def alive(self) -> bool:
        """Whether the process can take another job."""
        return self.process.poll() is None and not self._connection.closed

    @property
    def worn(self) -> bool:
        """Whether a fresh process should take its place: libraries that lose memory must not cost a document."""
        grown = self._peak > self._limits.memory_mb * 2**20 // 2
        return grown or self._jobs >= self._limits.tasks_per_worker

    def _expect_start(self, job: Job) -> None:
        if not self._connection.poll(_START_SECONDS):
            raise self._unusable(job, f"it was not ready after {_START_SECONDS} s")
        message = json.loads(self._connection.recv_bytes())
        if "unusable" in message:
            raise self._unusable(job, message["unusable"])

    def _unusable(self, job: Job, reason: str) -> RunError:
        self.stop()
        return RunError(
            f"a worker process for {job.target} could not start: {reason}",
            remedy="run `corpusgate doctor`; check the installation and that memory_mb in the stage's limits is enough",
        )

    def _watch(self, started: float) -> dict[str, Any]:
        """Reads messages until the answer comes or a limit is passed."""
        end = started + self._limits.seconds_per_document
        page: int | None = None
        page_end = end
        extended: set[int | None] = set()
        while True:
            if not self._connection.poll(max(0.0, min(end, page_end) - time.monotonic())):
                if page is not None and page_end <= end:
                    raise _PageTimeoutError(page, self._limits.seconds_per_page)
                raise DocumentError(
                    "timeout",
                    f"the document took longer than {end - started:g} s",
                    remedy="raise seconds_per_document in the stage's limits, or split the document",
                    transient=True,
                )
            message: dict[str, Any] = json.loads(self._connection.recv_bytes())
            if "extend" in message:
                # Once for a page, whatever a worker says that a hostile file has taken over.
                if page not in extended:
                    extended.add(page)
                    end += self._limits.seconds_per_page
                    page_end += self._limits.seconds_per_page
                continue
            if "page" not in message:
                return message
            page = message["page"]
            page_end = end if page is None else time.monotonic() + self._limits.seconds_per_page

    def _failed(self, job: Job, error: DocumentError, started: float | None) -> JobResult:
        peak = _peak_rss(self.process.pid)
        self.stop()
        return JobResult(job.key, None, error, time.monotonic() - started if started else 0.0, peak)


class Cage:
    """A set of worker processes under limits; a context manager, safe to use from several threads.

    Workers start with the first job and are used across calls of `run`.
    """

    def __init__(self, limits: CageLimits) -> None:
        self._limits = limits
        self._queue: queue.SimpleQueue[tuple[Job, Future[JobResult]] | None] = queue.SimpleQueue()
        self._closing = False
        self._workers: dict[int, _Worker] = {}
        self._slots = [
            threading.Thread(target=self._serve, args=(i,), name=f"cage-{i}", daemon=True)
            for i in range(limits.workers)
        ]
        for slot in self._slots:
            slot.start()

    def __enter__(self) -> "Cage":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def shared(cls, limits: CageLimits) -> "Cage":
        """The cage of this process for these limits; it is closed when the process ends."""
        with _shared_lock:
            key = (os.getpid(), limits)
            if key not in _shared:
                _shared[key] = cls(limits)
                atexit.register(_shared[key].close)
            return _shared[key]

    def run(self, jobs: Iterable[Job]) -> Iterator[JobResult]:
        """Yields each job's result, in the order of the jobs. Reads only a few jobs ahead.

        Raises:
            RunError: workers cannot be started, or the cage is closed.
        """
        waiting: deque[Future[JobResult]] = deque()
        try:
            for job in jobs:
                waiting.append(self._submit(job))
                if len(waiting) > 2 * self._limits.workers:
                    yield _result(waiting.popleft())
            while waiting:
                yield _result(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """Ends all workers, also busy ones; their jobs fail with `RunError`."""
        self._closing = True
        for worker in list(self._workers.values()):
            worker.process.kill()
        for _ in self._slots:
            self._queue.put(None)
        for slot in self._slots:
            slot.join()

    def _submit(self, job: Job) -> Future[JobResult]:
        if self._closing:
            raise _closed()
        future: Future[JobResult] = Future()
        self._queue.put((job, future))
        return future

    def _serve(self, slot: int) -> None:
        """The life of one slot: the only thread that starts, feeds and ends its worker."""
        while (item := self._queue.get()) is not None:
            job, future = item
            if self._closing or not future.set_running_or_notify_cancel():
                future.cancel()
                continue
            try:
                result = self._handle(slot, job)
            except RunError as error:
                future.set_exception(error)
            except OSError as error:
                reason = RunError(f"a worker process could not start: {error}", remedy="free memory and process slots")
                future.set_exception(reason)
            else:
                future.set_exception(_closed()) if self._closing else future.set_result(result)
        if worker := self._workers.pop(slot, None):
            worker.stop()

    def _handle(self, slot: int, job: Job) -> JobResult:
        first = self._worker(slot).handle(job, ())
        if self._closing or not isinstance(first.error, _PageTimeoutError):
            return first
        second = self._worker(slot).handle(job, (first.error.page,))
        peaks = [peak for peak in (first.peak_rss_bytes, second.peak_rss_bytes) if peak is not None]
        return replace(second, seconds=first.seconds + second.seconds, peak_rss_bytes=max(peaks, default=None))

    def _worker(self, slot: int) -> _Worker:
        worker = self._workers.get(slot)
        if worker and worker.alive and not worker.worn:
            return worker
        if worker:
            worker.stop()
        self._workers[slot] = _Worker(self._limits)
        return self._workers[slot]


_shared: dict[tuple[int, CageLimits], Cage] = {}
_shared_lock = threading.Lock()


def _result(future: Future[JobResult]) -> JobResult:
    try:
        return future.result()
    except CancelledError:
        raise _closed() from None


def _closed() -> RunError:
    return RunError("the worker processes were stopped", remedy="start the run again; it resumes where it stopped")


def _ended(status: int) -> DocumentError:
    """Why a process ended by itself, from its exit status (negative: the signal that killed it)."""
    if status >= 0:
        return DocumentError(
            "exited",
            f"the parser ended its process with exit status {status}",
            remedy="report the file to the parser's authors; until then take it out of the source",
        )
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    if -status == signal.SIGKILL:
        return DocumentError(
            "crashed",
            "the parser's process was killed (SIGKILL), most often because the machine ran out of memory",
            remedy="run fewer workers or free memory, then run again",
            transient=True,
        )
    return DocumentError(
        "crashed",
        f"the parser crashed ({name})",
        remedy="report the file to the parser's authors; until then take it out of the source",
    )


def _peak_rss(pid: int) -> int | None:
    """The peak resident memory of a process that still exists (Linux), else null."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    peaks = [int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")]
    return peaks[0] if peaks else None
