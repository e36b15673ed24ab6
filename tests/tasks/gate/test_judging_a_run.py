"""Judging from the files of a lake: two runs written by hand, the second of which lost tables of one class."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.measures import MEASURES
from schemas.names import MetricStatus, StageName, VerdictStatus
from schemas.stages import STAGE_OUTPUTS
from schemas.verdict import Finding, FindingOutcome, Verdict
from tasks.errors import ConfigurationError, RunError
from tasks.figures.catalogue import load_catalogue
from tasks.gate.blame import mark_consequences
from tasks.gate.judge import judge
from tasks.gate.rules import default_rules
from tasks.gate.settings import GateSettings, Rule
from tasks.lake.files import write_table
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.metrics.rows import MetricRows

DOCUMENT_CLASSES = {f"scan-{i}": "scan" for i in range(8)} | {f"web-{i}": "web" for i in range(8)}
TEDS = Rule(id="teds", stage="parse", metric="teds", kind="guard", max_loss=0.02, slice="class")
SETTINGS = GateSettings(rules=(TEDS,), disabled=tuple(rule.id for rule in default_rules() if rule.id != "teds"))

WriteRun = Callable[..., Lake]


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Writes a run in which every document passed every stage and has one table, with the TEDS of its class."""

    def write(run_id: str, teds: Mapping[str, float], *, lost: str | None = None, **manifest: Any) -> Lake:
        lake = Lake(tmp_path)
        folder = lake.run(run_id)
        plan = [
            {
                "document_id": document_id,
                "source": "s",
                "uri": document_id,
                "locator": document_id,
                "doc_class": doc_class,
                "tenant": "t",
                "groups": [],
                "content_sha": "0",
                "cohort": "unchanged",
            }
            for document_id, doc_class in DOCUMENT_CLASSES.items()
        ]
        write_table(pa.Table.from_pylist(plan, schema=DOCUMENTS), folder / "plan.parquet", DOCUMENTS)
        locations = [
            {
                "document_id": document_id,
                "stage": stage.value,
                "stage_key": "k",
                "outcome": "ok",
                "file": f"stages/{stage}/none.parquet",
                "computed": True,
            }
            for document_id in DOCUMENT_CLASSES
            for stage in StageName
            if not (document_id == lost and stage is StageName.CHUNK)
        ]
        write_table(pa.Table.from_pylist(locations, schema=LOCATIONS), folder / "locations.parquet", LOCATIONS)
        for stage, schema in STAGE_OUTPUTS.items():
            write_table(schema.empty_table(), lake.stage(stage) / "none.parquet", schema)
        rows = MetricRows(StageName.PARSE)
        for document_id, doc_class in DOCUMENT_CLASSES.items():
            rows.value("teds", document_id, teds[doc_class], unit_id="table-0")
        rows.without_value("cer", "scan-0", MetricStatus.STALE_LABEL)
        write_table(rows.table(), folder / "facts" / "parse.parquet", MEASURES)
        Runs(lake).update(run_id, **manifest)
        return lake

    return write


def test_the_class_and_the_stage_that_lost_are_named(write_run: WriteRun) -> None:
    write_run("run-1", {"scan": 0.9, "web": 0.9}, baseline_run=None)
    lake = write_run(
        "run-2", {"scan": 0.6, "web": 0.9}, baseline_run="run-1", gold_digest="g", candidate={"version": 2}
    )
    verdict = judge(lake, "run-2", SETTINGS, load_catalogue())
    assert verdict.status is VerdictStatus.FAIL
    assert {f.slice_value: f.outcome for f in verdict.reasons if f.rule == "teds"} == {
        "scan": FindingOutcome.REGRESSED,
        "web": FindingOutcome.OK,
    }
    by_class = [blame for blame in verdict.blame if blame.doc_class is not None]
    assert [(blame.doc_class, blame.stage, blame.metric) for blame in by_class] == [("scan", "parse", "teds")]
    assert {b.document_id for b in verdict.blame if b.document_id} == {f"scan-{i}" for i in range(8)}
    assert verdict.baseline == "run-1"
    assert verdict.digests["gold"] == "g"
    assert verdict.digests["candidate"]
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_judging_again_gives_the_same_digest_and_other_rules_another(write_run: WriteRun) -> None:
    write_run("run-1", {"scan": 0.9, "web": 0.9}, baseline_run=None)
    lake = write_run("run-2", {"scan": 0.88, "web": 0.9}, baseline_run="run-1")
    verdict = judge(lake, "run-2", SETTINGS, load_catalogue())
    assert judge(lake, "run-2", SETTINGS, load_catalogue()).digest == verdict.digest
    stricter = TEDS.model_copy(update={"max_loss": 0.019})
    other = judge(lake, "run-2", SETTINGS.model_copy(update={"rules": (stricter,)}), load_catalogue())
    assert other.digests["rules"] != verdict.digests["rules"]
    assert other.digest != verdict.digest


def test_a_first_run_is_judged_by_its_bounds(write_run: WriteRun) -> None:
    lake = write_run("run-1", {"scan": 0.9, "web": 0.9}, baseline_run=None)
    verdict = judge(lake, "run-1", SETTINGS, load_catalogue())
    assert verdict.status is VerdictStatus.PASS
    assert [f.outcome for f in verdict.reasons if f.rule == "teds"] == [FindingOutcome.FIRST_RUN]
    # The rules that ship require figures of the index, which this run does not have.
    assert judge(lake, "run-1", GateSettings(), load_catalogue()).exit_code() == 4


