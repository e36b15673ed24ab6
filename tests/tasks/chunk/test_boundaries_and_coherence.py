"""Labelled boundaries and the likeness of sentences beside boundaries, against values worked out by hand."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.chunk.boundaries import find_gap, is_cut
from tasks.chunk.coherence import coherence, sentences_at_boundaries
from tasks.chunk.settings import ChunkSettings
from tasks.embedding.models import embedding_model
from tasks.embedding.settings import EmbeddingSettings
from tasks.gold.kinds import BoundariesLabel, BoundaryLabel
from tasks.gold.labels import NO_LABELS, BoundLabel, Labels
from tests.tasks.chunk.conftest import measured, rows_of

SENTENCES = (
    "The cat slept on the warm sofa.",
    "The kitten purred on the soft sofa.",
    "Interest rates rose at the central bank.",
    "The bank raised its rates of interest again.",
)
TEXT = " ".join(SENTENCES)
STARTS = [TEXT.index(sentence) for sentence in SENTENCES]


def _chunk(n: int, start: int, end: int) -> dict[str, Any]:
    return {
        "chunk_id": f"d/{n}", "ordinal": n, "start": start, "end": end, "text": TEXT[start:end], "prefix_length": 0,
        "section_path": [], "element_ids": [0], "tokens": 9, "text_sha": "",
    }  # fmt: skip


def _cut_before(*sentences: int) -> list[dict[str, Any]]:
    edges = [0, *(STARTS[n] for n in sentences), len(TEXT) + 1]
    return [_chunk(n, a, b - 1) for n, (a, b) in enumerate(pairwise(edges))]


def _figures(
    folder: Path, chunks: list[dict[str, Any]], labels: Labels = NO_LABELS, **settings: Any
) -> dict[tuple[Any, ...], tuple[Any, str]]:
    file = folder / "a.md"
    file.write_text(TEXT, encoding="utf-8")
    rows = rows_of([("paragraph", TEXT)])
    found = measured(file, rows, {"chunks": chunks, "dropped": []}, ChunkSettings(**settings), labels)
    return {(r["metric"], r["unit_id"], r["slice_value"]): (r["value"], r["status"]) for r in found}


def _label(*boundaries: tuple[str, str, bool]) -> Labels:
    places = tuple(BoundaryLabel(before=b, after=a, sensible=s) for b, a, s in boundaries)
    return Labels("1", {("d", "boundaries"): BoundLabel.of(BoundariesLabel(boundaries=places), "c", stale=False)})


def test_places_agree_where_they_are_cut_just_as_labelled(tmp_path: Path) -> None:
    labels = _label(
        ("on the soft sofa.", "Interest rates", True),
        ("The cat slept", "on the warm", False),
        ("at the central bank.", "The bank", True),
        ("warm sofa.", "Interest rates", True),
    )
    found = _figures(tmp_path, _cut_before(2), labels)
    # Cut between the topics, as labelled; whole inside the sentence, as labelled; not cut at the third place.
    assert found["boundary_quality", "d#place-1", None] == (1.0, "ok")
    assert found["boundary_quality", "d#place-2", None] == (1.0, "ok")
    assert found["boundary_quality", "d#place-3", None] == (0.0, "ok")
    assert found["boundary_quality", "d#place-1", "sensible"] == (1.0, "ok")
    assert found["boundary_quality", "d#place-2", "harmful"] == (1.0, "ok")
    # These words are both there, and not side by side.
    assert found["boundary_quality", "d#place-4", None] == (None, "lost_upstream")


def test_a_cut_where_none_should_be_counts_against_the_chunks(tmp_path: Path) -> None:
    edge = TEXT.index("on the warm")
    chunks = [_chunk(0, 0, edge - 1), _chunk(1, edge, len(TEXT))]
    found = _figures(tmp_path, chunks, _label(("The cat slept", "on the warm", False)))
    assert found["boundary_quality", "d#place-1", "harmful"] == (0.0, "ok")


def test_a_label_for_other_bytes_is_counted_and_scores_nothing(tmp_path: Path) -> None:
    label = BoundariesLabel(boundaries=(BoundaryLabel(before="a", after="b", sensible=True),))
    stale = Labels("1", {("d", "boundaries"): BoundLabel.of(label, "other", stale=True)})
    assert _figures(tmp_path, _cut_before(2), stale)["boundary_quality", None, None] == (None, "stale_label")


def test_the_place_of_words_that_occur_twice_is_that_where_both_stand() -> None:
    text = "See the table.\n\nNext. See the table. Last."
    assert find_gap(text, BoundaryLabel(before="the table.", after="Last.", sensible=True)) == (36, 37)
    assert find_gap(text, BoundaryLabel(before="the table.", after="Next.", sensible=True)) == (14, 16)
    assert find_gap("foobar", BoundaryLabel(before="foo", after="bar", sensible=False)) == (3, 3)


def test_an_edge_inside_the_overlap_is_no_cut() -> None:
    chunks = [{"start": 0, "end": 20}, {"start": 15, "end": 40}]
    assert is_cut((20, 21), chunks)
    assert not is_cut((16, 17), chunks)


def test_coherence_is_within_less_across(tmp_path: Path) -> None:
    vectors = embedding_model(EmbeddingSettings(model="wordllama")).embed(SENTENCES).vectors.astype(float)
    cosine = vectors @ vectors.T
    found = _figures(tmp_path, _cut_before(2), coherence_places=4)
    by_hand = (cosine[0, 1] + cosine[2, 3]) / 2 - cosine[1, 2]
    assert found["coherence", None, None] == (pytest.approx(by_hand, abs=1e-6), "ok")
    # Cut inside a topic: one sentence before, two after.
    worse = _figures(tmp_path, _cut_before(1), coherence_places=4)
    assert worse["coherence", None, None] == (pytest.approx(cosine[1, 2] - cosine[0, 1], abs=1e-6), "ok")
    assert worse["coherence", None, None][0] < 0 < found["coherence", None, None][0]


def test_two_boundaries_give_their_mean(tmp_path: Path) -> None:
    vectors = embedding_model(EmbeddingSettings(model="wordllama")).embed(SENTENCES).vectors.astype(float)
    cosine = vectors @ vectors.T
    first, second = cosine[1, 2] - cosine[0, 1], cosine[1, 2] - cosine[2, 3]
    found = _figures(tmp_path, _cut_before(1, 3), coherence_places=9)
    assert found["coherence", None, None] == (pytest.approx((first + second) / 2, abs=1e-6), "ok")


def test_coherence_is_off_by_default_and_needs_a_boundary(tmp_path: Path) -> None:
    assert ("coherence", None, None) not in _figures(tmp_path, _cut_before(2))
    assert _figures(tmp_path, _cut_before(), coherence_places=4)["coherence", None, None] == (None, "not_applicable")


def test_the_boundaries_looked_at_are_few_and_spread_over_the_document() -> None:
    text = " ".join(f"Sentence {n:03d} stands here. It ends now." for n in range(100))
    chunks = [{"start": 39 * n, "end": 39 * n + 38} for n in range(100)]
    places = sentences_at_boundaries(text, [0], chunks, 3)
    # 99 boundaries in three thirds of 33: the middle of each.
    assert [left[0] for left, _ in places] == [f"Sentence {n:03d} stands here." for n in (16, 49, 82)]
    assert len(sentences_at_boundaries(text, [0], chunks, 500)) == 99


def test_elements_part_sentences_and_vectors_of_nothing_say_nothing() -> None:
    text = "A row\nof cells\nand more"
    assert sentences_at_boundaries(text, [0, 6, 15], [{"start": 0, "end": 14}, {"start": 15, "end": 23}], 1) == [
        (["A row", "of cells"], ["and more"])
    ]
    nothing, one = np.zeros((1, 2), np.float32), np.array([[1, 0]], np.float32)
    assert coherence(nothing, np.vstack([one, one])) is None
    assert coherence(one, one) is None
