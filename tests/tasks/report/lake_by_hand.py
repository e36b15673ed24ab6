"""A lake of two runs, written row by row, so that every figure in a report can be worked out on paper.

The earlier run, `OLD`, has two documents and went live. In the later run, `NEW`, the report got worse, a hostile file
came and failed in parse, and a copy of the article came and was dropped.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.ledger import QUARANTINE
from schemas.measures import MEASURES
from schemas.names import MetricStatus, StageName, VerdictStatus
from schemas.stages import CHUNK, DEDUP, PARSE, PII
from schemas.verdict import Blame, Finding, FindingOutcome, Verdict
from tasks.lake.files import write_json, write_table
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.metrics.rows import MetricRows, concat_rows
from tasks.run.scoring import stamp

OLD, NEW = "20260101t000000-aaaa", "20260102t000000-bbbb"
REPORT, HOSTILE, ARTICLE, COPY = "doc-1111", "doc-2222", "doc-3333", "doc-4444"
HOSTILE_PATH = "reports/x | `y` <script>alert(1)</script>\n\x1b[31m\u202efdp.exe"

_URIS = {
    REPORT: "reports/q3-jane-roe.pdf",
    HOSTILE: HOSTILE_PATH,
    ARTICLE: "articles/tide.html",
    COPY: "articles/tide-copy.html",
}
_CLASSES = {REPORT: "report", HOSTILE: "report", ARTICLE: "article", COPY: "article"}
_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def lake_by_hand(root: Path) -> Lake:
    """Writes both runs and says which one is live."""
    lake = Lake(root)
    lake.create()
    _write_run(lake, OLD, {REPORT: "new", ARTICLE: "new"}, {REPORT: (1, 10), ARTICLE: (0, 20)}, None)
    cohorts = {REPORT: "changed", HOSTILE: "new", ARTICLE: "unchanged", COPY: "new"}
    _write_run(lake, NEW, cohorts, {REPORT: (3, 10), ARTICLE: (0, 20)}, OLD)
    generation = {"table": "chunks", "version": 1, "run_id": OLD, "dimension": 2, "embedding": "m@1"}
    record = {
        "number": 1,
        "action": "promote",
        "generation": generation,
        "verdict_digest": "d",
        "flipped_at": _NOON.isoformat(),
    }
    write_json(lake.index / "live.json", record)
    return lake


def findings() -> tuple[Finding, ...]:
    """What the gate said of the later run."""
    return (
        Finding(
            "cer-guard", "parse", "cer", "micro", "fail", FindingOutcome.REGRESSED, "0.65 was 0.1 | worse <b>",
            slice_key="class", slice_value="report", value=0.65, items=2, baseline_value=0.1, loss=0.2, paired=1,
            against="live",
        ),
        Finding(
            "chunk-conserves", "chunk", "conservation", "micro", "fail", FindingOutcome.BROKEN, "0.9; must be 1",
            slice_key="class", slice_value="report", value=0.9, items=1, consequence=True,
        ),
        Finding(
            "quarantine", "parse", "unexpected_quarantine", "micro", "warn", FindingOutcome.BROKEN, "0.25; must be 0",
        ),
        Finding("article-cer", "parse", "cer", "micro", "fail", FindingOutcome.OK, "held", slice_key="class",
                slice_value="article", value=0.0, items=1),
        Finding("ann", "index", "ann_recall_at_k", "micro", "warn", FindingOutcome.NOT_APPLICABLE, "no data"),
    )  # fmt: skip


def verdict(run_id: str, status: VerdictStatus, reasons: Iterable[Finding] = ()) -> Verdict:
    """A verdict with the later run's blame where it has reasons."""
    reasons = tuple(reasons)
    blame = (Blame("parse", "cer", 0.2, ("chunk",), "report"), Blame("parse", "cer", 0.2, (), None, REPORT))
    return Verdict(
        status, run_id, {"table": "chunks", "version": 2}, None if run_id == OLD else OLD, None,
        {"gold": "g" * 8, "rules": "r" * 8}, reasons, blame if reasons else (), "2026-01-02T00:00:00+00:00",
    )  # fmt: skip


def _write_run(
    lake: Lake, run_id: str, cohorts: dict[str, str], cer: dict[str, tuple[int, int]], baseline: str | None
) -> None:
    runs = Runs(lake)
    runs.update(
        run_id,
        status="finished",
        started_at=f"2026-01-0{1 if run_id == OLD else 2}T00:00:00+00:00",
        baseline_run=baseline,
        gold_sets=["demo 1"],
        labels_unbound={"demo 1 text": 2},
    )
    runs.write_plan(run_id, pa.Table.from_pylist([_document(i, c) for i, c in cohorts.items()], schema=DOCUMENTS))
    _write_outputs(lake, run_id, cohorts)
    write_table(_locations(run_id, cohorts), lake.run(run_id) / "locations.parquet", LOCATIONS)
    _write_measures(lake, run_id, cohorts, cer)
    if HOSTILE in cohorts:
        row = {
            "document_id": HOSTILE, "content_sha": None, "stage": "parse", "stage_version": 1, "stage_key": HOSTILE,
            "error_class": "corrupt", "message": "page 3 | is <broken>", "remedy": "export it `again`",
            "transient": False, "attempt": 1, "run_id": run_id, "recorded_at": _NOON,
        }  # fmt: skip
        path = lake.quarantine / f"{run_id}-parse-00001.parquet"
        write_table(pa.Table.from_pylist([row], schema=QUARANTINE), path, QUARANTINE)
    made = verdict(run_id, VerdictStatus.PASS) if baseline is None else verdict(run_id, VerdictStatus.FAIL, findings())
    write_json(lake.run(run_id) / "verdict.json", made.to_json())
    runs.update(run_id, verdict=made.status.value)


