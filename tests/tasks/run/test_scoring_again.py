"""What later runs read stays as it is when an earlier run is scored again."""

from pathlib import Path

import pytest

from schemas.names import StageName
from tasks.run.fetching import run_fetch
from tests.tasks.run.runs_by_hand import started


def test_scoring_again_leaves_the_rows_that_a_later_run_reads(tmp_path: Path) -> None:
    source = [{"name": "s", "type": "files", "root": str(tmp_path / "in")}]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("The gate opens at 3 m.\n", encoding="utf-8")
    files = []
    sessions = [started(tmp_path / "lake", number, source) for number in (1, 2)]
    for session in sessions:
        batches = [run_fetch(session.context, batch) for batch in session.plan()]
        session.close_scan(batches)
        session.evaluate(StageName.FETCH, batches)
        session.rescore(StageName.FETCH)
        (place,) = session.runs.locations(session.context.run_id).to_pylist()
        files.append(place["measures_file"])
    first = [path for path in (tmp_path / "lake" / "measures" / "fetch").iterdir() if path.stem.endswith("00001")]
    before = {path: path.read_bytes() for path in first}
    again = sessions[0].rescore(StageName.FETCH)
    assert again == sessions[0].rescore(StageName.FETCH)
    assert {path: path.read_bytes() for path in first} == before
    assert (
        len({*files, *(p["measures_file"] for p in sessions[0].runs.locations("20260101t000001-aaaa").to_pylist())})
        == 3
    )


@pytest.mark.parametrize("stage", [StageName.PII, StageName.INDEX])
def test_what_reads_an_index_that_is_kept_no_more_stays_as_it_was(tmp_path: Path, stage: StageName) -> None:
    session = started(tmp_path / "lake", 1, [{"name": "s", "type": "files", "root": str(tmp_path)}])
    run_id = session.context.run_id
    facts = session.context.lake.run(run_id) / "facts" / f"{stage}.parquet"
    facts.parent.mkdir(parents=True)
    facts.write_bytes(b"as it was")
    gone = {"table": "chunks-1", "version": 7, "run_id": run_id, "dimension": 3, "embedding": "m@1"}
    session.runs.update(run_id, candidate=gone)
    assert session.rescore(stage) is None
    assert facts.read_bytes() == b"as it was"
