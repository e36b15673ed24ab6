"""status, report, trace, compare, sql and graph as a user gives them, over a lake written by hand."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from flows.cli.inspection import _print_table
from tests.tasks.report.lake_by_hand import ARTICLE, COPY, HOSTILE, NEW, OLD, REPORT, lake_by_hand

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration and its lake."""
    made = tmp_path_factory.mktemp("corpus")
    lake_by_hand(made / "lake")
    (made / "documents").mkdir()
    (made / "corpusgate.yaml").write_text(
        "lake: ./lake\nsources:\n  - {name: files, type: files, root: ./documents}\n", encoding="utf-8"
    )
    return made


@pytest.fixture
def run(folder: Path, command_line: Callable[[Path], Run]) -> Run:
    """The command line in that folder."""
    return command_line(folder)


def test_status_says_what_is_live_and_what_to_do(run: Run) -> None:
    code, out, _ = run("status")
    assert code == 0
    assert f"live  run {OLD}, since 2026-01-01 12:00:00 UTC" in out
    line = next(line for line in out.splitlines() if line.startswith(NEW))
    assert "fail" in line
    assert "1 (1 unexpected)" in line
    assert f"next  corpusgate report {NEW}" in out


def test_status_for_machines_has_the_same(run: Run) -> None:
    code, out, _ = run("status", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["live"]["run_id"] == OLD
    assert [(line["run_id"], line["documents"], line["unexpected"]) for line in found["runs"]] == [
        (NEW, 4, 1),
        (OLD, 2, 0),
    ]


def test_report_prints_markdown_or_the_path_of_the_page(run: Run, folder: Path) -> None:
    assert run("report")[1].startswith(f"# FAIL: run {NEW}")
    code, out, _ = run("report", OLD, "--open")
    assert code == 0
    assert Path(out.strip()).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("name", [REPORT, "doc-11", "1111", "reports/q3-jane-roe.pdf", "q3-jane-roe.pdf"])
def test_trace_finds_a_document_by_any_of_its_names(run: Run, name: str) -> None:
    code, out, _ = run("trace", name)
    assert code == 0
    assert out.startswith("reports/q3-jane-roe.pdf\n")
    assert "parse       ok · computed · 2 s · 1 elements" in out
    assert "cer 0.3, teds 0.75" in out
    assert f"rows in stages/parse/{NEW}-00001.parquet" in out
    assert "start/1 · characters 0 to 12 · 3 tokens · pages 1 to 2" in out
    assert "PRIVATE TEXT" not in out


def test_trace_tells_why_a_document_ended(run: Run) -> None:
    failed = run("trace", HOSTILE)[1]
    assert "QUARANTINED" in failed
    assert "what to do: export it `again`" in failed
    assert "\x1b" not in failed
    dropped = run("trace", COPY)[1]
    assert f"near duplicate of articles/tide.html ({ARTICLE}), similarity 0.938" in dropped
    assert "pii         not reached" in dropped
    assert "kept from an earlier run" in run("trace", ARTICLE)[1]


def test_trace_for_machines_has_eleven_stages(run: Run) -> None:
    found = json.loads(run("trace", REPORT, "--json")[1])
    assert len(found["stages"]) == 11
    assert found["stages"][1]["figures"] == {"cer": 0.3, "teds": 0.75}
    assert "locator" not in found["document"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("trace", "nothing.pdf"), "no document of run"),
        (("trace", "doc-"), "4 documents of run"),
        (("trace", REPORT, "--run", "2027"), "no run matches"),
        (("report", "2026"), "more than one run matches"),
        (("sql", "SELECT nothing FROM nowhere"), "nowhere"),
        (("sql", "DROP VIEW documents"), "only one SELECT"),
        (("sql", "no_such_query"), "no query"),
        (("sql", "quarantine", "--param", "stage"), "KEY=VALUE"),
        (("sql", "quarantine", "--format", "xml"), "--format 'xml' is unknown"),
        (("sql", "two_runs"), "two_runs reads two runs"),
        (("sql", "cost", "--format", "missing/folder/x.parquet"), "cannot be written"),
        (("status", "--config", "absent.yaml"), "absent.yaml"),
    ],
)
def test_a_mistake_ends_in_a_message_a_remedy_and_exit_code_two(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert said in err
    assert "what to do: " in err
    assert "Traceback" not in err


def test_compare_shows_what_got_worse_by_class(run: Run) -> None:
    code, out, _ = run("compare", OLD, "last", "--json")
    rows = {(r["metric"], r["doc_class"]): r for r in json.loads(out)["figures"] if r["stage"] == "parse"}
    assert code == 0
    assert rows["cer", "report"]["difference"] == pytest.approx(13 / 20 - 1 / 10)
    assert rows["cer", "report"]["reading"] == "worse"
    assert ("teds", "report") not in rows  # equal in both
    assert ("seconds", "report") not in rows  # a cost
    assert "no figure differs" in run("compare", OLD, OLD)[1]


def test_sql_gives_rows_as_table_csv_json_and_parquet(run: Run, folder: Path) -> None:
    query = "SELECT document_id, uri FROM documents ORDER BY document_id"
    table = run("sql", query)[1].splitlines()
    assert table[0].split() == ["document_id", "uri"]
    assert table[-1] == "4 rows"
    rows = list(csv.DictReader(io.StringIO(run("sql", query, "--format", "csv")[1])))
    assert [row["document_id"] for row in rows] == [REPORT, HOSTILE, ARTICLE, COPY]
    first = json.loads(run("sql", query, "--format", "json")[1])[0]
    assert first == {"document_id": REPORT, "uri": "reports/q3-jane-roe.pdf"}
    assert run("sql", query, "--format", "rows.parquet")[0] == 0
    assert pq.read_table(folder / "rows.parquet").num_rows == 4


def test_sql_runs_named_queries_and_lists_them(run: Run) -> None:
    code, out, _ = run("sql", "worst_documents", "-p", "metric=cer", "-p", "per_measure=1", "--format", "json")
    assert code == 0
    assert [row["document_id"] for row in json.loads(out)] == [HOSTILE]
    listed = run("sql", "--list")[1]
    assert "worst_documents" in listed
    assert "per_measure (default: 5)" in listed


def test_the_graph_is_a_flowchart_with_the_gate_before_promotion(run: Run) -> None:
    lines = run("graph")[1].splitlines()
    names = {line.split('"')[1]: line.split("[")[0].strip() for line in lines if '"' in line}
    assert lines[0] == "flowchart LR"
    assert f"    {names['gate']} --> {names['promote']}" in lines
    assert len([name for name in names if name.startswith("evaluate ")]) == 11


@pytest.mark.parametrize("command", ["status", "report", "trace", "compare", "sql", "graph"])
def test_every_command_has_help_with_an_example(run: Run, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"corpusgate {command}" in out


def test_on_a_terminal_too_narrow_for_a_table_each_row_is_a_block() -> None:
    rows = pa.table({"path": ["reports/a-rather-long-name.pdf"], "items": [3], "value": pa.array([None], pa.float64())})
    console = Console(width=30, force_terminal=True, color_system=None)
    with console.capture() as capture:
        _print_table(console, rows)
    assert capture.get().splitlines() == ["path   reports/a-rather-long-name.pdf", "items  3", "value  –", "", "1 row"]