def _document(document_id: str, cohort: str) -> dict[str, Any]:
    return {
        "document_id": document_id, "source": "files", "uri": _URIS[document_id], "locator": "/secret/place",
        "doc_class": _CLASSES[document_id], "tenant": "default", "groups": [], "cohort": cohort,
        "content_sha": document_id, "commit_time": _NOON,
    }  # fmt: skip


def _outcome(document_id: str, stage: StageName) -> str | None:
    position = list(StageName).index(stage)
    if document_id == HOSTILE:
        return ("ok", "quarantined")[position] if position < 2 else None
    if document_id == COPY:
        return "ok" if position < 5 else "dropped" if position == 5 else None
    return "ok"


def _locations(run_id: str, cohorts: dict[str, str]) -> pa.Table:
    written = (StageName.PARSE, StageName.DEDUP, StageName.PII, StageName.CHUNK)
    rows = []
    for document_id in sorted(cohorts):
        for stage in StageName:
            outcome = _outcome(document_id, stage)
            if outcome is None:
                continue
            has_rows = stage in written and outcome != "quarantined"
            rows.append(
                {
                    "document_id": document_id, "stage": str(stage), "stage_key": document_id, "outcome": outcome,
                    "reason": {"quarantined": "corrupt", "dropped": "near"}.get(outcome),
                    "file": f"stages/{stage}/{run_id}-00001.parquet" if has_rows else None,
                    "measures_file": f"measures/parse/{run_id}.parquet"
                    if stage is StageName.PARSE and outcome == "ok"
                    else None,
                    "measures_key": None, "computed": document_id != ARTICLE or run_id == OLD,
                }
            )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=LOCATIONS)


def _write_outputs(lake: Lake, run_id: str, cohorts: dict[str, str]) -> None:
    element = {"element_id": 0, "kind": "paragraph", "text": "PRIVATE TEXT", "section_path": []}
    parsed = [
        {"document_id": i, "parser": "p", "parser_version": "1", "pages": 1, "pages_without_output": [],
         "meta_authors": [], "elements": [element]}
        for i in sorted(cohorts) if i != HOSTILE
    ]  # fmt: skip
    decided = [
        {"document_id": i, "decision": "dropped" if i == COPY else "kept", "cluster_id": ARTICLE if i == COPY else i,
         "duplicate_of": ARTICLE if i == COPY else None, "kind": "near" if i == COPY else None,
         "similarity": 0.9375 if i == COPY else None}
        for i in sorted(cohorts) if i != HOSTILE
    ]  # fmt: skip
    chunk = {
        "ordinal": 0, "start": 0, "end": 12, "text": "PRIVATE TEXT", "prefix_length": 0, "section_path": [],
        "page_first": 1, "page_last": 2, "element_ids": [0], "tokens": 3, "text_sha": "s",
    }  # fmt: skip
    chunked = [
        {"document_id": i, "chunks": [chunk | {"chunk_id": f"{i}/start/1"}], "dropped": []}
        for i in sorted(cohorts)
        if i in (REPORT, ARTICLE)
    ]
    redacted = [
        {"document_id": i, "coverage": "model", "spans": [], "text": "PRIVATE TEXT",
         "fields": [{"name": "uri", "value": _URIS[i].replace("jane-roe", "[PERSON]"), "types": ["PERSON"]}]}
        for i in sorted(cohorts) if i in (REPORT, ARTICLE)
    ]  # fmt: skip
    tables = (("parse", parsed, PARSE), ("dedup", decided, DEDUP), ("pii", redacted, PII), ("chunk", chunked, CHUNK))
    for stage, rows, schema in tables:
        path = lake.stage(stage) / f"{run_id}-00001.parquet"
        write_table(pa.Table.from_pylist(rows, schema=schema), path, schema)


def _write_measures(lake: Lake, run_id: str, cohorts: dict[str, str], cer: dict[str, tuple[int, int]]) -> None:
    rows = MetricRows(StageName.PARSE)
    for document_id, (errors, characters) in cer.items():
        rows.ratio("cer", document_id, errors, characters)
    for unit, value in (("t1", 1.0), ("t2", 0.5)):
        rows.value("teds", REPORT, value, unit_id=unit)
    keys = dict.fromkeys(cohorts, "") | {i: i for i in cohorts}
    digests: dict[str, str | None] = dict.fromkeys(cohorts, "label")
    write_table(stamp(rows.table(), keys, "demo 1", digests), lake.measures("parse") / f"{run_id}.parquet", MEASURES)
    facts = MetricRows(StageName.PARSE)
    for document_id in cohorts:
        failed = document_id == HOSTILE
        facts.ratio("quarantined", document_id, float(failed), 1.0)
        facts.ratio("unexpected_quarantine", document_id, float(failed), 1.0)
        facts.value("seconds", document_id, 2.0)
    if HOSTILE in cohorts:
        facts.ratio("cer", HOSTILE, 10, 10, status=MetricStatus.MISSING)
    folder = lake.run(run_id) / "facts"
    write_table(stamp(concat_rows([facts.table()]), keys, "demo 1", digests), folder / "parse.parquet", MEASURES)
