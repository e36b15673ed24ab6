"""`corpusgate sweep` as it is called: exit codes, what it prints, where its files go."""

import json
import sys
from pathlib import Path

import pytest

from flows.cli import main
from tests.engine import run_engine
from tests.tasks.sweep.corpora import near_duplicates


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = near_duplicates(tmp_path_factory.mktemp("corpus"))
    run_engine(made)
    return made


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["corpusgate", "sweep", *map(str, arguments)])
    with pytest.raises(SystemExit) as leaving:
        main()
    return int(leaving.value.code or 0)


def test_a_table_and_its_files(
    configuration: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["stages.dedup.hashes=64,128", "stages.dedup.threshold=0.7,0.9"]
    assert called(monkeypatch, *settings, "-c", configuration, "-m", "pair_f1", "--out", tmp_path / "o") == 0
    printed = capsys.readouterr()
    assert "hashes 128, threshold 0.9" in printed.out
    assert "0.667 ~" in printed.out
    assert "nothing can be shown" in " ".join(printed.out.split())
    assert f"figures, table and plots: {tmp_path / 'o'}" in printed.out
    assert "point 4 of 4: hashes 128, threshold 0.9" in printed.err
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == [
        "dedup.pair_f1.svg", "figures.csv", "figures.parquet", "sweep.html", "sweep.json",
    ]  # fmt: skip


def test_machines_get_json_and_nothing_else(
    configuration: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, "stages.dedup.threshold=0.7,0.9", "-c", configuration, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert {f["value"] for f in said["figures"] if f["measure"] == "dedup.pair_recall"} == {1, 0.5}
    assert (configuration.parent / "lake" / "sweeps" / said["sweep"] / "sweep.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["stages.dedup.hash=64,128"], "stages.dedup.hash"),
        (["stages.dedup.threshold=0.7,7"], "stages.dedup.threshold"),
        (["stages.dedup.threshold=0.7,0.9", "-m", "pair_f9"], "pair_f9"),
        (["stages.dedup.threshold=0.7,0.9", "--run", "1999"], "1999"),
        (["stages.dedup.threshold=0.7,0.9", "--preset", "dedup"], "too much"),
        (["--preset", "everything"], "parsers, boilerplate, dedup, pii, chunks"),
        ([], "either settings with values or a preset"),
    ],
)
def test_mistakes_end_with_2_and_leave_no_sweep(
    configuration: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    sweeps = configuration.parent / "lake" / "sweeps"
    before = sorted(sweeps.glob("*"))
    assert called(monkeypatch, *arguments, "-c", configuration) == 2
    message = capsys.readouterr().err
    assert said in message
    assert "what to do" in message
    assert sorted(sweeps.glob("*")) == before


def test_without_a_run_there_is_nothing_to_sweep_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = near_duplicates(tmp_path)
    assert called(monkeypatch, "stages.dedup.threshold=0.7,0.9", "-c", made) == 2
    assert "there is no lake" in capsys.readouterr().err
