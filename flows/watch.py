"""Watching sources on one machine: what is new, changed or gone becomes a run once it has settled.

Polling looks at the sources without reading a document. Each run is a process of its own, so that nothing piles up in
the one that watches, and a run that is blocked, fails or dies does not end it.
"""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from flows import with_parent
from flows.own_packages import module_path_flags
from schemas.verdict import EXIT_BLOCKED, EXIT_PASSED, EXIT_UNDETERMINED, FailOn
from tasks.errors import CorpusgateError
from tasks.fetch.snapshot import look_at
from tasks.proposed import addressed
from tasks.run.configuration import load_configuration

LONGEST_PAUSE_SECONDS = 600.0
END_SECONDS = 30.0
_JUDGED = {EXIT_PASSED: "passed", EXIT_BLOCKED: "blocked", EXIT_UNDETERMINED: "blocked as undetermined"}


@dataclass(frozen=True, slots=True)
class Pace:
    """How often is looked (`every`), how long a change must rest (`quiet_for`), and after which time it is taken in
    though it does not rest (`at_latest`); seconds."""

    every: float
    quiet_for: float
    at_latest: float

    def after_trouble(self, troubles: int) -> float:
        """The pause after so many failures in a row: twice as long each time, ten minutes at most.

        >>> [Pace(10, 5, 300).after_trouble(n) for n in (1, 2, 3, 9)]
        [20.0, 40.0, 80.0, 600.0]
        """
        longer = self.every * 2.0 ** min(troubles, 16)
        return max(self.every, min(longer, LONGEST_PAUSE_SECONDS))


class Settling:
    """Tells when a change has come to rest.

    >>> settling = Settling(Pace(every=1, quiet_for=5, at_latest=60))
    >>> [settling.is_due("b", taken="a", now=now) for now in (0, 4, 5)], settling.is_due("a", taken="a", now=6)
    ([False, False, True], False)
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._seen: str | None = None
        self._seen_at = self._began_at = 0.0

    def is_due(self, seen: str, *, taken: str | None, now: float) -> bool:
        """Whether what is seen now is to be taken in; `taken` is what was taken in last, null before the first run."""
        if seen == taken:
            self._seen = None
            return False
        if self._seen is None:
            self._began_at = now
        if seen != self._seen:
            self._seen, self._seen_at = seen, now
        return now - self._seen_at >= self._pace.quiet_for or now - self._began_at >= self._pace.at_latest


def watch(config: Path, pace: Pace, *, wait: float, fail_on: FailOn, once: bool, say: Callable[[str], None]) -> int:
    """Watches the sources of a configuration until SIGINT or SIGTERM, then gives 0; with `once`, gives the exit code
    of the first run.

    What is there at the beginning is taken in first. What changes during a run becomes the next one.

    Raises:
        ConfigurationError: the configuration is wrong at the beginning. Later this is told and tried again.
    """
    load_configuration(config)
    with _ended_by_signals():
        try:
            return _loop(config.resolve(), pace, wait=wait, fail_on=fail_on, once=once, say=say)
        except KeyboardInterrupt:
            say("ended; what is done is kept")
            return 0


def _loop(config: Path, pace: Pace, *, wait: float, fail_on: FailOn, once: bool, say: Callable[[str], None]) -> int:
    settling, taken, troubles = Settling(pace), None, 0
    say("looking at the sources; Ctrl-C ends it")
    while True:
        try:
            seen, listed = _look(config)
        except CorpusgateError as error:
            troubles += 1
            pause = pace.after_trouble(troubles)
            say(f"{error}; {addressed(error.remedy, config)}; looking again in {pause:g} s")
            time.sleep(pause)
            continue
        if not settling.is_due(seen, taken=taken, now=time.monotonic()):
            troubles = 0
            time.sleep(pace.every if seen == taken else min(pace.every, max(pace.quiet_for, 0.1)))
            continue
        say(f"{'the beginning' if taken is None else 'the sources changed'}: a run over {listed} files or objects")
        code = _run(config, wait=wait, fail_on=fail_on)
        if once:
            return code
        if code in _JUDGED:
            taken, troubles = seen, 0
            say(f"the run was {_JUDGED[code]}; watching goes on" if code else "the run passed; watching goes on")
            continue
        troubles += 1
        pause = pace.after_trouble(troubles)
        say(f"the run ended with code {code} and no verdict; trying again in {pause:g} s")
        time.sleep(pause)


def _look(config: Path) -> tuple[str, int]:
    """A digest of the configuration and of how its sources look, and how many files or objects they list."""
    configuration = load_configuration(config)
    snapshot = look_at(configuration.sources, configuration.stages.fetch)
    settings = hashlib.sha256(configuration.model_dump_json().encode()).hexdigest()
    return f"{settings} {snapshot.digest}", snapshot.listed


def _run(config: Path, *, wait: float, fail_on: FailOn) -> int:
    """One run in a process of its own, which ends with this one; its exit code, or minus the signal that ended it."""
    run = [
        sys.executable,
        *module_path_flags(),
        "-m",
        "flows",
        "run",
        str(config),
        "--wait",
        f"{wait:g}",
        "--fail-on",
        fail_on,
    ]
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", with_parent.__file__, str(os.getpid()), *run],
        stdin=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for us: we end the run, once
    )
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT if sys.platform == "linux" else signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):  # killed below
            process.wait(END_SECONDS)
        raise
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdin:
            process.stdin.close()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM, and SIGINT even where a shell started us in the background, raise KeyboardInterrupt in the block."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
