"""Facts of embed that hold this run's vectors against those of earlier runs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import StageName
from schemas.stages import EMBED
from tasks.embed.drift import LEAST_DOCUMENTS, vector_drift
from tasks.embed.settings import EmbedSettings
from tasks.gold.labels import Labels
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence, Reference

Vectors = NDArray[np.float64]
Run = tuple[Reference, pa.Table]
RANDOM = np.random.default_rng(19)


def vectors(number: int, shift: float = 0.0) -> Vectors:
    points = RANDOM.normal(size=(number, 16))
    points[:, 0] += shift
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def run(
    name: str,
    documents: Mapping[str, tuple[str, str, Vectors]],
    model: str = "m",
    version: str = "1",
) -> Run:
    """A run whose rows lie in a file of its name: document id → (class, bytes, a vector per chunk)."""
    plan, locations, rows = [], [], []
    for i, (doc_class, sha, made) in documents.items():
        plan.append(
            {
                "document_id": i,
                "source": "s",
                "uri": i,
                "locator": i,
                "doc_class": doc_class,
                "tenant": "t",
                "groups": [],
                "content_sha": sha,
                "cohort": "unchanged",
            }
        )
        place = {"document_id": i, "stage": "embed", "stage_key": "k", "outcome": "ok", "computed": True, "file": name}
        locations.append(place)
        items = [
            {"chunk_id": f"{i}/{n}", "vector": vector.tolist(), "tokens": 1, "truncated": False}
            for n, vector in enumerate(made)
        ]
        dimension = made.shape[1]
        rows.append(
            {"document_id": i, "model": model, "model_version": version, "dimension": dimension, "embeddings": items}
        )
    reference = Reference(
        pa.Table.from_pylist(plan, schema=DOCUMENTS), pa.Table.from_pylist(locations, schema=LOCATIONS)
    )
    return reference, pa.Table.from_pylist(rows, schema=EMBED)


def facts(this: Run, **earlier: Run) -> dict[tuple[str, str | None], list[tuple[Any, str]]]:
    """(measure, slice) → value and status of each row."""
    files = {
        reference.locations.column("file")[0].as_py(): table
        for reference, table in (this, *earlier.values())
        if reference.locations.num_rows
    }

    def stored(file: str, schema: pa.Schema, document_ids: Sequence[str]) -> pa.Table:
        table = files[file].select(schema.names)
        return table.filter(pc.is_in(table.column("document_id"), pa.array(document_ids)))

    evidence = CorpusEvidence(
        documents=this[0].documents,
        locations=this[0].locations,
        outputs=lambda _: iter([]),
        labels=Labels(None, {}),
        index=None,
        live=None,
        started=datetime.now(UTC),
        here=this[0].locations,
        references={name: reference for name, (reference, _) in earlier.items()},
        stored=stored,
    )
    rows = MetricRows(StageName.EMBED)
    vector_drift(rows, evidence, EmbedSettings(drift_permutations=199))
    found: dict[tuple[str, str | None], list[tuple[Any, str]]] = {}
    for row in rows.table().to_pylist():
        place = None if row["slice_key"] is None else f"{row['slice_key']} {row['slice_value']}"
        found.setdefault((row["metric"], place), []).append((row["value"], row["status"]))
    return found


def corpus(prefix: str, made: Vectors, doc_class: str = "note", sha: str = "1") -> dict[str, tuple[str, str, Vectors]]:
    """A document of one chunk per vector."""
    return {f"{prefix}-{i}": (doc_class, sha, vector[None, :]) for i, vector in enumerate(made)}


def test_a_planted_shift_of_one_class_fires_there_and_not_in_the_other() -> None:
    live = corpus("a", vectors(60)) | corpus("b", vectors(60), "web")
    now = live | corpus("new-a", vectors(40, shift=6)) | corpus("new-b", vectors(40), "web")
    found = facts(run("now", now), live=run("live", live))
    (shifted,), (alike,) = (found["drift_mmd_p", f"class_since_live {name}"] for name in ("note", "web"))
    assert shifted == (1 / 200, "ok")
    assert alike[0] > 0.01
    ((shifted_area, _),) = found["drift_classifier_auc", "class_since_live note"]
    ((area, _),) = found["drift_classifier_auc", "class_since_live web"]
    assert shifted_area > 0.97
    assert 0.3 < area < 0.7
    ((distance, _),), ((near, _),) = (found["drift_mmd", f"class_since_live {name}"] for name in ("note", "web"))
    assert distance > 10 * abs(near)
    assert found["drift_mmd_p", None][0][1] == "ok"


def test_two_halves_of_one_sample_stay_quiet() -> None:
    p_values = []
    for _ in range(50):
        live = corpus("a", vectors(30))
        found = facts(run("now", live | corpus("new", vectors(30))), live=run("live", live))
        p_values.append(found["drift_mmd_p", None][0][0])
    assert sum(p <= 0.05 for p in p_values) <= binom.ppf(0.999, 50, 0.05)
    assert binom.ppf(0.001, 50, 0.5) <= sum(p <= 0.5 for p in p_values)


def test_many_chunks_of_few_documents_are_no_more_evidence() -> None:
    # Thirty documents, the chunks of each next to one another: taken for independent they would differ.
    def clustered(number: int, prefix: str) -> dict[str, tuple[str, str, Vectors]]:
        centres = vectors(number)
        return {
            f"{prefix}-{i}": ("note", "1", centre + 0.01 * RANDOM.normal(size=(20, 16)))
            for i, centre in enumerate(centres)
        }

    p_values = []
    for _ in range(40):
        live = clustered(30, "a")
        found = facts(run("now", live | clustered(30, "new")), live=run("live", live))
        p_values.append(found["drift_mmd_p", None][0][0])
    assert sum(p <= 0.05 for p in p_values) <= binom.ppf(0.999, 40, 0.05)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"version": "2"}, "embedded by m@1 (16 numbers), in live by m@2 (16 numbers): no common space"),
        ({"model": "n"}, "embedded by m@1 (16 numbers), in live by n@1 (16 numbers): no common space"),
    ],
)
def test_vectors_of_another_model_or_version_are_refused(other: dict[str, str], told: str) -> None:
    live = corpus("a", vectors(40))
    found = facts(run("now", live | corpus("new", vectors(40))), live=run("live", live, **other))
    for metric in ("drift_mmd", "drift_mmd_p", "drift_classifier_auc", "neighbour_stability"):
        assert found[metric, None] == [(None, "not_applicable")]
    for metric in ("drift_classifier_auc", "neighbour_stability"):
        assert found[metric, f"not_compared_with_live {told}"] == [(None, "not_applicable")]
    assert found["drift_classifier_auc", "class_since_live note"] == [(None, "not_applicable")]


def test_vectors_of_another_dimension_are_refused() -> None:
    live = corpus("a", vectors(40))
    short = corpus("a", vectors(40)[:, :8]) | corpus("new", vectors(40)[:, :8])
    found = facts(run("now", short), live=run("live", live))
    reason = "not_compared_with_live embedded by m@1 (8 numbers), in live by m@1 (16 numbers): no common space"
    assert found["drift_classifier_auc", reason] == found["neighbour_stability", reason] == [(None, "not_applicable")]


def test_a_sample_with_vectors_of_two_versions_is_refused() -> None:
    live, fresh = corpus("a", vectors(40)), corpus("new", vectors(40))
    reference, rows = run("now", live | fresh)
    versions = pa.array(["1"] * 79 + ["2"])
    mixed = rows.set_column(rows.schema.get_field_index("model_version"), EMBED.field("model_version"), versions)
    found = facts((reference, mixed), live=run("live", live))
    assert found["drift_mmd", None] == [(None, "not_applicable")]
    assert [value for value, _ in found["neighbour_stability", None]] == [1.0] * 40


def test_too_few_documents_are_not_compared() -> None:
    live = corpus("a", vectors(40))
    found = facts(run("now", live | corpus("new", vectors(LEAST_DOCUMENTS - 1))), live=run("live", live))
    reason = "not_compared_with_live fewer than 20 documents to compare with live, or of live"
    assert found["drift_classifier_auc", reason] == [(None, "not_applicable")]
    enough = facts(run("now", live | corpus("new", vectors(LEAST_DOCUMENTS))), live=run("live", live))
    assert enough["drift_mmd", None][0][1] == "ok"


def test_nothing_new_and_no_live_run_are_told() -> None:
    live = corpus("a", vectors(30))
    same = facts(run("now", live), live=run("live", live))
    assert ("drift_classifier_auc", "not_compared_with_live nothing is new or changed since live") in same
    first = facts(run("now", live))
    assert first["neighbour_stability", "not_compared_with_live there is no live run to compare with"]


def test_neighbours_of_unchanged_documents_hold_whatever_else_is_new() -> None:
    live = corpus("a", vectors(50))
    now = live | corpus("new", vectors(200)) | {"a-0": ("note", "2", vectors(1, shift=9))}
    found = facts(run("now", now), live=run("live", live))
    # The changed document is no probe and no neighbour.
    assert found["neighbour_stability", None] == [(1.0, "ok")] * 49


def test_neighbours_are_lost_where_the_pipeline_changed_the_vectors() -> None:
    live = corpus("a", vectors(201))
    shuffled = corpus("a", RANDOM.permutation(vectors(201)))
    found = facts(run("now", shuffled), live=run("live", live))
    # Ten of the 200 others by chance.
    assert np.mean([value for value, _ in found["neighbour_stability", None]]) == pytest.approx(0.05, abs=0.02)


def test_the_anchor_is_compared_in_slices_of_its_own() -> None:
    anchor = corpus("a", vectors(40))
    live = anchor | corpus("b", vectors(40, shift=6))
    now = live | corpus("c", vectors(25, shift=6))
    found = facts(run("now", now), live=run("live", live), anchor=run("anchor", anchor))
    # Against live, half of which has moved, less than against the anchor, before it moved.
    ((since_live, _),) = found["drift_classifier_auc", "class_since_live note"]
    ((since_anchor, _),) = found["drift_classifier_auc", "class_since_anchor note"]
    assert since_anchor > 0.95 > 0.9 > since_live
    assert found["drift_mmd", "since_anchor all"] == found["drift_mmd", "class_since_anchor note"]
    assert [value for value, _ in found["neighbour_stability", "since_anchor all"]] == [1.0] * 40


def test_documents_without_a_vector_are_left_out() -> None:
    live = corpus("a", vectors(30))
    now = (
        live | corpus("new", np.zeros((10, 16))) | {"none": ("note", "1", np.zeros((0, 16)))} | corpus("c", vectors(15))
    )
    found = facts(run("now", now), live=run("live", live))
    assert found["drift_mmd", None] == [(None, "not_applicable")]
