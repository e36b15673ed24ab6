"""Where low figures come from, read off a lake: by place always, by words only when asked for."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from schemas.documents import DOCUMENTS
from schemas.measures import MEASURES
from schemas.names import StageName
from schemas.stages import PARSE
from tasks.figures.catalogue import load_catalogue
from tasks.gold.kinds import TextLabel
from tasks.gold.labels import BoundLabel, Labels
from tasks.gold.table import LABELS, to_batches
from tasks.lake.files import read_table, write_batches, write_table
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.metrics.rows import MetricRows, concat_rows
from tasks.parse.evaluator import evaluate
from tasks.report.queries import connect, run_query
from tasks.report.trace import print_trace, read_trace
from tasks.run.scoring import stamp
from tasks.stage import Batch, Evidence, StageSettings
from tests.raw_bytes import NoRaw
from tests.tasks.report.lake_by_hand import ARTICLE, NEW, REPORT, lake_by_hand

CATALOGUE = load_catalogue()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The lake by hand; the report was parsed as "PRIVATE TEXT", its label says more, two pages gave nothing."""
    lake = lake_by_hand(tmp_path_factory.mktemp("lake"))
    _lose_pages(lake, [3, 7])
    labels = Labels("g@1", {(REPORT, "text"): BoundLabel.of(TextLabel(text="A PRIVATE TEST too"), REPORT, False)})
    write_batches(to_batches(labels), lake.gold / "abc.parquet", LABELS)
    Runs(lake).update(NEW, gold_digest="abc")
    parsed = read_table(lake.stage(StageName.PARSE) / f"{NEW}-00001.parquet", PARSE)
    rows = evaluate(Evidence(Batch(DOCUMENTS.empty_table(), {}), parsed, labels, {}, NoRaw()), StageSettings())
    keys, digests = {REPORT: REPORT, ARTICLE: ARTICLE}, {REPORT: "label"}
    cells = MetricRows(StageName.PARSE)
    for row, column, fault in ((2, 13, "missing"), (2, 2, "invented"), (2, 2, "missing"), (10, 1, "shifted")):
        unit_id = f"{REPORT}#table-0-row-{row}-column-{column}"
        cells.value("wrong_cells", REPORT, 1.0, unit_id=unit_id, slice_of=("fault", fault))
    path = lake.measures(StageName.PARSE) / f"{NEW}.parquet"
    write_table(stamp(concat_rows([rows, cells.table()]), keys, "g", digests), path, MEASURES)
    _write_facts(lake)
    return lake


def _lose_pages(lake: Lake, pages: list[int]) -> None:
    path = lake.stage(StageName.PARSE) / f"{NEW}-00001.parquet"
    rows = read_table(path, PARSE).to_pylist()
    rows = [row | {"pages_without_output": pages} if row["document_id"] == REPORT else row for row in rows]
    write_table(pa.Table.from_pylist(rows, schema=PARSE), path, PARSE)


def _write_facts(lake: Lake) -> None:
    spans, pairs = MetricRows(StageName.PII), MetricRows(StageName.DEDUP)
    for metric, fault in (("pii_recall", "missing"), ("pii_precision", "invented")):
        unit_id = f"{REPORT}#span-4-9-STAFF-ID"
        spans.ratio(metric, REPORT, 0, 1, unit_id=unit_id, slice_of=("fault", fault))
    for metric, wrong in (("false_merge_rate", 1), ("missed_merge_rate", 0)):
        pairs.ratio(metric, REPORT, wrong, 1, unit_id=f"{REPORT}|{ARTICLE}")
    for stage, rows in ((StageName.PII, spans), (StageName.DEDUP, pairs)):
        path = lake.run(NEW) / "facts" / f"{stage}.parquet"
        write_table(stamp(rows.table(), {REPORT: REPORT}, "g", {}), path, MEASURES)


def _details(lake: Lake, **parameters: str | int) -> list[dict[str, Any]]:
    with connect(lake, NEW, CATALOGUE, figures=False) as connection:
        return run_query(connection, "details", parameters).to_pylist()


