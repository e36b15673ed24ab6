"""A killed run goes on with the same command; an unchanged one computes nothing; a change re-runs what it shapes."""

import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow.compute as pc
import pytest

from schemas.names import StageName
from tasks.lake.runs import Runs
from tests.flows.corpus import ROOT, change, corpusgate, lake_of, last_run, small_corpus
from tests.flows.rows import run_rows

KILLER = ("tests/flows/killed_at_a_write.py",)

pytestmark = pytest.mark.xdist_group("runs")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, prefect: dict[str, str]) -> Path:
    """A corpus that was run once, without any trouble."""
    configuration = small_corpus(tmp_path_factory.mktemp("undisturbed"))
    done = corpusgate("run", configuration, environment=prefect)
    assert done.returncode == 0, done.stderr
    return configuration


def computed(configuration: Path) -> dict[str, int]:
    """How many documents each stage computed in the newest run."""
    locations = Runs(lake_of(configuration)).locations(last_run(configuration))
    made = locations.filter(pc.field("computed")).column("stage").to_pylist()
    return {stage: made.count(stage) for stage in StageName if made.count(stage)}


@pytest.mark.parametrize(("write", "server"), [(1, "kept"), (24, "kept"), (53, "own"), (82, "kept"), (95, "kept")])
def test_a_run_killed_at_any_write_is_finished_by_the_same_command(
    tmp_path: Path, undisturbed: Path, prefect: dict[str, str], write: int, server: str
) -> None:
    configuration = small_corpus(tmp_path)
    environment = prefect if server == "kept" else {}
    killed = corpusgate("run", configuration, program=KILLER, environment=environment | {"KILL_AT_WRITE": str(write)})
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])]
    psutil.wait_procs(left, timeout=10)
    assert not [process for process in left if process.is_running()]

    again = corpusgate("run", configuration, environment=environment)
    assert again.returncode == 0, again.stderr
    expected = run_rows(lake_of(undisturbed), last_run(undisturbed))
    found = run_rows(lake_of(configuration), last_run(configuration))
    assert found.keys() == expected.keys()
    for part, rows in expected.items():
        assert found[part] == rows, part


def test_an_unchanged_second_run_computes_no_document_and_flips_nothing(
    undisturbed: Path, prefect: dict[str, str]
) -> None:
    live = (lake_of(undisturbed).index / "live.json").read_bytes()
    done = corpusgate("run", undisturbed, environment=prefect)
    assert done.returncode == 0, done.stderr
    assert computed(undisturbed) == {}
    assert (lake_of(undisturbed).index / "live.json").read_bytes() == live


def test_a_new_chunk_size_runs_chunk_and_what_follows_only(tmp_path: Path, prefect: dict[str, str]) -> None:
    configuration = small_corpus(tmp_path, keep=("bulletins",))
    assert corpusgate("run", configuration, environment=prefect).returncode == 0
    change(configuration, lambda settings: settings["stages"]["chunk"].update(max_tokens=120))
    assert corpusgate("run", configuration, environment=prefect).returncode in (0, 1)
    assert set(computed(configuration)) == {"chunk", "metadata", "embed", "index"}


def test_evaluate_rebuilds_equal_rows_from_the_lake_alone(
    undisturbed: Path, command_line: Callable[[Path], Callable[..., tuple[int, str, str]]]
) -> None:
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
