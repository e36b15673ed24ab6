"""Sessions of runs with chosen ids, driven step by step in this process."""

from pathlib import Path
from typing import Any

from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.quarantine import Quarantine
from tasks.run.configuration import Configuration
from tasks.run.context import RunContext
from tasks.run.session import Session


def started(lake: Path, number: int, sources: list[dict[str, Any]], **stages: dict[str, Any]) -> Session:
    """A run that began `number` seconds into 2026."""
    configuration = Configuration.model_validate({"lake": lake, "sources": sources, "stages": stages})
    where = Lake(lake)
    where.create()
    run_id = f"20260101t{number:06}-aaaa"
    session = Session(RunContext(run_id, configuration, where, Ledger(where.ledger), Quarantine(where.quarantine)))
    session.runs.update(run_id, started_at=f"2026-01-01T00:00:{number:02}+00:00")
    return session