def test_edits_are_told_by_their_places_in_both_texts(lake: Lake) -> None:
    # A PRIVATE TEST too   against   PRIVATE TEXT: by hand
    #           1111111111
    # 01234567890123456789
    edits = [
        (r["fault"], r["edits"], r["start"], r["end"], r["found_start"], r["found_end"])
        for r in _details(lake, metric="cer")
    ]
    assert edits == [("missing", 4, 14, 18, 12, 12), ("missing", 2, 0, 2, 0, 0), ("changed", 1, 12, 13, 10, 11)]
    words = [
        (r["fault"], r["edits"], r["start"], r["end"], r["found_start"], r["found_end"])
        for r in _details(lake, metric="wer")
    ]
    assert words == [("changed", 2, 2, 4, 1, 2), ("missing", 1, 0, 1, 0, 0)]


def test_cells_spans_and_pages_are_told_by_their_places(lake: Lake) -> None:
    cells = [
        (r["table_number"], r["row_number"], r["column_number"], r["fault"])
        for r in _details(lake, metric="wrong_cells")
    ]
    assert cells == [(1, 2, 2, "invented"), (1, 2, 2, "missing"), (1, 2, 13, "missing"), (1, 10, 1, "shifted")]
    spans = [
        (r["metric"], r["fault"], r["entity_type"], r["start"], r["end"]) for r in _details(lake) if r["stage"] == "pii"
    ]
    assert spans == [("pii_precision", "invented", "STAFF-ID", 4, 9), ("pii_recall", "missing", "STAFF-ID", 4, 9)]
    assert [r["page"] for r in _details(lake, metric="page_completeness")] == [3, 7]


def test_a_falsely_merged_pair_stands_under_both_of_its_documents(lake: Lake) -> None:
    pairs = {(r["document_id"], r["other_document_id"], r["fault"]) for r in _details(lake) if r["stage"] == "dedup"}
    assert pairs == {(REPORT, ARTICLE, "falsely_merged"), (ARTICLE, REPORT, "falsely_merged")}
    (one,) = _details(lake, document_id=ARTICLE)
    assert one["other_document_id"] == REPORT


def test_fault_and_number_narrow_the_rows(lake: Lake) -> None:
    assert {r["metric"] for r in _details(lake, fault="invented")} == {"wrong_cells", "pii_precision"}
    assert len(_details(lake, most=2)) == 2


def _printed(lake: Lake, tmp_path: Path, *, words: bool) -> str:
    path = tmp_path / "trace.txt"
    with path.open("w", encoding="utf-8") as file:
        print_trace(Console(file=file, width=200), read_trace(lake, NEW, REPORT, CATALOGUE, words=words), CATALOGUE)
    return path.read_text(encoding="utf-8")


def test_trace_shows_places_and_words_only_when_asked_for(lake: Lake, tmp_path: Path) -> None:
    plain, asked = _printed(lake, tmp_path, words=False), _printed(lake, tmp_path, words=True)
    for said in (
        "characters missing: expected characters 14 to 18",
        "characters changed: expected characters 12 to 13, found 10 to 11",
        "words changed: expected words 2 to 4, found 1 to 2",
        "table 1, row 2: column 2 invented and missing, column 13 missing",
        "without output: page 3, 7",
        "STAFF-ID missing: characters 4 to 9",
        f"falsely merged with {ARTICLE}",
    ):
        assert said in plain
        assert said in asked
    assert "TEST" not in plain
    assert "TEXT" not in plain
    assert "words changed: expected words 2 to 4, found 1 to 2: “TEST too” → “TEXT”" in asked
    assert "characters changed: expected characters 12 to 13, found 10 to 11: “S” → “X”" in asked


def test_trace_for_machines_holds_words_only_when_asked_for(lake: Lake) -> None:
    plain = read_trace(lake, NEW, REPORT, CATALOGUE).to_json()
    assert "TEST" not in json.dumps(plain, default=str)
    asked = read_trace(lake, NEW, REPORT, CATALOGUE, words=True).to_json()
    assert [d["expected_text"] for d in asked["details"] if d["metric"] == "wer"] == ["TEST too", "A"]


def test_places_enter_no_figure(lake: Lake) -> None:
    with connect(lake, NEW, CATALOGUE) as connection:
        figures = connection.sql(
            "SELECT metric, value, items FROM figures WHERE metric IN ('cer', 'pii_recall', 'pii_precision') "
            "AND (slice_key = 'fault' OR slice_key IS NULL) AND doc_class IS NULL AND cohort IS NULL"
        ).fetchall()
    # 7 of 18 characters of the report; the hostile file, which failed, counts 10 of 10.
    assert figures == [("cer", pytest.approx(17 / 28), 2)]
