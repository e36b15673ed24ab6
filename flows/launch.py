"""Starting a run: the lake's lock, the private Prefect server, the flow, and what is left to say afterwards."""

import logging
import os
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flows.server import starting_server, wait_until_recorded
from schemas.verdict import FailOn, Verdict
from tasks.errors import CorpusgateError, RunError
from tasks.index.store import LanceIndex
from tasks.installed import version
from tasks.lake.files import write_text
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.quarantine import Quarantine
from tasks.lake.runs import Runs
from tasks.machine import machine_is_named
from tasks.memory import share_freed_memory
from tasks.notify.webhook import Delivery, deliver, error_message, verdict_message
from tasks.run.configuration import Configuration, load_configuration
from tasks.run.context import Progress, RunContext
from tasks.run.keys import code_digest, digest
from tasks.run.options import WHOLE, RunOptions
from tasks.run.preflight import check_before_running
from tasks.run.registry import scorers
from tasks.run.retry import forget_failures
from tasks.run.upkeep import look_after
from tasks.run.withholding import withhold


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that came to its end: the verdict, its folder, what became of the candidate, and of the message about it
    (null where none was asked for)."""

    verdict: Verdict
    folder: Path
    promotion: str
    changed_outputs: tuple[str, ...] = ()
    """A sentence for each forced stage whose output came out otherwise under the same version and settings."""
    notified: Delivery | None = None


def launch(
    config: Path,
    *,
    progress: Progress,
    wait: float,
    fail_on: FailOn = "fail",
    options: RunOptions = WHOLE,
    within_flow: bool = False,
) -> Finished:
    """Runs a configuration from plan to promotion, and tells the webhook how it ended where one is configured.

    Args:
        config: the configuration's file.
        progress: who is told how far the run is.
        wait: seconds to wait for another run on the same lake.
        fail_on: from which verdict on the candidate is not promoted.
        options: which part of the corpus, which stages by force, which documents in quarantine once more.
        within_flow: the caller is a flow run: the API that it is under is used, whatever the environment says.

    Raises:
        ConfigurationError: the configuration is wrong.
        RunError: the run itself failed; its manifest then says `failed` and why.
    """
    share_freed_memory()
    configuration = load_configuration(config)
    lake = Lake(configuration.lake)
    begun: list[RunContext] = []
    try:
        lake.create()
        with lake.exclusive(wait):
            check_before_running(configuration, lake, asks_sources=options.asks_sources)
            with nullcontext() if within_flow else starting_server(lake.root / "prefect") as server:
                begun.append(context := open_context(configuration, lake, progress, fail_on, options, config))
                with _withheld(context), _recorded(context), machine_is_named("the run"):
                    if server is None:
                        verdict, promotion = _flow(context, None)
                    else:
                        with server.connected() as url:
                            verdict, promotion = _flow(context, url)
            promotion += _looked_after(context)
    except CorpusgateError as error:
        run_id = begun[0].run_id if begun else None
        if (told := _notify(configuration, lake, run_id, error_message(run_id, error))) is not None:
            error.add_note(told.sentence)
        raise
    message = verdict_message(verdict, fail_on=fail_on, folder=context.folder, promotion=promotion)
    told = _notify(configuration, lake, context.run_id, message)
    return Finished(verdict, context.folder, promotion, context.reworked.sentences(), told)


def _looked_after(context: RunContext) -> str:
    """Nothing, or why the lake was not looked after: the run itself is whole, and may be live."""
    try:
        look_after(context)
    except RunError as error:
        Runs(context.lake).update(context.run_id, not_looked_after=str(error))
        return f"; old and small files were left as they are: {error}"
    return ""


@contextmanager
def _withheld(context: RunContext) -> Iterator[None]:
    """Where the lake keeps no text from before redaction, a run that breaks off leaves none either."""
    try:
        yield
    except BaseException as error:
        try:
            withhold(context.configuration, context.lake)
        except RunError as left:
            error.add_note(f"{left}; {left.remedy}")
        raise


@contextmanager
def _recorded(context: RunContext) -> Iterator[None]:
    """Writes into the run's manifest how it ended when it did not end well."""
    runs = Runs(context.lake)
    try:
        yield
    except CorpusgateError as error:
        runs.update(context.run_id, status="failed", error=str(error), finished_at=_now())
        raise
    except Exception as error:
        runs.update(context.run_id, status="failed", error=type(error).__name__, finished_at=_now())
        trace = context.folder / "error.txt"
        if context.configuration.run.redact_only:  # the error's own words may be a document's
            places = "".join(traceback.format_tb(error.__traceback__))
            write_text(trace, f"{type(error).__name__}\n{places}")
        else:
            write_text(trace, "".join(traceback.format_exception(error)))
        raise RunError(
            f"run {context.run_id} failed: {type(error).__name__} (a defect of corpusgate or below it)",
            remedy=f"give the same command again: what is done is kept; if it fails the same way, report {trace}",
        ) from error
    except BaseException:  # Ctrl-C, or a worker that ends the flow run's process
        runs.update(context.run_id, status="killed", finished_at=_now())
        raise


