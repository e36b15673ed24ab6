"""What the commands that look say while a run is going on, and of documents that came back under another id."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from flows.cli import main
from schemas.documents import DOCUMENTS
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tests.tasks.report.lake_by_hand import ARTICLE, COPY, NEW, REPORT, lake_by_hand

RUNNING = "20260103t000000-cccc"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    (tmp_path / "documents").mkdir()
    (tmp_path / "corpusgate.yaml").write_text(
        "lake: ./lake\nsources:\n  - {name: files, type: files, root: ./documents}\n", encoding="utf-8"
    )
    return lake_by_hand(tmp_path / "lake")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in that folder: exit code, standard output, standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["corpusgate", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call


@pytest.mark.parametrize("status", ["running", "killed", "failed"])
def test_last_is_the_newest_run_that_can_be_read(lake: Lake, run: Run, status: str) -> None:
    Runs(lake).update(RUNNING, status=status, started_at="2026-01-03T00:00:00+00:00")
    code, out, _ = run("trace", REPORT)
    assert (code, f"run {NEW}" in out) == (0, True)
    assert run("report")[1].startswith(f"# FAIL: run {NEW}")
    assert run("sql", "SELECT count(*) FROM documents", "--format", "csv")[1].split() == ["count_star()", "4"]
    assert f"b = run {NEW}" in run("compare", "20260101")[1]
    line = next(line for line in run("status")[1].splitlines() if line.startswith(RUNNING))
    assert status in line


def test_a_run_that_is_being_judged_is_not_the_last_one_yet(lake: Lake, run: Run) -> None:
    Runs(lake).update(NEW, status="running")
    assert "run 20260101t000000-aaaa" in run("trace", REPORT)[1]


def test_a_run_that_is_named_is_meant_and_says_what_it_lacks(lake: Lake, run: Run) -> None:
    Runs(lake).update(RUNNING, status="running", started_at="2026-01-03T00:00:00+00:00")
    code, _, err = run("trace", REPORT, "--run", RUNNING)
    assert (code, "nothing to read" in err) == (2, True)


def set_in_plan(lake: Lake, **changes: dict[str, str]) -> None:
    rows = Runs(lake).plan(NEW).to_pylist()
    for row in rows:
        row |= {
            column: values[row["document_id"]] for column, values in changes.items() if row["document_id"] in values
        }
    Runs(lake).write_plan(NEW, pa.Table.from_pylist(rows, schema=DOCUMENTS))


def test_of_a_path_in_a_renamed_source_the_document_that_is_there_is_traced(lake: Lake, run: Run) -> None:
    path = "articles/tide.html"
    set_in_plan(lake, uri={COPY: path}, source={COPY: "renamed"}, cohort={ARTICLE: "deleted"})
    assert pc.sum(pc.equal(Runs(lake).plan(NEW)["uri"], path)).as_py() == 2
    code, out, _ = run("trace", path)
    assert (code, f"{COPY} · class article · new · source renamed" in out) == (0, True)
    assert ARTICLE in run("trace", ARTICLE)[1]


def test_documents_of_one_path_are_told_apart(lake: Lake, run: Run) -> None:
    set_in_plan(lake, uri={COPY: "articles/tide.html"}, source={COPY: "second"}, doc_class={COPY: "web"})
    code, _, err = run("trace", "articles/tide.html")
    said = " ".join(err.split())
    assert code == 2
    assert f"({ARTICLE}, source files, class article, unchanged)" in said
    assert f"({COPY}, source second, class web, new)" in said
