"""What a run left, as plain rows that can be compared with another run's."""

from typing import Any

import pyarrow.compute as pc

from schemas.names import StageName
from schemas.stages import STAGE_OUTPUTS
from tasks.figures.measures import stage_measures
from tasks.lake.files import read_table
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs

COSTS = {
    "seconds",
    "latency_seconds",
    "seconds_per_page",
    "peak_rss",
    "freshness_lag_seconds",
    "freshness_lag_actual_seconds",
}
"""Measures that differ between two runs over the same bytes."""


def run_rows(lake: Lake, run_id: str) -> dict[str, list[dict[str, Any]]]:
    """Outputs, outcomes and metric rows of a run, sorted; times, memory, attempts and run ids apart."""
    locations = Runs(lake).locations(run_id)
    found: dict[str, list[dict[str, Any]]] = {
        "outcomes": locations.select(["document_id", "stage", "stage_key", "outcome", "reason"]).to_pylist()
    }
    for stage, schema in STAGE_OUTPUTS.items():
        here = locations.filter((pc.field("stage") == str(stage)) & pc.field("file").is_valid())
        rows: list[dict[str, Any]] = []
        for file in sorted(set(here.column("file").to_pylist())):
            ids = here.filter(pc.field("file") == file).column("document_id").to_pylist()
            rows += read_table(lake.root / file, schema, document_ids=ids).to_pylist()
        found[str(stage)] = sorted(rows, key=lambda row: row["document_id"])
    for stage in StageName:
        measured = stage_measures(lake, run_id, stage, locations).to_pylist()
        found[f"measures {stage}"] = [row for row in measured if row["metric"] not in COSTS]
    return found
