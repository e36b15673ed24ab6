"""A killed run goes on with the same command; an unchanged one computes nothing; a change re-runs what it shapes."""

import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow.compute as pc
import pytest

from schemas.names import StageName
from tasks.lake.runs import Runs
from tests.engine import run_engine
from tests.flows.corpus import ROOT, change, corpusgate, lake_of, last_run, small_corpus
from tests.flows.rows import run_rows

KILLER = ("tests/flows/killed_at_a_write.py",)

CommandLine = Callable[[Path], Callable[..., tuple[int, str, str]]]

pytestmark = pytest.mark.xdist_group("runs")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that was run once, without any trouble and without Prefect."""
    configuration = small_corpus(tmp_path_factory.mktemp("undisturbed"))
    promotion = run_engine(configuration).promotion
    assert promotion.startswith("promoted"), promotion
    return configuration


def computed(configuration: Path) -> dict[str, int]:
    """How many documents each stage computed in the newest run."""
    locations = Runs(lake_of(configuration)).locations(last_run(configuration))
    made = locations.filter(pc.field("computed")).column("stage").to_pylist()
    return {stage: made.count(stage) for stage in StageName if made.count(stage)}


@pytest.mark.parametrize(("write", "server"), [(1, "kept"), (24, "kept"), (53, "own"), (82, "kept"), (95, "kept")])
def test_a_run_killed_at_any_write_is_finished_by_the_same_command(
    tmp_path: Path,
    undisturbed: Path,
    recorded_command_line: CommandLine,
    prefect: dict[str, str],
    write: int,
    server: str,
) -> None:
    configuration = small_corpus(tmp_path)
    environment = prefect if server == "kept" else {}
    killed = corpusgate("run", configuration, program=KILLER, environment=environment | {"KILL_AT_WRITE": str(write)})
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])]
    psutil.wait_procs(left, timeout=10)
    assert not [process for process in left if process.is_running()]

    if server == "own":
        again = corpusgate("run", configuration)
        assert again.returncode == 0, again.stderr
    else:
        code, _, err = recorded_command_line(tmp_path)("run", str(configuration))
        assert code == 0, err
    expected = run_rows(lake_of(undisturbed), last_run(undisturbed))
    found = run_rows(lake_of(configuration), last_run(configuration))
    assert found.keys() == expected.keys()
    for part, rows in expected.items():
        assert found[part] == rows, part


def test_an_unchanged_second_run_computes_no_document_and_flips_nothing(
    undisturbed: Path, recorded_command_line: CommandLine
) -> None:
    live = (lake_of(undisturbed).index / "live.json").read_bytes()
    code, _, err = recorded_command_line(undisturbed.parent)("run", str(undisturbed))
    assert code == 0, err
    assert computed(undisturbed) == {}
    assert (lake_of(undisturbed).index / "live.json").read_bytes() == live


def test_a_new_chunk_size_runs_chunk_and_what_follows_only(tmp_path: Path, recorded_command_line: CommandLine) -> None:
    configuration = small_corpus(tmp_path, keep=("bulletins",))
    run_engine(configuration, measured=False)
    change(configuration, lambda settings: settings["stages"]["chunk"].update(max_tokens=120))
    code, _, err = recorded_command_line(tmp_path)("run", str(configuration))
    assert code in (0, 1), err
    assert set(computed(configuration)) == {"chunk", "metadata", "embed", "index"}


def test_evaluate_rebuilds_equal_rows_from_the_lake_alone(undisturbed: Path, command_line: CommandLine) -> None:
    lake, run_id = lake_of(undisturbed), last_run(undisturbed)
    before = run_rows(lake, run_id)
    hidden = undisturbed.parent / "corpus-elsewhere"
    (undisturbed.parent / "corpus").rename(hidden)
    for path in lake.root.glob("measures/*/*.parquet"):
        path.unlink()
    call = command_line(undisturbed.parent)
    try:
        for stage in StageName:
            code, _, err = call("evaluate", run_id, "--stage", stage, "--config", str(undisturbed))
            assert code == 0, err
        after = run_rows(lake, run_id)
    finally:
        hidden.rename(undisturbed.parent / "corpus")
    for part, rows in before.items():
        assert after[part] == rows, part


def test_the_killer_script_is_where_the_test_looks_for_it() -> None:
    assert (ROOT / KILLER[0]).is_file()
