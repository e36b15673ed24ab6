"""One stage is damaged at a time: the curve of evidence survival falls there and nowhere else, by what was lost."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from schemas.names import StageName
from tasks.lake.views import connect_run
from tasks.report.queries import connect, run_query
from tasks.run import indexing
from tasks.run.registry import STAGES
from tests.engine import ScoredRun, judge_stages, parse_documents
from tests.tasks.survival.damage import Damage, Row, fail, spoil
from tests.tasks.survival.quay_by_hand import MEASURED, curve, falling, write_quay

pytestmark = pytest.mark.xdist_group("survival")


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which the documents are parsed and no more is done; one of them is a scan."""
    configuration = write_quay(tmp_path_factory.mktemp("parsed"))
    parse_documents(configuration)
    return configuration.lake


@pytest.fixture
def quay(tmp_path: Path, parsed: Path) -> Path:
    """A folder with a copy of that lake; what a test asks of parse itself is done in it anew."""
    shutil.copytree(parsed, tmp_path / parsed.name)
    return tmp_path


def falls(run: ScoredRun) -> list[tuple[str, str, int, int]]:
    """Stage, question, passages before and after."""
    context = run.session.context
    with connect(context.lake, context.run_id, run.session.catalogue) as connection:
        rows = run_query(connection, "evidence_lost").to_pylist()
    return [(r["stage"], r["question_id"], r["passages_before"], r["passages_after"]) for r in rows]


def test_nothing_is_lost_where_nothing_is_damaged(quay: Path) -> None:
    run = judge_stages(write_quay(quay))
    assert curve(run.session) == dict.fromkeys(MEASURED, 1.0)
    assert curve(run.session, "note") == curve(run.session, "page") == dict.fromkeys(MEASURED, 1.0)
    assert falls(run) == []
    assert run.outcome("notes/tide.md") == ("dropped", StageName.DEDUP)
    context = run.session.context
    counts = dict(
        connect_run(context.lake, context.run_id)
        .sql("SELECT status::VARCHAR, count(*) FROM measures WHERE metric = 'evidence_survival' GROUP BY ALL")
        .fetchall()
    )
    # Ten questions at eleven stages; at fetch there is no text, and harbour-2 names no passage anywhere.
    assert counts == {"ok": 9 * 10, "not_applicable": 10 + 10}


def test_a_page_that_nobody_reads_is_lost_at_parse(quay: Path) -> None:
    run = judge_stages(write_quay(quay, parse={"ocr": {"engine": "off"}}))
    assert falls(run) == [("parse", "survey-2", 1, 0)]
    assert curve(run.session) == pytest.approx(falling(StageName.PARSE, 1))
    assert curve(run.session, "note") == dict.fromkeys(MEASURED, 1.0)
    assert curve(run.session, "page")[StageName.INDEX] == pytest.approx(3 / 4)


def test_a_document_in_quarantine_is_lost_where_it_failed_and_ever_after(quay: Path) -> None:
    run = judge_stages(write_quay(quay, parse={"max_characters": 1500}))
    assert run.outcome("notes/rota.md") == ("quarantined", StageName.PARSE)
    assert falls(run) == [("parse", "rota-1", 1, 0)]
    assert curve(run.session) == pytest.approx(falling(StageName.PARSE, 1))


def test_a_table_taken_for_boilerplate_is_lost_at_boilerplate(quay: Path) -> None:
    run = judge_stages(write_quay(quay, boilerplate={"include_tables": False, "rescue": False}))
    assert falls(run) == [("boilerplate", "fares-1", 1, 0)]
    assert curve(run.session) == pytest.approx(falling(StageName.BOILERPLATE, 1))


