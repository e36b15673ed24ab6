"""After `erase` no file of the lake holds anything of the document, and everything that is kept works on."""

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tasks.erase.steps as steps
import tasks.index.generations as generations
import tasks.index.store as store
import tasks.index.table_folder as table_folder
import tasks.index.writing as writing
from flows.cli.app import app
from flows.reopen import reopen
from schemas.names import StageName
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.run.configuration import load_configuration
from tests.engine import run_engine
from tests.flows.corpus import corpusgate
from tests.tasks.embedding.server import Server
from tests.tasks.erase.marked_corpus import CHANGED, IN_PATH, PARTS, PATH, WORDS, places_of, write, write_corpus

KILLER = ("tests/flows/killed_at_a_write.py",)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """An embedding endpoint, whose vectors the lake keeps in its cache."""
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Path:
    """A corpus after three promoted runs: every kept generation of the index holds the document.

    Of the last one alone there are figures and a report to be made anew.
    """
    return three_runs(tmp_path_factory.mktemp("grown"), server, measured=(False, False, True))


def three_runs(folder: Path, server: Server, *, measured: tuple[bool, bool, bool]) -> Path:
    configuration = write_corpus(
        folder, embed={"model": "endpoint", "endpoint": {"url": server.url, "model": "m", "dimension": 3}}
    )
    for part, changed in zip(measured, (None, *CHANGED), strict=True):
        if changed is not None:
            write(folder, changed, CHANGED[changed])
        run = run_engine(configuration, measured=part)
        assert run.promotion.startswith("promoted" if part else "live without"), (run.promotion, run.verdict.reasons)
    return folder


@pytest.fixture
def corpus(grown: Path, tmp_path: Path) -> Path:
    """A copy of its own; returns the configuration."""
    shutil.copytree(grown, tmp_path / "corpus")
    return tmp_path / "corpus" / "corpusgate.yaml"


