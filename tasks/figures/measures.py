"""The metric rows of a run, read back through its locations."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from schemas.measures import MEASURES
from schemas.names import StageName
from tasks.lake.files import read_table
from tasks.lake.layout import Lake
from tasks.lake.packed import read_stored
from tasks.metrics.rows import concat_rows


def stage_measures(lake: Lake, run_id: str, stage: StageName, locations: pa.Table) -> pa.Table:
    """All metric rows of one stage in one run: those of its documents and its facts, in canonical order."""
    here = locations.filter(pc.field("stage") == str(stage)).filter(pc.field("measures_file").is_valid())
    parts = []
    for file in pc.unique(here.column("measures_file")).to_pylist():
        of_file = here.filter(pc.field("measures_file") == file)
        wanted = set(
            zip(of_file.column("document_id").to_pylist(), of_file.column("stage_key").to_pylist(), strict=True)
        )
        rows = read_stored(lake, file, MEASURES)
        keys = zip(rows.column("document_id").to_pylist(), rows.column("stage_key").to_pylist(), strict=True)
        parts.append(rows.filter(pa.array([key in wanted for key in keys], pa.bool_())))
    facts: Path = lake.run(run_id) / "facts" / f"{stage}.parquet"
    if facts.exists():
        parts.append(read_table(facts, MEASURES))
    return concat_rows(parts)


def table_digest(table: pa.Table) -> str:
    """A SHA-256 over rows in canonical order; equal rows give equal digests."""
    sink = pa.BufferOutputStream()
    plain = concat_rows([table])
    with pa.ipc.new_stream(sink, plain.schema) as writer:
        writer.write_table(plain)
    return hashlib.sha256(sink.getvalue().to_pybytes()).hexdigest()[:32]