def test_a_document_that_got_lost_between_two_stages_is_found(write_run: WriteRun) -> None:
    lake = write_run("run-1", {"scan": 0.9, "web": 0.9}, lost="web-3", baseline_run=None)
    verdict = judge(lake, "run-1", SETTINGS, load_catalogue())
    broken = {f.stage: f.message for f in verdict.reasons if f.violated}
    assert broken == {"chunk": "1 lost", "metadata": "1 from nowhere"}
    assert verdict.status is VerdictStatus.FAIL


def test_a_broken_table_contract_blocks(write_run: WriteRun) -> None:
    lake = write_run("run-1", {"scan": 0.9, "web": 0.9}, baseline_run=None)
    path = lake.run("run-1") / "plan.parquet"
    plan = pq.read_table(path)
    cohorts = pa.array(["somewhen", *plan.column("cohort").to_pylist()[1:]])
    write_table(
        plan.set_column(plan.schema.get_field_index("cohort"), DOCUMENTS.field("cohort"), cohorts), path, DOCUMENTS
    )
    verdict = judge(lake, "run-1", SETTINGS, load_catalogue())
    assert [(f.rule, f.metric, f.value) for f in verdict.reasons if f.violated] == [("contract", "cohort-is-known", 1)]


def test_a_measure_that_the_catalogue_does_not_know_is_not_passed_over(write_run: WriteRun) -> None:
    lake = write_run("run-1", {"scan": 0.9, "web": 0.9}, baseline_run=None)
    rows = MetricRows(StageName.PARSE)
    rows.value("unheard_of", "web-1", 1.0)
    write_table(rows.table(), lake.run("run-1") / "facts" / "other.parquet", MEASURES)
    verdict = judge(lake, "run-1", SETTINGS, load_catalogue())
    assert [f.metric for f in verdict.reasons if f.violated] == ["unheard_of"]


def test_an_anchor_shows_slow_decay(write_run: WriteRun) -> None:
    write_run("run-1", {"scan": 0.95, "web": 0.9}, baseline_run=None)
    write_run("run-2", {"scan": 0.88, "web": 0.9}, baseline_run="run-1")
    lake = write_run("run-3", {"scan": 0.87, "web": 0.9}, baseline_run="run-2")
    settings = SETTINGS.model_copy(update={"anchor": "run-1"})
    verdict = judge(lake, "run-3", settings, load_catalogue())
    assert verdict.anchor == "run-1"
    assert [(f.against, f.slice_value) for f in verdict.reasons if f.violated] == [("anchor", "scan")]


def test_a_baseline_or_anchor_that_is_gone_is_said(write_run: WriteRun) -> None:
    lake = write_run("run-2", {"scan": 0.9, "web": 0.9}, baseline_run="run-1")
    with pytest.raises(RunError, match="run-1, the baseline, are gone"):
        judge(lake, "run-2", SETTINGS, load_catalogue())
    with pytest.raises(ConfigurationError, match=r"gate\.anchor: no run matches 'run-0'"):
        judge(lake, "run-2", SETTINGS.model_copy(update={"anchor": "run-0"}), load_catalogue())


def test_a_baseline_that_could_not_be_measured_as_the_run_is_is_noted(write_run: WriteRun) -> None:
    write_run("run-1", {"scan": 0.9, "web": 0.9}, baseline_run=None)
    told = {"run-1": "the lake keeps no text of it (run.redact_only)"}
    lake = write_run("run-2", {"scan": 0.9, "web": 0.9}, baseline_run="run-1", not_measured_again=told)
    verdict = judge(lake, "run-2", SETTINGS, load_catalogue())
    (note,) = [finding for finding in verdict.reasons if finding.rule == "baseline"]
    assert (note.severity, note.blocks) == ("note", False)
    assert "run-1 could not be measured by the labels and scorers of this run: the lake keeps no text" in note.message
    assert verdict.blame == ()


@pytest.mark.parametrize(("lost", "blocks"), [(0, False), (2, False), (3, True)])
def test_a_gold_set_that_names_no_document_at_all_blocks(write_run: WriteRun, lost: int, blocks: bool) -> None:
    unbound = {"set@1 text": lost} if lost else {}
    lake = write_run("run-1", {"scan": 0.9, "web": 0.9}, gold_labels={"set@1": 3, "none@1": 0}, labels_unbound=unbound)
    verdict = judge(lake, "run-1", SETTINGS, load_catalogue())
    found = [finding for finding in verdict.reasons if finding.rule == "gold"]
    assert [(finding.value, finding.blocks) for finding in found] == ([(3.0, True)] if blocks else [])
    assert (verdict.status is VerdictStatus.FAIL) == blocks


def test_a_document_in_quarantine_is_no_consequence_of_what_others_lost() -> None:
    lost = Finding("teds", StageName.PARSE, "teds", "macro", "fail", FindingOutcome.REGRESSED, "", loss=0.5)
    held = Finding(
        "books", StageName.CHUNK, "unexpected_quarantine", "micro", "fail", FindingOutcome.BROKEN, "", loss=0.1
    )
    later = Finding("kept", StageName.CHUNK, "conservation", "micro", "fail", FindingOutcome.BROKEN, "", loss=0.1)
    marked, _ = mark_consequences([lost, held, later])
    assert [finding.consequence for finding in marked] == [False, False, True]
