"""Opening a finished run again, to score or judge it from the lake alone; no Prefect, no source, no stage."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.cli.options import existing_lake
from tasks.errors import ConfigurationError
from tasks.lake.ledger import Ledger
from tasks.lake.quarantine import Quarantine
from tasks.lake.runs import Runs
from tasks.run.context import RunContext
from tasks.run.session import Session


@contextmanager
def reopen(config: Path, name: str) -> Iterator[Session]:
    """The session of a finished run, while this process holds its lake.

    Raises:
        ConfigurationError: there is no such run, or it did not get as far as its gate.
    """
    configuration, lake = existing_lake(config)
    run_id = Runs(lake).resolve(name)
    if not (lake.run(run_id) / "locations.parquet").exists():
        raise ConfigurationError(
            f"run {run_id} did not finish, so there is nothing to score",
            remedy=f"finish it first: corpusgate run {config}",
        )
    with lake.exclusive():
        yield Session(RunContext(run_id, configuration, lake, Ledger(lake.ledger), Quarantine(lake.quarantine)))
