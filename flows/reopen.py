"""Opening a finished run again, to score or judge it from the lake alone; no Prefect, no source, no stage."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from flows.cli.options import existing_lake
from tasks.errors import ConfigurationError
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.quarantine import Quarantine
from tasks.lake.runs import Runs
from tasks.run.configuration import StagesSettings
from tasks.run.context import RunContext
from tasks.run.session import Session
from tasks.run.withholding import refuse_without_texts


@contextmanager
def reopen(config: Path, name: str, *, scores: bool = True) -> Iterator[Session]:
    """The session of a finished run, while this process holds its lake.

    Stages have the settings that the run had, since these made what is scored; the gate's rules are those of now.

    Raises:
        ConfigurationError: there is no such run, it did not get as far as its gate, its settings are not known here, or
            it is to be scored and the lake keeps no text of it.
    """
    configuration, lake = existing_lake(config)
    run_id = Runs(lake).resolve(name)
    if not Runs(lake).is_readable(run_id):
        raise ConfigurationError(
            f"run {run_id} did not finish, so there is nothing to score",
            remedy="finish it first: `corpusgate run`",
        )
    if scores:
        refuse_without_texts(lake, run_id, "scoring a run again")
    configuration = configuration.model_copy(update={"stages": _settings_of(lake, run_id)})
    with lake.exclusive():
        yield Session(RunContext(run_id, configuration, lake, Ledger(lake.ledger), Quarantine(lake.quarantine)))


def _settings_of(lake: Lake, run_id: str) -> StagesSettings:
    try:
        return StagesSettings.model_validate(Runs(lake).manifest(run_id)["stage_settings"])
    except (KeyError, ValidationError) as error:
        raise ConfigurationError(
            f"run {run_id} was made by a version of corpusgate whose settings this one does not know",
            remedy="score it with that version, or run again",
        ) from error
