"""The flow that is deployed: a run as `corpusgate run` makes it, under the Prefect API that called for it.

It opens its run itself, from the path of a configuration, so that any worker on whose machine that path exists can run
it. A candidate that is not let through makes the flow run FAILED, so that Prefect's own alarms see it.
"""

import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.launch import Finished, launch
from flows.with_parent import die_with_parent
from schemas.names import StageName
from schemas.verdict import EXIT_UNDETERMINED, FailOn
from tasks.counted import counted
from tasks.errors import CorpusgateError
from tasks.proposed import addressed
from tasks.report.terminal import answer_line, blame_lines
from tasks.report.values import markdown_text

ARTIFACT = "corpusgate-verdict"
"""Key of the artifact that says what the gate decided."""

SERVED_BY = "CORPUSGATE_SERVED_BY"
"""Environment variable with the process id of the `corpusgate serve` that starts these runs."""


@flow(name="recheck", persist_result=False)
def recheck(config: str, fail_on: FailOn = "fail", wait: float = 600.0) -> State[None]:
    """Takes the corpus of a configuration through all stages, judges the new index and promotes it.

    Args:
        config: Path of the configuration, on the machine of the worker.
        fail_on: From which verdict on the flow run fails and the candidate is not promoted.
        wait: Seconds to wait for another run on the same lake.
    """
    _end_with_server()
    logger = get_run_logger()
    try:
        finished = launch(Path(config), progress=_Logged(logger.info), wait=wait, fail_on=fail_on, within_flow=True)
    except CorpusgateError as error:
        for note in getattr(error, "__notes__", ()):
            logger.warning(note)
        # A state and not the exception, so that its message says what to do.
        return Failed(message=f"{error}; what to do: {addressed(error.remedy, Path(config))}")
    create_markdown_artifact(key=ARTIFACT, markdown=_page(finished, fail_on), description="What the gate decided")
    if finished.notified is not None:
        logger.log(logging.INFO if finished.notified.delivered else logging.WARNING, finished.notified.sentence)
    message = f"{answer_line(finished.verdict)}; {finished.promotion}"
    exit_code = finished.verdict.exit_code(fail_on)
    if exit_code == 0:
        return Completed(message=message)
    return Failed(name="Undetermined" if exit_code == EXIT_UNDETERMINED else "Blocked", message=message)


def _end_with_server() -> None:
    """A run started by `corpusgate serve` ends with it, even when that is killed outright (Linux). Elsewhere it goes on
    to its end, which harms nothing: the lake has one writer."""
    server = os.environ.get(SERVED_BY)
    if server is not None and sys.platform == "linux":
        die_with_parent(int(server))


def _page(finished: Finished, fail_on: FailOn) -> str:
    """The artifact: verdict, exit code, blame, what blocks, where the report is. No text of documents."""
    verdict = finished.verdict
    lines = [
        f"# {markdown_text(answer_line(verdict))}",
        f"- exit code: {verdict.exit_code(fail_on)}",
        f"- live: {markdown_text(finished.promotion)}",
        f"- report: {markdown_text(str(finished.folder / 'report.html'))}",
    ]
    blame = [f"- {markdown_text(line)}" for line in blame_lines(verdict.blame)]
    rules = Counter(f"{f.rule} ({f.outcome.value})" for f in verdict.reasons if f.blocks)
    blocking = [f"- {markdown_text(rule)}, slices: {count}" for rule, count in rules.items()]
    for heading, found in (("Where it went wrong first", blame), ("Blocking rules", blocking)):
        if found:
            lines += ["", f"## {heading}", "", *found]
    return "\n".join([lines[0], "", *lines[1:]]) + "\n"


class _Logged:
    """Progress in the flow run's log: a line when a stage is through."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._batches = 0
        self._done: Counter[StageName] = Counter()
        self._computed: Counter[StageName] = Counter()
        self._through: Counter[StageName] = Counter()

    def expect(self, documents: int, batches: int) -> None:
        """As `Progress.expect`."""
        self._batches = batches
        self._say(f"plan: {documents} documents")

    def advance(self, stage: StageName, done: int, computed: int) -> None:
        """As `Progress.advance`."""
        with self._lock:
            self._done[stage] += done
            self._computed[stage] += computed
            self._through[stage] += 1
            if self._through[stage] == self._batches:
                self._say(f"{stage}: {counted(self._done[stage], 'document')}, {self._computed[stage]} computed")
