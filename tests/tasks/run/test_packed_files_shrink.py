"""A packed file of whose rows few are named any more is written anew, whatever its size and whatever names it holds."""

from pathlib import Path

import pyarrow as pa
import pytest

from schemas.stages import DEDUP
from tasks.lake.files import write_table
from tasks.lake.packed import Stored, alive_share, pack, packed_in, read_stored
from tasks.run import upkeep
from tasks.run.upkeep import collect, pack_small_files
from tests.tasks.run.runs_by_hand import started

NAMES, ROWS = 4, 50


@pytest.mark.parametrize(("named", "rewritten"), [(10, True), (24, True), (25, False), (ROWS, False)])
def test_a_packed_file_is_written_anew_once_less_than_half_of_its_rows_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: int, rewritten: bool
) -> None:
    """Of each name some rows are needed, so that no name goes; and every file counts as a large one."""
    monkeypatch.setattr(upkeep, "_LARGE", 0)
    context = started(tmp_path / "lake", 1, [{"name": "s", "type": "files", "root": str(tmp_path)}]).context
    lake, folder = context.lake, context.lake.stage("dedup")
    ids = [f"doc-{number:03d}" for number in range(ROWS)]
    table = pa.table({"document_id": ids, "decision": ["kept"] * ROWS, "cluster_id": ids})
    rows = pa.Table.from_pylist(table.to_pylist(), schema=DEDUP)
    files = [folder / f"run-{number}.parquet" for number in range(NAMES)]
    for path in files:
        write_table(rows, path, DEDUP)
    names = [context.relative(path) for path in files]
    pack(Stored(lake, folder), files, DEDUP, dict.fromkeys(names, ids))
    (old,) = packed_in(folder)
    entry = {"kind": "output", "content_sha": "", "stage": "dedup", "outcome": "ok", "attempt": 1}
    context.ledger.record(
        (
            entry | {"document_id": i, "stage_key": name, "file": name, "run_id": context.run_id}
            for name in names
            for i in ids[:named]
        ),
        "by-hand",
    )

    collect(context, {context.run_id})
    pack_small_files(context)
    (now,) = packed_in(folder)
    assert (now != old) == rewritten
    assert all(read_stored(lake, name, DEDUP, document_ids=ids[:named]).num_rows == named for name in names)
    stored = Stored(lake, folder)
    share = alive_share(stored, now, dict.fromkeys(names, ids[:named]))
    assert share == pytest.approx(1.0 if rewritten else named / ROWS)
    # Once is enough.
    collect(context, {context.run_id})
    pack_small_files(context)
    assert packed_in(folder) == [now]
