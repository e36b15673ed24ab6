"""A lake that an older version wrote is read, and only what the versions since demand is computed again."""

import tarfile
from pathlib import Path

import pytest

from schemas.names import StageName
from tasks.figures.catalogue import load_catalogue
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.report.status import read_status
from tasks.report.trace import read_trace
from tasks.report.write import write_report
from tasks.run.configuration import load_configuration
from tasks.run.doctor import examine
from tests.engine import run_engine

OLD = sorted((Path(__file__).parent / "old_lake").glob("*.tar.xz"))


@pytest.fixture(params=OLD, ids=[path.name for path in OLD])
def configuration(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "corpusgate.yaml"


def test_its_runs_are_told_and_reported(configuration: Path) -> None:
    lake, catalogue = Lake(configuration.parent / "lake"), load_catalogue()
    lake.create()
    first, second = Runs(lake).ids()
    assert [line.live for line in read_status(lake).runs] == [True, False]
    for run_id in (first, second):
        write_report(lake, run_id, catalogue)
        assert run_id in (lake.run(run_id) / "report.md").read_text(encoding="utf-8")
        trace = read_trace(lake, run_id, "pumps.md", catalogue)
        assert [stage["outcome"] for stage in trace.stages] == ["ok"] * 11
    assert read_trace(lake, first, "lamps.md", catalogue).stages[5]["outcome"] in ("ok", "dropped")
    findings = list(examine(load_configuration(configuration), lake, deep=True))
    assert all(finding.ok for finding in findings), findings


def test_a_new_run_computes_only_what_other_versions_demand(configuration: Path) -> None:
    before = Runs(Lake(configuration.parent / "lake"))
    last = before.manifest(before.ids()[-1])
    run = run_engine(configuration)
    bases = run.session.runs.manifest(run.session.context.run_id)["stage_bases"]
    same = True
    for stage in StageName:
        same = same and bases[stage] == last["stage_bases"][stage]
        computed = {of[stage]["computed"] for of in run.locations.values() if stage in of}
        assert computed == {False} or not same, stage
    assert run.verdict.baseline == last["run_id"]
    assert {row["cohort"] for row in run.session.runs.plan(run.session.context.run_id).to_pylist()} == {"unchanged"}
