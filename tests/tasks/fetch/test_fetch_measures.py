"""The measures of fetch, by hand."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.measures import MEASURES
from schemas.names import StageName
from schemas.stages import FETCH
from tasks.fetch.evaluator import evaluate, facts
from tasks.fetch.settings import FetchSettings
from tasks.gold.labels import NO_LABELS
from tasks.lake.raw import RawStore
from tasks.stage import Batch, CorpusEvidence, Cost, Evidence

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def document(document_id: str, cohort: str = "new", **known: Any) -> dict[str, Any]:
    fixed = {"source": "s", "uri": document_id, "locator": "/x", "doc_class": "c", "tenant": "t", "groups": []}
    return fixed | {"document_id": document_id, "cohort": cohort} | known


def row(document_id: str, content_sha: str, **known: Any) -> dict[str, Any]:
    fixed = {"media_type": "text/html", "size_bytes": 1, "unchanged": False}
    return fixed | {"document_id": document_id, "content_sha": content_sha} | known


def figures(table: pa.Table, metric: str) -> dict[str, tuple[float | None, str]]:
    assert table.schema == MEASURES
    return {
        found["document_id"]: (found["value"], found["status"])
        for found in table.to_pylist()
        if found["metric"] == metric
    }


def test_each_planned_document_counts_once_whatever_became_of_it() -> None:
    documents = [
        document("file", "unchanged", commit_time=NOON, previous_content_sha="1"),
        document("web", "changed", previous_content_sha="1"),
        document("undated"),
        document("refused", commit_time=NOON),
        document("never reached"),
        document("deleted", "deleted", commit_time=NOON, previous_content_sha="9"),
    ]
    outcomes = {"file": "ok", "web": "ok", "undated": "ok", "refused": "quarantined"}
    locations = [
        {"document_id": name, "stage": stage, "stage_key": "k", "outcome": outcome, "computed": True}
        for name, fetched in outcomes.items()
        for stage, outcome in (("fetch", fetched), ("parse", "quarantined"))
    ]
    outputs = [[row("file", "1")], [row("web", "2", commit_time=NOON), row("undated", "3")]]
    evidence = CorpusEvidence(
        documents=pa.Table.from_pylist(documents, schema=DOCUMENTS),
        locations=pa.Table.from_pylist(locations, schema=LOCATIONS),
        outputs=lambda stage: (
            pa.Table.from_pylist(part, schema=FETCH) for part in outputs if stage is StageName.FETCH
        ),
        labels=NO_LABELS,
        index=None,
        live=None,
        started=NOON,
    )
    table = facts(evidence, FetchSettings())
    assert figures(table, "success_rate") == {
        "file": (1.0, "ok"),
        "web": (1.0, "ok"),
        "undated": (1.0, "ok"),
        "refused": (0.0, "ok"),
        "never reached": (0.0, "missing"),
    }
    assert figures(table, "unchanged_rate") == {"file": (1.0, "ok"), "web": (0.0, "ok"), "undated": (0.0, "ok")}
    too_few = (None, "not_applicable")
    assert figures(table, "live_kept") == {"file": too_few, "web": too_few, "deleted": too_few}
    assert figures(table, "commit_time_known") == {
        "file": (1.0, "ok"),
        "web": (1.0, "ok"),
        "undated": (0.0, "ok"),
        "refused": (1.0, "ok"),
        "never reached": (0.0, "ok"),
    }


def test_a_document_has_its_time_and_whether_its_declared_type_holds(tmp_path: Path) -> None:
    output = pa.Table.from_pylist(
        [
            row("right", "1", media_type_declared="text/html; charset=utf-8"),
            row("wrong", "2", media_type_declared="application/pdf"),
            row("silent", "3"),
        ],
        schema=FETCH,
    )
    batch = Batch(pa.Table.from_pylist([document(name) for name in ("right", "wrong", "silent")], schema=DOCUMENTS), {})
    costs = {"right": Cost(0.25), "wrong": Cost(2.0)}
    table = evaluate(Evidence(batch, output, NO_LABELS, costs, RawStore(tmp_path)), FetchSettings())
    assert figures(table, "media_type_mismatch") == {
        "right": (0.0, "ok"),
        "wrong": (1.0, "ok"),
        "silent": (None, "not_applicable"),
    }
    assert figures(table, "latency_seconds") == {
        "right": (0.25, "ok"),
        "wrong": (2.0, "ok"),
        "silent": (None, "missing"),
    }
