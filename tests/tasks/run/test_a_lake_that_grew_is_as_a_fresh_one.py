"""Runs that take over what earlier ones have done end where a fresh lake ends: rows, decisions, measures, findings."""

import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from schemas.names import StageName
from schemas.verdict import Finding
from tasks.figures.catalogue import load_catalogue
from tasks.figures.stored import read_figures
from tasks.lake.views import connect_run
from tests.engine import EngineRun, run_engine
from tests.tasks.run.notes import SUBJECTS, cohorts, computed, configuration, note, write_notes

SUMS: dict[str, Any] = {"check_exact": False, "rel_tol": 1e-9, "abs_tol": 1e-12}
"""The same numbers, added in another order."""

AGAINST_LIVE = frozenset(
    {
        "live_kept",
        "unchanged_rate",
        "stale_share",
        "new_not_found",
        "deleted_still_found",
        "freshness_lag_seconds",
        "freshness_lag_actual_seconds",
    }
)
"""Measures that tell how a run's documents stand to what was live: in a fresh lake nothing was."""


@dataclass(frozen=True)
class Both:
    """The corpus as it ended, in a lake that saw it change and in one that did not: the run of the last change, and a
    further one in which nothing changed."""

    grown: EngineRun
    fresh: EngineRun
    grown_again: EngineRun
    fresh_again: EngineRun


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("grown")
    settings = configuration(folder, stages={"pii": {"models": {"en": None}}}, run={"batch_size": 4})
    _begin(folder / "notes")
    first = run_engine(settings)
    assert first.promotion.startswith("promoted")
    _change(folder / "notes")
    grown = run_engine(settings)
    assert grown.promotion.startswith("promoted")
    assert cohorts(grown) == {"new": 3, "changed": 3, "unchanged": 13, "moved": 1, "deleted": 3}
    assert computed(grown)["parse"] == 6
    other = tmp_path_factory.mktemp("fresh")
    shutil.copytree(folder / "notes", other / "notes")
    same = configuration(other, stages={"pii": {"models": {"en": None}}}, run={"batch_size": 4})
    fresh = run_engine(same)
    return Both(grown, fresh, run_engine(settings), run_engine(same))


def _begin(notes: Path) -> None:
    write_notes(notes, 14)
    (notes / "copy.md").write_text(note("ferry"))
    (notes / "copy-of-what-goes.md").write_text(note("slipway"))
    (notes / "nearly.md").write_text(note("tide table").replace("Whoever", "whoever,"))
    (notes / "chapter.md").write_text(_long(range(30)))
    (notes / "book.md").write_text(_long(range(60)))
    (notes / "broken.pdf").write_bytes(b"%PDF-1.7\nnot one at all")


def _change(notes: Path) -> None:
    """Edits, additions, a move, a copy more, a copy that is none any more, a failure more and one that is mended."""
    (notes / "dry-dock.md").write_text(note("dry dock", "It is flooded."))
    (notes / "nearly.md").write_text(note("tide table", "But the week is another one, and so is all that follows."))
    (notes / "book.md").write_text(_long(range(5, 65)))
    write_notes(notes, 1, start=14)
    (notes / "copy-of-new.md").write_text(note(SUBJECTS[14]))
    (notes / "other-broken.pdf").write_bytes(b"%PDF-1.7\nneither")
    (notes / "fog-horn.md").rename(notes / "horn.md")
    (notes / "slipway.md").unlink()
    (notes / "broken.pdf").unlink()
    (notes / "signal-mast.md").unlink()


def _long(numbers: range) -> str:
    return "# A book\n\n" + "\n\n".join(
        f"In year {1800 + n} the {SUBJECTS[n % 16]} had {n * 37 % 101} visitors and {n * 53 % 97} repairs."
        for n in numbers
    )


def test_the_same_rows_are_found_in_the_index(both: Both) -> None:
    def rows(run: EngineRun) -> list[tuple[str, str]]:
        return sorted((row["uri"], row["text"]) for row in run.live_rows.values())

    assert rows(both.grown) == rows(both.fresh) == rows(both.grown_again)


