"""Samples of a run's measures in the cascade and alone, measure by measure."""

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from schemas.names import StageName
from tasks.figures.catalogue import Catalogue
from tasks.figures.samples import details, document_samples
from tasks.lake.layout import Lake
from tasks.lake.views import connect_run

_LOST = """
    SELECT DISTINCT document_id FROM detail
    WHERE metric = $metric AND status = 'lost_upstream' AND slice_key IS NULL AND document_id IS NOT NULL
    ORDER BY ALL
"""


def beside_samples(lake: Lake, run_id: str, catalogue: Catalogue) -> Iterator[tuple[pa.Table, pa.Table, pa.Table]]:
    """Of each measure with a direction that was scored alone: its samples in the cascade, its samples alone, and the
    documents (`document_id`) of which the cascade lost passages before the stage that are there alone.

    Nothing where the run was not scored alone.
    """
    if not lake.alone(run_id, "inputs").exists():
        return
    with connect_run(lake, run_id, stages=()) as cascade, connect_run(lake, run_id, stages=()) as alone:
        scored = _scored(alone, catalogue)
        if not scored:
            return
        alone.execute("CREATE OR REPLACE TEMP VIEW measures AS SELECT * FROM alone")
        both = zip(details(cascade, catalogue, scored, scored), details(alone, catalogue, scored, scored), strict=True)
        for stage, _ in both:
            for metric in scored[stage]:
                gone = [part.sql(_LOST, params={"metric": metric}).to_arrow_table() for part in (cascade, alone)]
                there = set(gone[1].column("document_id").to_pylist())
                lost = gone[0].filter(
                    pa.array([i not in there for i in gone[0]["document_id"].to_pylist()], pa.bool_())
                )
                yield document_samples(cascade, [metric]), document_samples(alone, [metric]), lost


def _scored(connection: duckdb.DuckDBPyConnection, catalogue: Catalogue) -> dict[str, list[str]]:
    rows = connection.sql("SELECT DISTINCT stage::VARCHAR, metric::VARCHAR FROM alone").fetchall()
    found: dict[str, list[str]] = {}
    for stage in StageName:
        names = sorted(metric for name, metric in rows if name == stage)
        if judged := [name for name in names if catalogue.get(stage, name).direction != "none"]:
            found[stage.value] = judged
    return found