def test_a_wrong_merge_loses_what_the_kept_copy_does_not_say(quay: Path) -> None:
    run = judge_stages(write_quay(quay, dedup={"threshold": 0.6, "bands": 32, "protect_facts": False}))
    assert run.outcome("notes/lock-a.md") == ("dropped", StageName.DEDUP)
    # The bell is rung in both; the hour of the gate is another one.
    assert falls(run) == [("dedup", "lock-2", 1, 0)]
    assert curve(run.session) == pytest.approx(falling(StageName.DEDUP, 1))


def test_a_word_that_redaction_takes_is_lost_at_pii(quay: Path) -> None:
    settings = {"policy": {"PERSON": "keep", "CODE": "mask"}, "deny_list": {"CODE": ["weekday", "saloon"]}}
    run = judge_stages(write_quay(quay, pii=settings))
    # One of the two passages of harbour-1: half a question. No question asks for the saloon.
    assert falls(run) == [("pii", "harbour-1", 2, 1)]
    assert curve(run.session) == pytest.approx(falling(StageName.PII, 0.5))


def test_rows_that_are_not_in_the_index_are_lost_at_index(quay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = indexing.rows_for

    def without_the_gate(*arguments: Any) -> pa.Table:
        rows = make(*arguments)
        kept = ["bell twice" not in text and "keeper walks" not in text for text in rows.column("text").to_pylist()]
        return rows.filter(pa.array(kept))

    monkeypatch.setattr(indexing, "rows_for", without_the_gate)
    run = judge_stages(write_quay(quay))
    # The note on the lock is one chunk, with both of its questions.
    assert falls(run) == [("index", "lock-1", 1, 0), ("index", "lock-2", 1, 0), ("index", "rota-1", 1, 0)]
    assert curve(run.session) == pytest.approx(falling(StageName.INDEX, 3))


def _cut(words: str) -> Damage:
    """A normalize stage that leaves a passage out of the clean text."""

    def change(row: Row, read: dict[StageName, Row]) -> None:
        row["text"] = row["text"].replace(words, "x" * len(words))

    return spoil(change)


def _drop(column: str, words: str) -> Damage:
    """A stage that loses what it made of the chunks that hold the words."""

    def change(row: Row, read: dict[StageName, Row]) -> None:
        chunks = row["chunks"] if column == "chunks" else read[StageName.CHUNK]["chunks"]
        gone = {chunk["chunk_id"] for chunk in chunks if words in chunk["text"]}
        row[column] = [item for item in row[column] if item["chunk_id"] not in gone]

    return spoil(change)


def _fail(path: str) -> Damage:
    """A stage that cannot process one document."""
    return fail(lambda document: document["uri"] == path)


@pytest.mark.parametrize(
    ("stage", "damaged", "lost", "questions"),
    [
        (StageName.NORMALIZE, _cut("ticket is valid for the day"), [("fares-2", 1, 0)], 1),
        (StageName.LANGUAGE, _fail("pages/fares.html"), [("fares-1", 1, 0), ("fares-2", 1, 0)], 2),
        (StageName.CHUNK, _drop("chunks", "moored hulls"), [("harbour-1", 2, 1)], 0.5),
        (StageName.METADATA, _fail("notes/tide-copy.md"), [("tide-1", 1, 0)], 1),
        (StageName.EMBED, _drop("embeddings", "moored hulls"), [("harbour-1", 2, 1)], 0.5),
    ],
    ids=["normalize", "language", "chunk", "metadata", "embed"],
)
def test_a_stage_that_fails_at_its_work_loses_it_there(
    stage: StageName,
    damaged: Damage,
    lost: list[tuple[str, int, int]],
    questions: float,
    quay: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sound = STAGES[stage]
    stand_in = {**STAGES, stage: dataclasses.replace(sound, run=damaged(sound.run))}
    monkeypatch.setattr("tasks.run.execute.STAGES", stand_in)
    run = judge_stages(write_quay(quay, chunk={"max_tokens": 40, "min_tokens": 0}))
    assert falls(run) == [(stage, *rest) for rest in lost]
    assert curve(run.session) == pytest.approx(falling(stage, questions))
