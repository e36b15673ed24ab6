"""`watch` and `serve`: a change becomes a run, trouble does not end them, a signal ends them with all they began."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from flows.watch import Pace, Settling
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tests.flows.corpus import ROOT, corpusgate
from tests.flows.notes import damage, write_corpus

pytestmark = pytest.mark.xdist_group("runs")
PATIENCE = 300.0
PACE = ("--every", "0.2s", "--quiet-for", "0.5s")


class Staying:
    """A command that stays, and what it said."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def said(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, self.said
            time.sleep(0.1)

    def end(self, number: int) -> int:
        """Sends a signal; gives the exit code once all processes that it began are gone too."""
        began = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        _, alive = psutil.wait_procs(began, timeout=20)
        assert not alive, alive
        return code


@contextmanager
def staying(tmp_path: Path, *arguments: str, server: dict[str, str] | None = None) -> Iterator[Staying]:
    """The command line while the block runs, with a server of its own unless one is given."""
    log = tmp_path / "said.txt"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment |= server or {}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows", *arguments], cwd=ROOT, env=environment, stdout=out, stderr=out
        )
    try:
        yield Staying(process, log)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_a_change_is_due_when_it_rests_and_at_latest_though_it_never_does() -> None:
    settling = Settling(Pace(every=1, quiet_for=3, at_latest=10))
    assert not settling.is_due("a", taken="a", now=0)
    assert [settling.is_due("b", taken="a", now=now) for now in (1, 2, 3.9, 4)] == [False, False, False, True]
    settling = Settling(Pace(every=1, quiet_for=3, at_latest=10))
    busy = [settling.is_due(f"state {now}", taken="a", now=now) for now in range(1, 12)]
    assert busy == [False] * 10 + [True]


def test_a_change_that_is_taken_back_is_not_due() -> None:
    settling = Settling(Pace(every=1, quiet_for=3, at_latest=10))
    assert [settling.is_due(seen, taken="a", now=now) for now, seen in enumerate("babbb")] == [False] * 5
    assert settling.is_due("b", taken="a", now=5)


def test_what_changes_becomes_a_run_and_a_blocked_one_or_a_lost_folder_does_not_end_the_watch(
    tmp_path: Path, prefect: dict[str, str]
) -> None:
    config = write_corpus(tmp_path)
    live = tmp_path / "lake" / "index" / "live.json"
    with staying(tmp_path, "watch", str(config), *PACE, server=prefect) as watch:
        watch.until(lambda: "the run passed; watching goes on" in watch.said)
        went_live = live.read_bytes()
        (tmp_path / "documents").rename(tmp_path / "away")
        watch.until(lambda: "does not exist" in watch.said and "looking again in 0.4 s" in watch.said)
        damage(tmp_path / "away")
        (tmp_path / "away").rename(tmp_path / "documents")
        watch.until(lambda: "the run was blocked; watching goes on" in watch.said)
        assert live.read_bytes() == went_live
        assert watch.end(signal.SIGTERM) == 0
    assert watch.said.rstrip().endswith("ended; what is done is kept")
    assert len(Runs(Lake(tmp_path / "lake")).ids()) == 2


def test_a_signal_during_a_run_ends_both_and_the_manifest_says_so(tmp_path: Path) -> None:
    config = write_corpus(tmp_path)
    runs = Runs(Lake(tmp_path / "lake"))
    with staying(tmp_path, "watch", str(config), *PACE) as watch:
        watch.until(lambda: bool(runs.ids()) and runs.manifest(runs.ids()[0]).get("status") == "running")
        assert watch.end(signal.SIGINT) == 0
    assert runs.manifest(runs.ids()[0])["status"] == "killed"


def test_a_run_without_a_verdict_is_tried_again_and_once_gives_its_exit_code(tmp_path: Path) -> None:
    config = write_corpus(tmp_path)
    lake = Lake(tmp_path / "lake")
    lake.create()
    with lake.exclusive():
        done = corpusgate("watch", config, *PACE, "--wait", "0", "--once")
        assert done.returncode == 3
        assert "another run is writing the lake" in done.stderr
        with staying(tmp_path, "watch", str(config), *PACE, "--wait", "0") as watch:
            watch.until(lambda: "trying again in 0.8 s" in watch.said)
            assert watch.end(signal.SIGTERM) == 0
    assert "the run ended with code 3 and no verdict; trying again in 0.4 s" in watch.said


def test_a_schedule_runs_the_check_and_ends_with_all_it_began(tmp_path: Path) -> None:
    config = write_corpus(tmp_path)
    live = tmp_path / "lake" / "index" / "live.json"
    with staying(tmp_path, "serve", str(config), "--every", "5s", "--name", "notes") as serve:
        serve.until(lambda: live.exists() and "Completed('PASS  run" in serve.said)
        assert "scheduled as recheck/notes" in serve.said
        assert serve.end(signal.SIGTERM) == 0
    assert json.loads(live.read_text(encoding="utf-8"))["action"] == "promote"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serve",), "give either --cron or --every"),
        (("serve", "--cron", "0 * * * *", "--every", "1h"), "give either --cron or --every"),
        (("serve", "--every", "soon"), "is no length of time"),
        (("serve", "--every", "0s"), "give a longer time"),
        (("watch", "--every", "0"), "give a longer time"),
        (("watch", "--quiet-for", "2 weeks"), "is no length of time"),
        (("serve", "--cron", "every night"), "no schedule can be made of 'every night'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_times_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prefect: dict[str, str],
    command_line: Callable[[Path], Callable[..., tuple[int, str, str]]],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    for name, value in prefect.items():
        monkeypatch.setenv(name, value)
    command, *options = arguments
    code, _, err = command_line(tmp_path)(command, str(write_corpus(tmp_path)), *options)
    assert code == 2, err
    assert said in " ".join(err.replace("│", " ").split())
