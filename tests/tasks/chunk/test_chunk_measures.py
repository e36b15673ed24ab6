"""Figures of the chunk stage against values worked out by hand."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.chunk.evidence import evidence_fit
from tasks.chunk.settings import ChunkSettings
from tasks.gold.kinds import QuestionLabel, QuestionsLabel, Quote
from tasks.gold.labels import NO_LABELS, BoundLabel, Labels
from tasks.metrics.intervals import length, overlap, union
from tests.tasks.chunk.conftest import measured

MARKDOWN = b"# 1. Weir\n\nThe pump by the weir was oiled.\n\n- Ada Moor hung the float above the grating.\n"
TEXT = "1. Weir\n\nThe pump by the weir was oiled.\n\nAda Moor hung the float above the grating."


def _chunk(n: int, start: int, end: int, elements: list[int], path: list[str]) -> dict[str, Any]:
    return {
        "chunk_id": f"d/{n}", "ordinal": n, "start": start, "end": end, "text": TEXT[start:end], "prefix_length": 0,
        "section_path": path, "element_ids": elements, "tokens": 10 * n, "text_sha": "",
    }  # fmt: skip


@pytest.fixture
def figures(tmp_path: Path) -> Callable[..., dict[tuple[str, Any, Any], tuple[Any, str]]]:
    """Evaluates given chunks of one small document; the name in it is redacted."""
    file = tmp_path / "weir.md"
    file.write_bytes(MARKDOWN)

    def evaluate(chunks: list[dict[str, Any]], labels: Labels = NO_LABELS) -> dict[tuple[str, Any, Any], Any]:
        bounds = [(0, 7), (9, 40), (42, len(TEXT))]
        kinds = [("heading", 1, []), ("paragraph", None, ["1. Weir"]), ("list_item", 1, ["1. Weir"])]
        elements = [
            {"element_id": i, "kind": kind, "level": level, "text": TEXT[a:b], "section_path": path}
            for i, ((a, b), (kind, level, path)) in enumerate(zip(bounds, kinds, strict=True))
        ]
        spans = [{"element_id": i, "start": a, "end": b} for i, (a, b) in enumerate(bounds)]
        name = {"start": 42, "end": 50, "type": "PERSON", "score": 1.0, "action": "replace"}
        redacted = {
            "text": TEXT.replace("Ada Moor", "[X]"), "fields": [],
            "spans": [name | {"redacted_start": 42, "redacted_end": 45}],
        }  # fmt: skip
        made = {"chunks": chunks, "dropped": [{"start": 40, "end": 42, "reason": "separator"}]}
        rows = {"elements": elements, "pages": 1}, {"text": TEXT, "elements": spans}, redacted
        return {
            (row["metric"], row["slice_key"] and row["slice_value"], row["unit_id"]): (row["value"], row["status"])
            for row in measured(file, rows, made, ChunkSettings(max_tokens=32, min_tokens=0), labels)
        }

    return evaluate


def test_sound_chunks(figures: Callable[..., Any]) -> None:
    found = figures([_chunk(1, 0, 40, [0, 1], ["1. Weir"]), _chunk(2, 42, len(TEXT), [2], ["1. Weir"])])
    assert found["attribution_completeness", None, None] == (1.0, "ok")
    assert found["conservation", None, None] == (1.0, "ok")
    assert found["hierarchy_preserved", None, None] == (1.0, "ok")
    # One numbered section, cut between its paragraph and its list; one list item, whole.
    assert found["structure_cuts", None, None] == (0.5, "ok")
    assert found["structure_cuts", "list_item", None] == (0.0, "ok")
    assert found["tokens", None, None] == (20.0, "ok")
    assert found["tokens", "p50", None] == (15.0, "ok")
    assert found["chunks_per_page", None, None] == (2.0, "ok")


def test_faulty_chunks(figures: Callable[..., Any]) -> None:
    found = figures([_chunk(1, 0, 40, [0, 1], ["Mill"]), _chunk(4, 50, len(TEXT), [2], ["1. Weir"])])
    assert found["attribution_completeness", None, None] == (0.5, "ok")
    assert found["attribution_completeness", "failed", None] == (0.5, "ok")
    assert found["conservation", None, None] == ((len(TEXT) - 8) / len(TEXT), "ok")
    assert found["hierarchy_preserved", None, None] == (0.5, "ok")
    assert found["structure_cuts", "list_item", None] == (1.0, "ok")
    assert found["truncated", None, None] == (0.5, "ok")


def test_evidence_of_questions(figures: Callable[..., Any]) -> None:
    questions = (
        QuestionLabel(question_id="q1", question="?", evidence=(Quote(exact="was oiled. Ada Moor"),)),
        QuestionLabel(question_id="q2", question="?", evidence=(Quote(exact="not in the text"),)),
        QuestionLabel(question_id="q3", question="?", section_path=("1. Weir",)),
        QuestionLabel(
            question_id="q4",
            question="?",
            evidence=(Quote(exact="not in the text"), Quote(exact="was oiled. Ada Moor")),
        ),
    )
    chunks = [_chunk(1, 0, 40, [0, 1], ["1. Weir"]), _chunk(2, 42, len(TEXT), [2], ["1. Weir"])]
    bound = BoundLabel.of(QuestionsLabel(questions=questions), "c", stale=False)
    found = figures(chunks, Labels("v", {("d", "questions"): bound}))
    # 20 characters from 30 to 50; the blank line between the chunks is in neither.
    assert found["evidence_recall", None, "q1"] == (18 / 20, "ok")
    assert found["evidence_precision", None, "q1"] == (18 / (40 + len(TEXT) - 42), "ok")
    assert found["evidence_iou", None, "q1"] == (18 / (len(TEXT) - 2 + 2), "ok")
    # The first chunk alone holds 10 of the 20, the second 8; both together are the best.
    assert found["evidence_ceiling", None, "q1"] == (pytest.approx(18 / len(TEXT)), "ok")
    assert 18 / len(TEXT) > 10 / (20 + 40 - 10)
    assert found["evidence_iou", None, "q2"] == (None, "lost_upstream")
    assert found["evidence_iou", None, "q3"] == (None, "not_applicable")
    assert found["evidence_recall", None, "q4"] == (18 / 20, "ok")
    assert found["evidence_recall", None, "q4#quote-0"] == (None, "lost_upstream")
    stale = figures(chunks, Labels("v", {("d", "questions"): BoundLabel.of(bound.label, "b", stale=True)}))
    assert stale["evidence_recall", None, None] == (None, "stale_label")


intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda p: (p[0], p[0] + p[1])), max_size=6)


@given(left=intervals, right=intervals)
def test_overlaps_agree_with_sets_of_points(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    points, others = ({p for a, b in side for p in range(a, b)} for side in (left, right))
    assert length(union(left)) == len(points)
    assert overlap(union(left), union(right)) == len(points & others)


@given(evidence=intervals.filter(bool), widths=st.lists(st.integers(1, 15), min_size=1, max_size=7))
def test_the_ceiling_is_the_best_set_of_chunks(evidence: list[tuple[int, int]], widths: list[int]) -> None:
    edges = [sum(widths[:i]) for i in range(len(widths) + 1)]
    chunks = list(pairwise(edges))
    wanted = {p for a, b in evidence for p in range(a, b)}
    best = 0.0
    for choice in range(1, 2 ** len(chunks)):
        held = {p for i, (a, b) in enumerate(chunks) if choice >> i & 1 for p in range(a, b)}
        best = max(best, len(held & wanted) / len(held | wanted))
    assert evidence_fit(evidence, chunks).ceiling == pytest.approx(best)
