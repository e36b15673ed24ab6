"""With `run.redact_only` no file of the lake holds text from before redaction, and later runs work all the same."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from typer.testing import CliRunner

import tasks.fetch.stage as fetch_stage
from flows.cli.app import app
from schemas.names import StageName
from tasks.document_rows import ids_of
from tasks.errors import ConfigurationError
from tasks.figures.measures import stage_measures
from tasks.lake.erased import place_digest
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.run import brought_back
from tasks.run.configuration import load_configuration
from tasks.run.guarded import run_guarded
from tasks.run.repair import repair
from tasks.run.session import Session
from tasks.stage import Batch, Stage, StageOutput
from tests.engine import EngineRun, run_engine
from tests.tasks.erase.marked_corpus import places_of
from tests.tasks.fetch.web_server import Reply, serving
from tests.tasks.withhold.personal_corpus import (
    COPY,
    LETTER,
    MAIL,
    NAME,
    NAMED_AFTER,
    PLANTED,
    TEXTS,
    TIDES,
    write,
    write_corpus,
)

ALL = {"letters/[EMAIL_ADDRESS]", "minutes.md", "tides.md", "mail/berth.eml"}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read from the source, as they are."""
    names: list[str] = []
    read_file: Callable[[str, int], bytes] = fetch_stage.read_file

    def counted(locator: str, limit: int) -> bytes:
        names.append(Path(locator).name)
        return read_file(locator, limit)

    monkeypatch.setattr(fetch_stage, "read_file", counted)
    return names


def left_in(configuration: Path) -> set[tuple[str, str]]:
    return places_of(configuration.parent / "lake", PLANTED)


def computed(run: EngineRun) -> dict[str, set[StageName]]:
    made = {path: {stage for stage, row in of.items() if row["computed"]} for path, of in run.locations.items()}
    return {path: stages for path, stages in made.items() if stages}


def figures(run: EngineRun) -> list[dict[str, Any]]:
    """What follows from the texts and the labels alone."""
    context = run.session.context
    rows = []
    for stage in StageName:
        measured = stage_measures(context.lake, context.run_id, stage, context.runs.locations(context.run_id))
        rows += [row for row in measured.to_pylist() if row["metric"] in _OF_TEXTS]
    assert {row["metric"] for row in rows} == _OF_TEXTS
    return sorted(({name: row[name] for name in _COMPARED} for row in rows), key=repr)


_OF_TEXTS = {"cer", "evidence_survival", "domain_ndcg", "retrieved_evidence_recall"}
_COMPARED = ("stage", "metric", "document_id", "unit_id", "value", "status")


def indexed(run: EngineRun) -> dict[str, str]:
    return {row["uri"]: row["text"] for row in run.live_rows.values()}


def test_without_the_mode_the_lake_is_full_of_it(tmp_path: Path) -> None:
    run_engine(configuration := write_corpus(tmp_path, redact_only=False, asked=True))
    parts = {Path(file).parts[0] for _, file in left_in(configuration) if "@" not in file}
    assert parts >= {"raw", "stages", "gold", "runs"}


def test_no_file_holds_what_pii_masks_and_an_unchanged_corpus_is_not_read_again(
    tmp_path: Path, read: list[str]
) -> None:
    plain = run_engine(write_corpus(tmp_path / "plain", redact_only=False))
    run = run_engine(configuration := write_corpus(tmp_path, redact_only=True))
    assert left_in(configuration) == set()
    lake = Lake(configuration.parent / "lake")
    assert not list(lake.raw.glob("*/*"))
    assert run.promotion.startswith("promoted")
    assert indexed(run) == indexed(plain)
    assert run.verdict.status == plain.verdict.status
    nameless = {path: run.outcome(path) for path in run.locations if path.startswith("doc-")}
    assert sorted(nameless.values()) == [("dropped", StageName.DEDUP), ("quarantined", StageName.PARSE)]
    assert run.locations.keys() - nameless.keys() == ALL
    read.clear()
    again = run_engine(configuration)
    assert computed(again) == {}
    assert read == []
    assert set(again.session.runs.plan(again.session.context.run_id).column("cohort").to_pylist()) == {"unchanged"}
    assert left_in(configuration) == set()