def test_every_document_comes_as_far_by_the_same_rows(both: Both) -> None:
    there = list(both.fresh.locations)
    assert sorted(there) == sorted(uri for uri in both.grown.locations)
    for uri in there:
        assert both.grown.outcome(uri) == both.fresh.outcome(uri), uri
        for stage in (StageName.PARSE, StageName.NORMALIZE, StageName.LANGUAGE, StageName.PII, StageName.CHUNK):
            one, other = both.grown.row(uri, stage), both.fresh.row(uri, stage)
            assert _anonymous(one) == _anonymous(other), (uri, stage)


def _anonymous(row: dict[str, Any] | None) -> str | None:
    """A row without its document's id, which a document that moved keeps."""
    return None if row is None else repr(row).replace(row["document_id"], "")


def test_decisions_are_the_same(both: Both) -> None:
    def decided(run: EngineRun) -> dict[str, Any]:
        found = {}
        uris = {of[StageName.FETCH]["document_id"]: uri for uri, of in run.locations.items()}
        for uri in run.locations:
            row = run.row(uri, StageName.DEDUP)
            if row is not None:
                named = {name: uris.get(row[name]) for name in ("cluster_id", "duplicate_of", "contained_in")}
                found[uri] = {name: row[name] for name in ("decision", "kind", "similarity", "containment")} | named
        return found

    grown = decided(both.grown)
    assert grown == decided(both.fresh) == decided(both.grown_again)
    assert {row["kind"] for row in grown.values()} >= {None, "exact"}
    assert any(row["contained_in"] for row in grown.values())


def test_documents_are_measured_alike(both: Both) -> None:
    def measured(run: EngineRun) -> pl.DataFrame:
        context = run.session.context
        with connect_run(context.lake, context.run_id) as connection:
            rows = connection.sql(
                """SELECT m.stage::VARCHAR AS stage, m.metric::VARCHAR AS metric, d.uri,
                          m.slice_key::VARCHAR AS slice_key, m.slice_value::VARCHAR AS slice_value,
                          m.value, m.numerator, m.denominator, m.status::VARCHAR AS status
                   FROM measures m JOIN documents d USING (document_id) WHERE d.cohort <> 'deleted' ORDER BY ALL"""
            ).to_arrow_table()
        return _told(pl.DataFrame(rows))

    grown, fresh = measured(both.grown), measured(both.fresh)
    assert grown.height > 500
    assert Counter(grown.get_column("metric").to_list()) == Counter(fresh.get_column("metric").to_list())
    assert_frame_equal(grown, fresh, **SUMS)


def _told(frame: pl.DataFrame) -> pl.DataFrame:
    """Without what the clock, the memory and live say."""
    clock = [metric.id for metric in load_catalogue().metrics if metric.unit in ("seconds", "bytes")]
    drift = pl.col("metric").str.starts_with("drift_")
    return frame.filter(~pl.col("metric").is_in([*clock, *AGAINST_LIVE]) & ~drift)


def test_a_run_in_which_nothing_changed_computes_nothing_and_has_the_same_figures(both: Both) -> None:
    assert computed(both.grown_again) == {}

    def figures(run: EngineRun) -> pl.DataFrame:
        context, catalogue = run.session.context, load_catalogue()
        clock = [metric.id for metric in catalogue.metrics if metric.unit in ("seconds", "bytes")]
        found = pl.DataFrame(read_figures(context.lake, context.run_id, catalogue))
        found = found.filter(~pl.col("metric").is_in(clock))
        return found.sort("stage", "metric", "aggregation", "doc_class", "cohort", "slice_key", "slice_value")

    assert_frame_equal(figures(both.grown_again), figures(both.fresh_again), **SUMS)


def test_and_the_same_findings(both: Both) -> None:
    clock = {metric.id for metric in load_catalogue().metrics if metric.unit in ("seconds", "bytes")}

    def findings(run: EngineRun) -> list[tuple[Any, ...]]:
        return [_finding(found) for found in run.verdict.reasons if found.metric not in clock]

    assert both.grown_again.verdict.status == both.fresh_again.verdict.status
    assert findings(both.grown_again) == findings(both.fresh_again)


def _finding(found: Finding) -> tuple[Any, ...]:
    value = None if found.value is None else round(found.value, 9)
    return found.rule, found.stage, found.metric, found.slice_key, found.slice_value, found.outcome, value, found.items