def _notify(
    configuration: Configuration, lake: Lake, run_id: str | None, message: Mapping[str, Any]
) -> Delivery | None:
    """Tells the webhook, and records in the run's manifest what came of it."""
    delivery = deliver(configuration.notify, message) if configuration.notify else None
    if delivery is not None and run_id is not None:
        Runs(lake).update(run_id, notified={"at": _now(), **asdict(delivery)})
    return delivery


def open_context(
    configuration: Configuration,
    lake: Lake,
    progress: Progress,
    fail_on: FailOn = "fail",
    options: RunOptions = WHOLE,
    config: Path | None = None,
) -> RunContext:
    """A new run in a lake that this process holds; `config` is the file of its configuration, where there is one."""
    now = datetime.now(UTC)
    withhold(configuration, lake, resting=True)
    ledger = Ledger(lake.ledger)
    ledger.compact()
    Runs(lake).mark_killed()
    _record_promotion(configuration, lake)
    if options.retry is not None:
        forget_failures(ledger, options.retry)
    quarantine = Quarantine(lake.quarantine)
    context = RunContext(Runs(lake).new_id(now), configuration, lake, ledger, quarantine, progress, fail_on, options)
    Runs(lake).update(
        context.run_id,
        status="running",
        started_at=now.isoformat(),
        code_version=version("corpusgate"),
        code_digest=code_digest(context.bases),
        configuration_file=None if config is None else str(config),
        configuration_digest=digest(configuration.model_dump(mode="json")),
        stage_bases={name.value: base for name, base in context.bases.items()},
        stage_settings=configuration.stages.model_dump(mode="json"),
        scorers=scorers(),
        redact_only=configuration.run.redact_only,
        retried=None if options.retry is None else len(options.retry),
    )
    return context


def _record_promotion(configuration: Configuration, lake: Lake) -> None:
    """A run that was killed between going live and saying so is said to be live now."""
    live = LanceIndex(lake.index, configuration.stages.index).live()
    runs = Runs(lake)
    if live is not None and not runs.manifest(live.generation.run_id).get("promoted_at"):
        runs.update(live.generation.run_id, promoted_at=live.flipped_at.isoformat())


def _flow(context: RunContext, url: str | None) -> tuple[Verdict, str]:
    """Runs the flow. With a `url`, keeps Prefect's logs off the console and waits until the server recorded it."""
    # Imported late: the private server's settings must stand before Prefect is first imported.
    from flows.pipeline import ingest
    from flows.session import opened
    from tasks.run.session import Session

    if url is not None:
        _keep_logs_off_the_console()
    started = datetime.now(UTC)
    session = Session(context)
    with opened(session):
        verdict = ingest(context.run_id)
    if context.configuration.run.score_alone:
        session.score_alone()
    session.report()
    if url is not None:
        wait_until_recorded(url, session.task_runs(), since=started)
    Runs(context.lake).update(context.run_id, status="finished", finished_at=_now())
    return verdict, session.promotion


def _keep_logs_off_the_console() -> None:
    """Prefect's log lines go to its own pages; the terminal shows progress. PREFECT_LOGGING_LEVEL brings them back.

    Of a task run that ended well there is no line: its state says so.
    """
    if "PREFECT_LOGGING_LEVEL" in os.environ:
        return
    logging.getLogger("prefect.task_runs").setLevel(logging.WARNING)
    from prefect.logging.handlers import PrefectConsoleHandler

    for logger in (logging.getLogger(), logging.getLogger("prefect")):
        for handler in list(logger.handlers):
            if isinstance(handler, PrefectConsoleHandler):
                logger.removeHandler(handler)


def _now() -> str:
    return datetime.now(UTC).isoformat()
