"""The figures of a run and its documents' parts in them, made once when a stage is scored and kept in its folder."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pyarrow as pa

from schemas.figures import FIGURES
from schemas.names import StageName
from tasks.errors import RunError
from tasks.figures.catalogue import Catalogue
from tasks.figures.figures import run_figures, stage_figures
from tasks.figures.samples import details, document_samples
from tasks.figures.stored_samples import StoredSamples, store_samples
from tasks.lake.files import read_table, write_table
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.lake.views import connect_run, connect_stage

_VERSION = 1
"""Raised whenever the same rows and the same catalogue would give other figures."""


def make_figures(
    lake: Lake, run_id: str, stage: StageName, locations: pa.Table, plan: pa.Table, catalogue: Catalogue
) -> None:
    """Makes the `FIGURES` rows of one stage from the run's own locations and plan (the run need not be finished), and
    keeps each document's part in them.

    They replace those made before, under this catalogue or another.
    """
    drop_figures(lake, run_id, stage)
    path, samples = _path(lake, run_id, stage, catalogue), _samples_path(lake, run_id, stage, catalogue)
    with connect_stage(lake, run_id, stage, locations, plan) as connection:
        for _ in details(connection, catalogue, (stage,)):
            store_samples(connection, samples, plan)
            write_table(stage_figures(connection, catalogue, stage), path, FIGURES)


def drop_figures(lake: Lake, run_id: str, stage: StageName) -> None:
    """Forgets what `make_figures` kept of a stage: to be called before the rows change that it was made of, so that a
    run that ends in between has no figures of what is no more. They are then made of the rows where they are read."""
    for name in (f"{stage}.parquet", f"{stage}-samples.parquet"):
        for old in (lake.run(run_id) / "figures").glob(f"*/{name}"):
            old.unlink(missing_ok=True)


def read_figures(lake: Lake, run_id: str, catalogue: Catalogue) -> pa.Table:
    """The `FIGURES` rows of a run; aggregated anew where they were made under another catalogue, or their file is torn.
    Writes nothing."""
    kept = [_kept(_path(lake, run_id, stage, catalogue)) for stage in StageName]
    whole = [table for table in kept if table is not None]
    if len(whole) == len(kept):
        return pa.concat_tables(whole)
    with connect_run(lake, run_id, stages=()) as connection:
        return run_figures(connection, catalogue)


def read_stage_figures(lake: Lake, run_id: str, stage: StageName, catalogue: Catalogue) -> pa.Table:
    """`read_figures` of one stage; none where the run never came so far."""
    if (kept := _kept(_path(lake, run_id, stage, catalogue))) is not None:
        return kept
    if not (lake.run(run_id) / "locations.parquet").exists():
        return FIGURES.empty_table()
    with connect_run(lake, run_id, stages=()) as connection:
        return run_figures(connection, catalogue, (stage,))


def read_samples(
    lake: Lake, run_id: str, catalogue: Catalogue, judged: Collection[tuple[str, str]]
) -> Iterator[tuple[str, str, pa.Table]]:
    """Samples (`SAMPLES`) of these pairs of stage and measure, one pair after the other: stage, measure, samples.

    The order of the pairs is that of the stages, then of the names: the same for every run. What was not kept under
    this catalogue, or for other documents than the run's plan holds now, or lies in a torn file, is made of the metric
    rows.
    """
    stored = StoredSamples(Runs(lake).plan(run_id))
    connection: duckdb.DuckDBPyConnection | None = None
    with ExitStack() as opened:
        for stage in StageName:
            metrics = sorted(metric for of_stage, metric in judged if of_stage == stage)
            path = _samples_path(lake, run_id, stage, catalogue)
            while metrics and (kept := stored.read(path, metrics[0])) is not None:
                yield stage, metrics.pop(0), kept
            if not metrics:
                continue
            connection = connection or opened.enter_context(connect_run(lake, run_id, stages=()))
            for _ in details(connection, catalogue, (stage,), {stage: metrics}):
                yield from ((stage, metric, document_samples(connection, [metric])) for metric in metrics)


def _kept(path: Path) -> pa.Table | None:
    if not path.exists():
        return None
    try:
        return read_table(path, FIGURES)
    except RunError:
        return None  # torn: what it said follows from the rows


def _samples_path(lake: Lake, run_id: str, stage: StageName, catalogue: Catalogue) -> Path:
    return _path(lake, run_id, stage, catalogue).with_name(f"{stage}-samples.parquet")


def _path(lake: Lake, run_id: str, stage: StageName, catalogue: Catalogue) -> Path:
    digest = f"{_VERSION}-{catalogue.digest}"
    return lake.run(run_id) / "figures" / digest / f"{stage}.parquet"
