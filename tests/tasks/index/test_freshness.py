"""How old the content is that waits to go live; seconds counted by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from tasks.index.freshness import actual_lags, freshness
from tasks.metrics.rows import MetricRows

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def plan(**documents: tuple[str, datetime | None]) -> pa.Table:
    """Documents with cohort and time of commit."""
    shared = {"source": "s", "doc_class": "x", "tenant": "t", "groups": []}
    rows = [
        {"document_id": i, "uri": i, "locator": i, "cohort": cohort, "commit_time": committed} | shared
        for i, (cohort, committed) in documents.items()
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


SECOND_RUN = plan(
    minutes=("new", NOON - timedelta(seconds=90)),
    blocked=("changed", NOON - timedelta(days=9)),
    future=("changed", NOON + timedelta(hours=1)),
    untimed=("new", None),
    lost=("new", NOON - timedelta(hours=1)),
    same=("unchanged", NOON - timedelta(days=400)),
    moved=("moved", NOON - timedelta(days=30)),
    gone=("deleted", None),
)


def said(table: pa.Table, metric: str) -> dict[str | None, Any]:
    """Value or status of each document."""
    rows = [row for row in table.to_pylist() if row["metric"] == metric]
    return {row["document_id"]: row["value"] if row["status"] == "ok" else row["status"] for row in rows}


def projected(documents: pa.Table, *indexed: str) -> pa.Table:
    rows = MetricRows(StageName.INDEX)
    freshness(rows, documents, indexed, NOON)
    return rows.table()


def test_content_that_waits_behind_blocked_runs_has_its_whole_lag() -> None:
    rows = projected(SECOND_RUN, "minutes", "blocked", "future", "untimed", "same", "moved")
    assert said(rows, "freshness_lag_seconds") == {
        "minutes": 90,
        "blocked": 777_600,
        "future": "invalid",
        "untimed": "missing",
        "lost": "missing",
    }


def test_what_is_new_changed_or_gone_makes_live_stale() -> None:
    shares = said(projected(SECOND_RUN), "stale_share")
    assert {i for i, share in shares.items() if share == 1} == set(SECOND_RUN["document_id"].to_pylist()) - {
        "same",
        "moved",
    }
    assert shares["same"] == shares["moved"] == 0


def test_a_first_run_has_neither_lag_nor_staleness() -> None:
    first = projected(plan(a=("new", NOON - timedelta(days=1)), b=("new", NOON + timedelta(days=1))), "a", "b")
    for metric in ("freshness_lag_seconds", "stale_share"):
        assert said(first, metric) == {None: "not_applicable"}


def test_nothing_new_has_no_lag_and_no_staleness() -> None:
    rows = projected(plan(a=("unchanged", NOON)), "a")
    assert said(rows, "freshness_lag_seconds") == {None: "not_applicable"}
    assert said(rows, "stale_share") == {"a": 0}


def test_after_the_swap_the_lag_runs_to_the_swap_for_what_is_found_in_live() -> None:
    rows = actual_lags(SECOND_RUN, {"minutes", "blocked", "future", "untimed", "same"}, NOON + timedelta(seconds=60))
    assert said(rows, "freshness_lag_actual_seconds") == {
        "minutes": 150,
        "blocked": 777_660,
        "future": "invalid",
        "untimed": "missing",
        "lost": "missing",
    }
    assert {row["slice_key"] for row in rows.to_pylist()} == {None}
