"""The figures of a run, made once when a stage is scored and kept in the run's folder."""

import hashlib
from pathlib import Path

import pyarrow as pa

from schemas.figures import FIGURES
from schemas.names import StageName
from tasks.figures.catalogue import Catalogue
from tasks.figures.figures import run_figures
from tasks.lake.files import read_table, write_table
from tasks.lake.layout import Lake
from tasks.lake.views import connect_run, connect_stage

_VERSION = 1
"""Raised whenever the same rows and the same catalogue would give other figures."""


def make_figures(
    lake: Lake, run_id: str, stage: StageName, locations: pa.Table, plan: pa.Table, catalogue: Catalogue
) -> None:
    """Makes the `FIGURES` rows of one stage from the run's own locations and plan (the run need not be finished).

    They replace those made before, under this catalogue or another.
    """
    with connect_stage(lake, run_id, stage, locations, plan) as connection:
        figures = run_figures(connection, catalogue, (stage,))
    path = _path(lake, run_id, stage, catalogue)
    for old in path.parent.parent.glob(f"*/{stage}.parquet"):
        old.unlink(missing_ok=True)
    write_table(figures, path, FIGURES)


def read_figures(lake: Lake, run_id: str, catalogue: Catalogue) -> pa.Table:
    """The `FIGURES` rows of a run; aggregated anew where they were made under another catalogue. Writes nothing."""
    paths = {stage: _path(lake, run_id, stage, catalogue) for stage in StageName}
    if all(path.exists() for path in paths.values()):
        return pa.concat_tables([read_table(path, FIGURES) for path in paths.values()])
    with connect_run(lake, run_id) as connection:
        return run_figures(connection, catalogue)


def read_stage_figures(lake: Lake, run_id: str, stage: StageName, catalogue: Catalogue) -> pa.Table:
    """`read_figures` of one stage; none where the run never came so far."""
    path = _path(lake, run_id, stage, catalogue)
    if path.exists():
        return read_table(path, FIGURES)
    if not (lake.run(run_id) / "locations.parquet").exists():
        return FIGURES.empty_table()
    with connect_run(lake, run_id) as connection:
        return run_figures(connection, catalogue, (stage,))


def _path(lake: Lake, run_id: str, stage: StageName, catalogue: Catalogue) -> Path:
    digest = hashlib.sha256(f"{_VERSION} {catalogue.model_dump_json()}".encode()).hexdigest()[:12]
    return lake.run(run_id) / "figures" / digest / f"{stage}.parquet"
