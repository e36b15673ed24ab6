"""A forced stage computes again; what comes out otherwise under the same key is told, and later stages follow it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from schemas.names import StageName
from tasks.run import registry
from tasks.run.forced import changed_outputs
from tasks.run.options import RunOptions
from tasks.stage import Batch, StageOutput
from tests.engine import EngineRun, run_engine
from tests.tasks.run.notes import computed, configuration, live_names, write_notes


def force(*stages: str) -> RunOptions:
    return RunOptions(force=frozenset(map(StageName, stages)))


def forced(run: EngineRun) -> dict[str, Any]:
    told: dict[str, Any] = run.session.runs.manifest(run.session.context.run_id)["forced"]
    return told


def test_a_forced_stage_computes_all_and_later_ones_nothing_where_it_gives_the_same(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 5)
    settings = configuration(tmp_path, run={"batch_size": 2})
    first = run_engine(settings, measured=False)
    for stages in (("parse", "embed"), ("fetch",), ("dedup",)):
        run = run_engine(settings, force(*stages), measured=False)
        assert computed(run) == dict.fromkeys(stages, 5)
        assert {found["changed"] for found in forced(run).values()} == {0}
        assert run.promotion.startswith("nothing to promote")
    rebuilt = run_engine(settings, force("index"))
    assert computed(rebuilt) == {"index": 5}
    assert rebuilt.promotion.startswith("promoted")
    assert rebuilt.live_rows == first.live_rows
    assert computed(run_engine(settings, measured=False)) == {}


def test_an_output_that_changed_without_its_version_is_told_and_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_notes(tmp_path / "notes", 5)
    settings = configuration(tmp_path)
    run_engine(settings, measured=False)
    stage = registry.STAGES[StageName.NORMALIZE]

    def shouting(batch: Batch, *rest: Any) -> StageOutput:
        """The stage after somebody has changed its code: the ferry is written in capitals."""
        output = stage.run(batch, *rest)
        rows = output.table.to_pylist()
        for row in rows:
            row["text"] = row["text"].replace("ferry", "FERRY")
        return replace(output, table=pa.Table.from_pylist(rows, schema=output.table.schema))

    monkeypatch.setattr(
        "tasks.run.execute.STAGES", dict(registry.STAGES) | {StageName.NORMALIZE: replace(stage, run=shouting)}
    )
    unseen = run_engine(settings, measured=False)
    assert computed(unseen) == {}, "under the same version and settings nobody looks"

    seen = run_engine(settings, force("normalize"))
    told = forced(seen)["normalize"]
    assert (told["computed"], told["changed"]) == (5, 1)
    assert seen.session.context.reworked.sentences()[0].startswith(
        "stage normalize gave another output for 1 of 5 documents, though its version"
    )
    (finding,) = [f for f in seen.verdict.reasons if f.metric == "output_changed"]
    assert (finding.stage, finding.severity, finding.value) == ("normalize", "warn", 1.0)
    after = ("language", "dedup", "pii", "chunk", "metadata", "embed", "index")
    assert computed(seen) == {"normalize": 5} | dict.fromkeys(after, 1)
    assert seen.promotion.startswith("promoted")
    (ferry,) = {row["uri"] for row in seen.live_rows.values() if "FERRY" in row["text"]}
    assert ferry == "ferry.md"

    # The next run goes on from there, forced or not, and costs are found.
    assert computed(run_engine(settings, measured=False)) == {}
    again = run_engine(settings, force("normalize"), measured=False)
    assert computed(again) == {"normalize": 5}
    assert forced(again)["normalize"]["changed"] == 0
    assert len(live_names(again)) == 5


@pytest.mark.parametrize("forced_again", [True, False])
def test_what_was_cut_short_and_comes_out_otherwise_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forced_again: bool
) -> None:
    """A document that a limit of time cut short is tried again by every run, under one key each time."""
    write_notes(tmp_path / "notes", 3)
    settings = configuration(tmp_path)
    stage = registry.STAGES[StageName.NORMALIZE]
    word = "ferry"

    def cut_short(batch: Batch, *rest: Any) -> StageOutput:
        output = stage.run(batch, *rest)
        rows = output.table.to_pylist()
        partial = {row["document_id"]: "page 2" for row in rows if "ferry" in row["text"]}
        for row in rows:
            row["text"] = row["text"].replace("ferry", word)
        return replace(output, table=pa.Table.from_pylist(rows, schema=output.table.schema), partial=partial)

    monkeypatch.setattr(
        "tasks.run.execute.STAGES", dict(registry.STAGES) | {StageName.NORMALIZE: replace(stage, run=cut_short)}
    )
    run_engine(settings, measured=False)
    assert computed(run_engine(settings, measured=False)) == {"normalize": 1}

    word = "FERRY"
    options = force("normalize") if forced_again else RunOptions()
    seen = run_engine(settings, options, measured=False)
    after = ("language", "dedup", "pii", "chunk", "metadata", "embed", "index")
    assert computed(seen) == {"normalize": 3 if forced_again else 1} | dict.fromkeys(after, 1)
    assert any("FERRY" in row["text"] for row in seen.live_rows.values())
    if forced_again:
        assert forced(seen)["normalize"]["changed"] == 1
    assert computed(run_engine(settings, measured=False)) == {"normalize": 1}, "what follows goes on from there"


def test_other_signatures_under_the_same_key_are_decided_on_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_notes(tmp_path / "notes", 5)
    settings = configuration(tmp_path)
    run_engine(settings, measured=False)
    stage = registry.STAGES[StageName.DEDUP]

    def alike(batch: Batch, *rest: Any) -> StageOutput:
        """The stage after somebody has changed what two texts are held by: all are copies of each other."""
        output = stage.run(batch, *rest)
        rows = [row | {"text_sha": "0" * 64} for row in output.table.to_pylist()]
        return replace(output, table=pa.Table.from_pylist(rows, schema=output.table.schema))

    with monkeypatch.context() as patch:
        changed = dict(registry.STAGES) | {StageName.DEDUP: replace(stage, run=alike)}
        patch.setattr("tasks.run.deduplicate.STAGES", changed)
        part = run_engine(settings, replace(force("dedup"), limit=2), measured=False)
    # The last whole scan decided from other signatures.
    whole = run_engine(settings, measured=False)
    assert forced(part)["signature"]["changed"] > 0
    assert whole.session.runs.manifest(whole.session.context.run_id)["decided_as"] is None


def test_numbers_may_differ_by_the_order_of_their_addition_and_answers_of_servers_at_all() -> None:
    before = [{"document_id": "d", "vector": [0.25, 0.5], "text": "a"}]
    assert changed_outputs("embed", before, [{"document_id": "d", "vector": [0.25, 0.5000001], "text": "a"}]) == {}
    assert changed_outputs("embed", before, [{"document_id": "d", "vector": [0.25, 0.51], "text": "a"}]).keys() == {"d"}
    assert changed_outputs("embed", before, [{"document_id": "d", "vector": [0.25], "text": "a"}]).keys() == {"d"}
    told = [{"document_id": "d", "content_sha": "x", "etag": "1"}]
    assert changed_outputs("fetch", told, [{"document_id": "d", "content_sha": "x", "etag": "2"}]) == {}