def test_documents_that_questions_are_about_are_read_in_every_run_and_no_others(
    tmp_path: Path, read: list[str]
) -> None:
    plain = run_engine(write_corpus(tmp_path / "plain", redact_only=False, asked=True))
    run = run_engine(configuration := write_corpus(tmp_path, redact_only=True, asked=True))
    assert left_in(configuration) == set()
    read.clear()
    again = run_engine(configuration)
    assert computed(again) == {}
    assert read
    assert set(read) <= {"minutes.md", Path(COPY).name}
    assert figures(again) == figures(run) == figures(plain)
    assert left_in(configuration) == set()


def test_an_edit_takes_that_document_through_and_reads_no_other(tmp_path: Path, read: list[str]) -> None:
    run_engine(configuration := write_corpus(tmp_path, redact_only=True))
    read.clear()
    write(tmp_path, NAMED_AFTER, LETTER.replace("in March", f"with {NAME} in March"))
    again = run_engine(configuration)
    assert set(read) == {Path(NAMED_AFTER).name}
    assert computed(again).keys() == {"letters/[EMAIL_ADDRESS]"}
    assert "with [PERSON] in March" in indexed(again)["letters/[EMAIL_ADDRESS]"]
    assert again.promotion.startswith("promoted")
    assert left_in(configuration) == set()


def test_a_move_keeps_the_document(tmp_path: Path) -> None:
    first = run_engine(configuration := write_corpus(tmp_path, redact_only=True), measured=False)
    (tmp_path / "in" / NAMED_AFTER).rename(tmp_path / "in" / "letters" / f"old-{MAIL}.md")
    again = run_engine(configuration)
    plan = {row["document_id"]: row for row in again.session.runs.plan(again.session.context.run_id).to_pylist()}
    row = plan[first.locations["letters/[EMAIL_ADDRESS]"][StageName.FETCH]["document_id"]]
    assert (row["cohort"], row["previous_uri"]) == ("moved", "letters/[EMAIL_ADDRESS]")
    assert left_in(configuration) == set()


@pytest.mark.parametrize(
    ("stages", "made"),
    [
        ({"chunk": {"max_tokens": 32}}, {StageName.CHUNK, StageName.METADATA, StageName.EMBED, StageName.INDEX}),
        ({"normalize": {"fold_hyphens": False}}, set(list(StageName)[3:])),
    ],
)
def test_other_settings_make_anew_from_the_source_what_a_whole_lake_makes(
    tmp_path: Path, read: list[str], stages: dict[str, Any], made: set[StageName]
) -> None:
    settings = {"pii": {"authors": "mask"}} | stages
    plain = run_engine(write_corpus(tmp_path / "plain", redact_only=False, stages=settings), measured=False)
    run_engine(configuration := write_corpus(tmp_path, redact_only=True), measured=False)
    read.clear()
    configuration = write_corpus(tmp_path, redact_only=True, stages=settings)
    again = run_engine(configuration)
    assert {frozenset(found) for path, found in computed(again).items() if path in ALL} == {frozenset(made)}
    assert set(read) >= {Path(NAMED_AFTER).name, "minutes.md", "tides.md", "berth.eml"}
    assert len(read) == len(set(read))
    assert indexed(again) == indexed(plain)
    assert left_in(configuration) == set()


def test_a_duplicate_comes_back_redacted_when_its_keeper_goes(tmp_path: Path) -> None:
    first = run_engine(configuration := write_corpus(tmp_path, redact_only=True), measured=False)
    kept, gone = ("minutes.md", COPY) if "minutes.md" in indexed(first) else (COPY, "minutes.md")
    (tmp_path / "in" / kept).unlink()
    again = run_engine(configuration)
    (text,) = [text for text in indexed(again).values() if "dredge" in text]
    assert "[PERSON] opened the meeting" in text
    assert left_in(configuration) == set(), gone


