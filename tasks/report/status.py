"""The state of a lake: what is live, the last runs, what is in quarantine, and what to do next."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table
from rich.text import Text

from schemas.names import Cohort, VerdictStatus
from tasks.counted import counted
from tasks.index.generations import Generations
from tasks.lake.erased import read_erased
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.lake.views import literal
from tasks.proposed import proposed
from tasks.report.values import NOTHING, plain_lines, shown_time

MOST_RUNS = 10


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in a line. `status` is running, finished, failed or killed; `verdict` is null where it was not judged."""

    run_id: str
    status: str
    verdict: str | None
    started_at: str | None
    documents: int
    cohorts: Mapping[str, int]
    quarantined: int
    unexpected: int | None
    live: bool
    error: str | None


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a lake. `runs` are the newest ones, newest first; `live` is null where nothing was promoted.

    `rolled_back` is the run whose generation was given up for live by the last change of it, null where that was no
    rollback. `erased` documents are not taken in again; `unfinished_erasures` are ids of those of which something may
    be left.
    """

    lake: str
    live: Mapping[str, Any] | None
    live_since: str | None
    rolled_back: str | None
    runs: tuple[RunLine, ...]
    all_runs: int
    erased: int
    unfinished_erasures: tuple[str, ...]
    next: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def read_status(lake: Lake, config: Path | None = None) -> Status:
    """Reads the state of a lake from its files alone; needs no lock, so it works beside a run.

    `config` is the configuration that the command to give next is about.
    """
    runs = Runs(lake)
    generations = Generations(lake.index, 0.0)
    live, given_up = generations.live(), generations.rolled_back()
    rolled_back = given_up.generation.run_id if given_up else None
    live_run = live.generation.run_id if live else None
    ids = runs.ids()
    lines = tuple(_run_line(runs, run_id, live_run) for run_id in reversed(ids[-MOST_RUNS:]))
    erased = read_erased(lake)
    unfinished = tuple(stone.document_id for stone in erased.unfinished)
    return Status(
        lake=str(lake.root),
        live=asdict(live.generation) if live else None,
        live_since=live.flipped_at.isoformat() if live else None,
        rolled_back=rolled_back,
        runs=lines,
        all_runs=len(ids),
        erased=len(erased.tombstones),
        unfinished_erasures=unfinished,
        next=proposed(f"erase {unfinished[0]} --yes", config) if unfinished else _next(lines, rolled_back, config),
    )


def print_status(console: Console, status: Status) -> None:
    """Prints the state for people: live first, then a table of runs, then the next command."""
    _say(console, f"lake  {status.lake}")
    if status.live is None:
        _say(console, "live  nothing yet: no run was promoted")
    else:
        _say(
            console,
            f"live  run {status.live['run_id']}, since {shown_time(status.live_since)} "
            f"(table {status.live['table']}, version {status.live['version']})",
        )
    if status.rolled_back:
        _say(
            console,
            f"rolled back  run {status.rolled_back}: the next run makes the same candidate again, and promotes it if "
            "it passes",
        )
    if status.erased:
        left = ", ".join(status.unfinished_erasures)
        erased = counted(status.erased, "document")
        _say(console, f"erased  {erased}, not taken in again{'; not finished: ' + left if left else ''}")
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "verdict", "started", "documents"):
        table.add_column(name, no_wrap=name != "documents")
    table.add_column("quarantined", justify="right")
    table.add_column("", overflow="fold")
    for line in status.runs:
        quarantined = NOTHING if line.verdict is None else str(line.quarantined)
        if line.unexpected:
            quarantined += f" ({line.unexpected} unexpected)"
        changed = ", ".join(f"{count} {name}" for name, count in line.cohorts.items())
        table.add_row(
            Text(line.run_id),
            Text(line.verdict or line.status),
            Text(shown_time(line.started_at)),
            Text(f"{line.documents} ({changed})" if changed else str(line.documents)),
            Text(quarantined),
            Text("live" if line.live else ""),
        )
    if status.runs:
        console.print(table)
        if status.all_runs > len(status.runs):
            _say(console, f"… and {status.all_runs - len(status.runs)} older runs")
        if status.runs[0].error:
            console.print()
            _say(console, plain_lines(f"the last run failed: {status.runs[0].error}"))
        console.print()
    _say(console, f"next  {status.next}")


def _run_line(runs: Runs, run_id: str, live_run: str | None) -> RunLine:
    manifest = runs.manifest(run_id)
    folder = runs.lake.run(run_id)
    cohorts: dict[str, int] = {}
    if (folder / "plan.parquet").exists():
        found = runs.plan(run_id).column("cohort").to_pylist()
        cohorts = {str(cohort): found.count(cohort) for cohort in Cohort if cohort in found}
    quarantined, unexpected = _quarantined(runs, run_id)
    return RunLine(
        run_id=run_id,
        status=manifest.get("status", "unknown"),
        verdict=manifest.get("verdict"),
        started_at=manifest.get("started_at"),
        documents=sum(count for cohort, count in cohorts.items() if cohort != Cohort.DELETED),
        cohorts=cohorts,
        quarantined=quarantined,
        unexpected=unexpected,
        live=run_id == live_run,
        error=manifest.get("error"),
    )


def _quarantined(runs: Runs, run_id: str) -> tuple[int, int | None]:
    """Documents in quarantine, and how many of them nobody expected (null where the run was not measured)."""
    folder = runs.lake.run(run_id)
    if not (folder / "locations.parquet").exists():
        return 0, None
    with duckdb.connect(":memory:") as connection:
        failed = _count(connection, [folder / "locations.parquet"], "outcome = 'quarantined'")
        facts = sorted((folder / "facts").glob("*.parquet"))
        return failed, _count(connection, facts, "metric = 'unexpected_quarantine' AND value > 0") if facts else None


def _count(connection: duckdb.DuckDBPyConnection, files: list[Path], condition: str) -> int:
    query = f"SELECT count(*) FROM read_parquet($files, union_by_name = true) WHERE {condition}"  # noqa: S608
    row = connection.execute(query, {"files": [literal(file) for file in files]}).fetchone()
    return int(row[0]) if row else 0


def _next(runs: tuple[RunLine, ...], rolled_back: str | None, config: Path | None) -> str:
    run = proposed("run", config)
    if not runs:
        return run
    last = runs[0]
    if last.status == "running" and last.verdict is None:
        return f"wait for the run, or, if it was killed: {run} (it goes on where it was)"
    if last.status == "killed":
        return f"{run} (it goes on where it was)"
    if last.status == "failed":
        return f"{proposed('doctor', config)}, then {run} again: what is done is kept"
    if rolled_back == last.run_id:
        return (
            f"mend what was wrong with run {rolled_back} (the source, a setting, or a gate rule that would have caught "
            f"it), then {run}; until then hold off runs, scheduled ones too"
        )
    if last.verdict in (VerdictStatus.FAIL, VerdictStatus.UNDETERMINED):
        return proposed(f"report {last.run_id}", config)
    if last.verdict == VerdictStatus.WARN:
        report = proposed(f"report {last.run_id}", config)
        return f"{report} for its warnings, or {run} when the corpus has changed"
    if last.unexpected:
        return proposed(f"sql quarantine --run {last.run_id}", config)
    return f"{run}, when the corpus has changed"


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
