"""Starting a run: the lake's lock, the private Prefect server, the flow, and what is left to say afterwards."""

import logging
import os
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from flows.server import private_server, wait_until_recorded
from schemas.verdict import FailOn, Verdict
from tasks.errors import CorpusgateError, RunError
from tasks.index.store import LanceIndex
from tasks.lake.files import write_text
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.quarantine import Quarantine
from tasks.lake.runs import Runs, new_run_id
from tasks.run.configuration import Configuration, load_configuration
from tasks.run.context import Progress, RunContext
from tasks.run.keys import code_digest, digest
from tasks.run.preflight import check_before_running
from tasks.run.registry import scorers
from tasks.run.upkeep import look_after


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that came to its end: the verdict, its folder, and what became of the candidate."""

    verdict: Verdict
    folder: Path
    promotion: str


def launch(config: Path, *, progress: Progress, wait: float, fail_on: FailOn = "fail") -> Finished:
    """Runs a configuration from plan to promotion.

    Raises:
        ConfigurationError: the configuration is wrong.
        RunError: the run itself failed; its manifest then says `failed` and why.
    """
    configuration = load_configuration(config)
    lake = Lake(configuration.lake)
    lake.create()
    with lake.exclusive(wait):
        check_before_running(configuration, lake)
        context = open_context(configuration, lake, progress, fail_on)
        runs = Runs(lake)
        try:
            with private_server(lake.root / "prefect") as url:
                verdict, promotion = _flow(context, url)
        except CorpusgateError as error:
            runs.update(context.run_id, status="failed", error=str(error), finished_at=_now())
            raise
        except KeyboardInterrupt:
            runs.update(context.run_id, status="killed", finished_at=_now())
            raise
        except Exception as error:
            runs.update(context.run_id, status="failed", error=type(error).__name__, finished_at=_now())
            trace = context.folder / "error.txt"
            write_text(trace, "".join(traceback.format_exception(error)))
            raise RunError(
                f"run {context.run_id} failed: {type(error).__name__} (a defect of corpusgate or below it)",
                remedy=f"give the same command again: what is done is kept; if it fails the same way, report {trace}",
            ) from error
        try:
            look_after(context)
        except RunError as error:
            # The run itself is whole, and may be live.
            runs.update(context.run_id, not_looked_after=str(error))
            promotion += f"; old and small files were left as they are: {error}"
    return Finished(verdict, context.folder, promotion)


def open_context(configuration: Configuration, lake: Lake, progress: Progress, fail_on: FailOn = "fail") -> RunContext:
    """A new run in a lake that this process holds."""
    now = datetime.now(UTC)
    ledger = Ledger(lake.ledger)
    ledger.compact()
    Runs(lake).mark_killed()
    _record_promotion(configuration, lake)
    context = RunContext(new_run_id(now), configuration, lake, ledger, Quarantine(lake.quarantine), progress, fail_on)
    Runs(lake).update(
        context.run_id,
        status="running",
        started_at=now.isoformat(),
        code_version=version("corpusgate"),
        code_digest=code_digest(context.bases),
        configuration_digest=digest(configuration.model_dump(mode="json")),
        stage_bases={name.value: base for name, base in context.bases.items()},
        stage_settings=configuration.stages.model_dump(mode="json"),
        scorers=scorers(),
    )
    return context


def _record_promotion(configuration: Configuration, lake: Lake) -> None:
    """A run that was killed between going live and saying so is said to be live now."""
    live = LanceIndex(lake.index, configuration.stages.index).live()
    runs = Runs(lake)
    if live is not None and not runs.manifest(live.generation.run_id).get("promoted_at"):
        runs.update(live.generation.run_id, promoted_at=live.flipped_at.isoformat())


def _flow(context: RunContext, url: str) -> tuple[Verdict, str]:
    # Imported late: the private server's settings must stand before Prefect is first imported.
    from flows.pipeline import ingest
    from flows.session import register
    from tasks.run.session import Session

    _keep_logs_off_the_console()
    started = datetime.now(UTC)
    session = Session(context)
    register(session)
    verdict = ingest(context.run_id)
    session.report()
    wait_until_recorded(url, session.task_runs(), since=started)
    Runs(context.lake).update(context.run_id, status="finished", finished_at=_now())
    return verdict, session.promotion


def _keep_logs_off_the_console() -> None:
    """Prefect's log lines go to its own pages; the terminal shows progress. PREFECT_LOGGING_LEVEL brings them back."""
    if "PREFECT_LOGGING_LEVEL" in os.environ:
        return
    from prefect.logging.handlers import PrefectConsoleHandler

    for logger in (logging.getLogger(), logging.getLogger("prefect")):
        for handler in list(logger.handlers):
            if isinstance(handler, PrefectConsoleHandler):
                logger.removeHandler(handler)


def _now() -> str:
    return datetime.now(UTC).isoformat()