def test_what_a_killed_run_left_goes_with_the_next_or_with_a_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    configuration = write_corpus(tmp_path, redact_only=True)
    with monkeypatch.context() as patch:
        patch.setattr(Session, "judge", die)
        with pytest.raises(Killed):
            run_engine(configuration)
    assert {Path(file).parts[0] for _, file in left_in(configuration)} >= {"raw", "stages", "runs"}
    (said,) = repair(load_configuration(configuration), Lake(configuration.parent / "lake"))
    assert "before redaction" in said
    assert left_in(configuration) == set()
    run = run_engine(configuration)
    assert run.promotion.startswith("promoted")
    assert indexed(run).keys() == ALL
    assert left_in(configuration) == set()
    # Nothing is left to remove, and nothing is said.
    (run.session.context.lake.cache / "duckdb").mkdir(exist_ok=True)
    assert list(repair(load_configuration(configuration), run.session.context.lake)) == []


def test_a_lake_that_was_full_of_it_is_clean_after_one_run_with_the_mode(tmp_path: Path) -> None:
    run_engine(configuration := write_corpus(tmp_path, redact_only=False))
    write(tmp_path, "tides.md", TIDES + "\nNobody knows why.\n")
    run_engine(configuration, measured=False)
    write(tmp_path, "tides.md", TIDES)
    write_corpus(tmp_path, redact_only=True)
    run = run_engine(configuration)
    assert left_in(configuration) == set()
    assert computed(run).keys() <= {"tides.md"}
    assert len(Runs(run.session.context.lake).ids()) == 3


def test_labels_are_scored_in_a_lake_that_keeps_texts_again(tmp_path: Path) -> None:
    plain = run_engine(write_corpus(tmp_path / "plain", redact_only=False, asked=True))
    run_engine(write_corpus(tmp_path, redact_only=True), measured=False)
    shutil.rmtree(tmp_path / "gold")
    run = run_engine(write_corpus(tmp_path, redact_only=False, asked=True))
    assert {stage for stages in computed(run).values() for stage in stages} == {StageName.FETCH}
    assert figures(run) == figures(plain)


def test_a_row_that_cannot_be_made_again_leaves_its_document_unscored_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_engine(write_corpus(tmp_path, redact_only=True), measured=False)
    lost = first.locations["minutes.md"][StageName.FETCH]["document_id"]

    def cut_short(stage: Stage[Any], batch: Batch, *others: Any, **named: Any) -> StageOutput:
        output = run_guarded(stage, batch, *others, **named)
        return replace(output, partial={lost: "its end"} if lost in ids_of(output.table) else {})

    monkeypatch.setattr(brought_back, "run_guarded", cut_short)
    shutil.rmtree(tmp_path / "gold")
    run = run_engine(write_corpus(tmp_path, redact_only=False, asked=True))
    context = run.session.context
    measured = stage_measures(context.lake, context.run_id, StageName.NORMALIZE, context.runs.locations(context.run_id))
    scored = {row["document_id"] for row in measured.to_pylist() if row["metric"] == "evidence_survival"}
    assert scored == {run.locations[COPY][StageName.FETCH]["document_id"]}


def test_a_document_that_its_source_no_longer_gives_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_engine(write_corpus(tmp_path, redact_only=True), measured=False)
    configuration = write_corpus(tmp_path, redact_only=True, stages={"chunk": {"max_tokens": 32}})
    read_file = fetch_stage.read_file

    def other_bytes(locator: str, limit: int) -> bytes:
        return b"written meanwhile" if locator.endswith("tides.md") else read_file(locator, limit)

    monkeypatch.setattr(fetch_stage, "read_file", other_bytes)
    run = run_engine(configuration)
    failed = [path for path in run.locations if run.outcome(path) == ("quarantined", StageName.PII)]
    assert len(failed) == 1
    (row,) = (
        run.session.context.quarantine.read(run.session.context.run_id).filter(pc.field("stage") == "pii").to_pylist()
    )
    assert (row["error_class"], row["transient"]) == ("raw_missing", True)


