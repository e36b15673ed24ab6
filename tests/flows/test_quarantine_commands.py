"""quarantine list, show and retry as a user gives them, over a lake written by hand."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.cli import main
from tests.tasks.report.lake_by_hand import ARTICLE, HOSTILE, NEW, lake_by_hand

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line beside that lake: exit code, standard output, standard error."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "corpusgate.yaml").write_text(
        "lake: ./lake\nsources:\n  - {name: files, type: files, root: ./documents}\n", encoding="utf-8"
    )
    lake_by_hand(tmp_path / "lake")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["corpusgate", "quarantine", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call


def test_the_list_counts_by_stage_reason_class_and_source(run: Run) -> None:
    code, out, _ = run("list")
    assert code == 0
    (line,) = [line.split() for line in out.splitlines() if line.startswith("parse")]
    assert line == ["parse", "corrupt", "report", "files", "1", "2026-01-01", "12:00:00", "UTC", "on", "request"]
    assert f"next  corpusgate quarantine show {HOSTILE}" in out


def test_the_list_for_machines_has_documents_with_cause_and_remedy(run: Run) -> None:
    code, out, _ = run("list", "--json")
    found = json.loads(out)
    assert (code, found["run"]) == (0, NEW)
    assert [(group["stage"], group["reason"], group["documents"]) for group in found["groups"]] == [
        ("parse", "corrupt", 1)
    ]
    (document,) = found["documents"]
    assert (document["document_id"], document["message"], document["remedy"], document["attempts"]) == (
        HOSTILE,
        "page 3 | is <broken>",
        "export it `again`",
        1,
    )


@pytest.mark.parametrize("only", [("--stage", "fetch"), ("--reason", "timeout"), ("--class", "x"), ("--source", "x")])
def test_what_does_not_fit_is_not_listed(run: Run, only: tuple[str, str]) -> None:
    assert run("list", *only)[1].startswith("nothing in quarantine")


def test_show_tells_cause_remedy_and_attempts(run: Run) -> None:
    code, out, _ = run("show", HOSTILE)
    assert code == 0
    assert "stage parse, corrupt: page 3 | is <broken>" in out
    assert "what to do: export it `again`" in out
    assert f"corpusgate quarantine retry {HOSTILE}" in out
    assert "name its path and the stage parse in gate.expected_quarantine" in out
    assert f"1. 2026-01-01 12:00:00 UTC, run {NEW}: parse, corrupt" in out
    assert "\x1b" not in out
    assert "not in quarantine" in run("show", ARTICLE)[1]
    assert json.loads(run("show", HOSTILE, "--json")[1])["held"]["reason"] == "corrupt"


def test_a_retry_names_what_it_means(run: Run) -> None:
    for arguments, said in (
        ((), "no document is named"),
        ((ARTICLE,), f"{ARTICLE} is not in quarantine"),
        (("--stage", "fetch"), "nothing to try again is in quarantine"),
        (("doc-nowhere",), "no document of run"),
    ):
        code, _, err = run("retry", *arguments)
        assert (code, said in " ".join(err.split())) == (2, True), err