def erase(configuration: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["erase", *arguments, "--config", str(configuration)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def lake_of(configuration: Path) -> Path:
    return configuration.parent / "lake"


def live_texts(configuration: Path) -> dict[str, str]:
    """What the live generation holds, by path."""
    view = store.LanceIndex(
        lake_of(configuration) / "index", load_configuration(configuration).stages.index
    ).open_live()
    assert view is not None
    return {row["uri"]: row["text"] for part in view.rows(["uri", "text"]) for row in part.to_pylist()}


def test_no_byte_of_the_document_is_left_and_all_that_is_kept_works_on(tmp_path: Path, server: Server) -> None:
    corpus = three_runs(tmp_path, server, measured=(True, True, True)) / "corpusgate.yaml"
    lake = lake_of(corpus)
    before = places_of(lake, WORDS)
    assert {word for word, _ in before} == set(WORDS)
    assert {"raw", "stages", "runs", "gold", "index"} <= {Path(file).parts[0] for _, file in before if "@" not in file}

    parsed = next((lake / "stages" / "parse").glob("*.parquet")).read_bytes()
    (lake / "torn" / "stages").mkdir(parents=True)
    (lake / "torn" / "stages" / "parse.parquet").write_bytes(parsed[: len(parsed) // 2])

    told = json.loads(erase(corpus, PATH, "--yes", "--json"))["erased"]
    assert not (lake / "torn").exists()
    assert len(told) == 1
    assert len(told[0]["anew"]) == 3
    assert not told[0]["retired"]
    assert told[0]["raw"] == 2
    assert told[0]["vectors"] >= 2
    assert places_of(lake, WORDS) == set()
    assert not list(lake.rglob(".*.tmp"))

    runs = Runs(Lake(lake))
    assert len(runs.ids()) == 3
    for run_id in runs.ids():
        with reopen(corpus, run_id) as session:
            assert session.index_is_kept()
            for stage in StageName:
                session.rescore(stage)
            session.rejudge()
        report = (lake / "runs" / run_id / "report.md").read_text(encoding="utf-8")
        assert run_id in report

    again = run_engine(corpus)
    assert PATH not in again.locations
    assert again.locations.keys() == PARTS.keys() - {PATH}
    assert not [row for stages in again.locations.values() for row in stages.values() if row["computed"]]
    assert runs.manifest(again.session.context.run_id)["skipped"] == {"notes": {"erased": 1}}
    assert {row["uri"] for row in again.live_rows.values()} == PARTS.keys() - {PATH}
    assert again.found("ferry bell", 1, by="keyword")[0]["uri"] == "notes/ferry.md"
    # The gold set outside the lake still names it in a pair of another document, and the run has read that set anew.
    assert {(word, Path(file).parts[0]) for word, file in places_of(lake, WORDS)} == {(IN_PATH, "gold")}


def test_a_rollback_after_it_leads_to_a_generation_without_the_document(corpus: Path) -> None:
    erase(corpus, PATH, "--yes")
    done = CliRunner().invoke(app, ["rollback", "--config", str(corpus)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    texts = live_texts(corpus)
    assert texts.keys() == PARTS.keys() - {PATH}
    # The generation before the last change, as it was.
    assert "three metres" in texts["notes/weir.md"]


def test_it_is_asked_first_and_a_no_changes_nothing(corpus: Path) -> None:
    before = {path: path.read_bytes() for path in lake_of(corpus).rglob("*.parquet")}
    done = CliRunner().invoke(app, ["erase", PATH, "--config", str(corpus)])
    assert done.exit_code != 0
    assert "--yes" in str(getattr(done.exception, "remedy", ""))
    assert {path: path.read_bytes() for path in lake_of(corpus).rglob("*.parquet")} == before
    assert not (lake_of(corpus) / "erased.json").exists()


def test_a_document_that_was_moved_is_not_taken_in_again_and_its_twin_is(corpus: Path) -> None:
    folder = corpus.parent
    write(folder, "notes/twin.md", CHANGED[PATH])
    both = run_engine(corpus, measured=False)
    assert sorted(both.outcome(path)[0] for path in (PATH, "notes/twin.md")) == ["dropped", "ok"]
    told = erase(corpus, PATH, "--yes")
    assert "say the same, and stay" in told
    (folder / "in" / PATH).rename(folder / "in" / "notes" / "moved.md")
    again = run_engine(corpus, measured=False)
    assert again.locations.keys() == {"notes/twin.md", *PARTS} - {PATH}
    assert again.outcome("notes/twin.md") == ("ok", StageName.INDEX)


def test_what_was_erased_comes_back_when_it_is_allowed(corpus: Path) -> None:
    erase(corpus, PATH, "--yes")
    assert "erased before" in erase(corpus, PATH, "--yes")
    erase(corpus, PATH, "--allow-again")
    assert run_engine(corpus, measured=False).outcome(PATH) == ("ok", StageName.INDEX)


SEAMS: list[tuple[Any, str, str]] = [
    (steps, "rewrite_labels", "after"),
    (steps, "remove_rows", "after"),
    (writing, "create_scalar_indexes", "after"),
    (generations, "write_text", "after"),
    (generations, "write_json", "after"),
    (table_folder, "delete_untagged", "before"),
    (steps, "keep_vectors", "after"),
    (steps, "make_figures", "before"),
    (steps, "write_report", "before"),
]


@pytest.mark.parametrize(("owner", "name", "when"), SEAMS, ids=[f"{name}-{when}" for _, name, when in SEAMS])
def test_ended_anywhere_the_same_command_finishes(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, when: str
) -> None:
    original = getattr(owner, name)

    def seam(*arguments: Any, **named: Any) -> Any:
        if when == "after":
            original(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, seam)
        ended = CliRunner().invoke(app, ["erase", PATH, "--yes", "--config", str(corpus)])
        assert ended.exit_code != 0
    # A run in between may work on the lake; it takes nothing of the document in.
    if name in ("remove_rows", "write_text"):
        assert PATH not in run_engine(corpus, measured=False).locations
    erase(corpus, PATH, "--yes")
    assert places_of(lake_of(corpus), WORDS) == set()
    assert live_texts(corpus).keys() == PARTS.keys() - {PATH}
    if name in ("write_json", "keep_vectors"):
        assert run_engine(corpus, measured=False).locations.keys() == PARTS.keys() - {PATH}


@pytest.mark.parametrize("write", [1, 2, 3, 60, 101])
def test_killed_at_a_write_the_same_command_finishes(corpus: Path, write: int) -> None:
    command = ("erase", PATH, "--yes", "--config", corpus)
    killed = corpusgate(*command, program=KILLER, environment={"KILL_AT_WRITE": str(write)})
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    erase(corpus, PATH, "--yes")
    assert places_of(lake_of(corpus), WORDS) == set()
    assert not list(lake_of(corpus).rglob(".*.tmp"))
    assert live_texts(corpus).keys() == PARTS.keys() - {PATH}


def test_tombstones_name_nothing(corpus: Path) -> None:
    erase(corpus, PATH, "--yes")
    (stone,) = json.loads((lake_of(corpus) / "erased.json").read_text(encoding="utf-8"))["documents"]
    assert stone["finished_at"]
    assert stone["document_id"].startswith("doc-")
    assert all(len(digest) == 64 for digest in (*stone["places"], *stone["contents"]))
    assert not (lake_of(corpus) / "raw").joinpath(stone["contents"][0][:2], stone["contents"][0]).exists()