def test_a_source_that_retains_documents_is_refused(tmp_path: Path) -> None:
    sources = [{"name": "desk", "type": "files", "root": "in", "on_source_removed": "retain"}]
    with pytest.raises(ConfigurationError, match="redact_only keeps no text"):
        load_configuration(write_corpus(tmp_path, redact_only=True, sources=sources))


def test_a_web_server_is_asked_as_ever_and_an_unchanged_page_costs_no_body(tmp_path: Path) -> None:
    with serving() as site:
        told = {"Content-Type": "text/markdown", "ETag": '"1"'}
        url = site.on("/letter.md", Reply(body=LETTER.encode(), headers=told), Reply(status=304, headers=told))
        sources = [{"name": "desk", "type": "http", "urls": [url]}]
        stages = {"fetch": {"allow_private_addresses": True}}
        configuration = write_corpus(tmp_path, redact_only=True, sources=sources, stages=stages, gold=[])
        run_engine(configuration)
        assert left_in(configuration) == set()
        again = run_engine(configuration)
        assert {stage for stages in computed(again).values() for stage in stages} == {StageName.FETCH}
        assert [request.get("if-none-match") for request in site.requests["/letter.md"]] == [None, '"1"']
        assert left_in(configuration) == set()


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "last"],
        ["evaluate", "last", "--alone"],
        ["quarantine", "retry", "--all"],
        ["sweep", "stages.chunk.max_tokens=64,128"],
        ["trace", "minutes.md", "--words"],
    ],
)
def test_what_needs_texts_is_refused_and_says_so(refusing: Path, command: list[str]) -> None:
    done = CliRunner().invoke(app, [*command, "--config", str(refusing)])
    assert isinstance(done.exception, ConfigurationError)
    assert "run.redact_only" in str(done.exception)


def test_what_needs_none_works(refusing: Path) -> None:
    for command in (
        ["gate", "last"],
        ["trace", "minutes.md"],
        ["report"],
        ["quarantine", "list"],
        ["doctor", "--deep"],
    ):
        done = CliRunner().invoke(app, [*command, "--config", str(refusing)], catch_exceptions=False)
        assert done.exit_code == 0, (command, done.output)


def test_a_trace_says_what_is_not_kept(refusing: Path) -> None:
    command = ["trace", "minutes.md", "--config", str(refusing)]
    said = CliRunner().invoke(app, command, catch_exceptions=False).output
    lines = {stage: next(line for line in said.splitlines() if f" {stage} " in line) for stage in StageName}
    assert lines[StageName.PARSE].endswith("elements not kept (redact-only)")
    assert lines[StageName.NORMALIZE].endswith("rows not kept (redact-only)")
    assert " 1 chunks" in lines[StageName.CHUNK]
    assert said.count("not kept") == 2
    assert "stages/parse" not in said
    assert "stages/chunk" in said


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_engine(configuration := write_corpus(tmp_path_factory.mktemp("refusing"), redact_only=True))
    return configuration


def test_a_document_is_erased_by_the_path_that_its_source_has(tmp_path: Path) -> None:
    configuration = write_corpus(tmp_path, redact_only=True)
    gone = run_engine(configuration).session.runs
    command = ["erase", NAMED_AFTER, "--yes", "--config", str(configuration)]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (kept,) = gone.ids()
    assert gone.plan(kept).num_rows == len(TEXTS) - 1
    assert place_digest("desk", NAMED_AFTER) not in gone.plan(kept).column("place").to_pylist()
