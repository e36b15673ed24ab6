"""The run's figures about its index, against small indexes with known faults, counted by hand."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import StageName
from schemas.stages import EMBED, INDEX
from tasks.gold.labels import NO_LABELS
from tasks.index.evaluator import facts
from tasks.index.reconciliation import RowsDigest
from tasks.index.search import LanceView
from tasks.index.settings import IndexSettings
from tasks.index.store import LanceIndex
from tasks.stage import EVERYTHING, CorpusEvidence, SearchFilter

from .conftest import Corpus, Texts, rows_of_vectors

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def evidence_of(
    corpus: Corpus,
    texts: Texts,
    index: LanceView | None,
    *,
    live: LanceView | None = None,
    tenants: Mapping[str, str] | None = None,
    groups: Mapping[str, list[str]] | None = None,
    deleted: tuple[str, ...] = (),
    failed: tuple[str, ...] = (),
    dropped: tuple[str, ...] = (),
) -> CorpusEvidence:
    """What a run over these documents would show: all passed `embed`, and `index` but those failed or dropped."""
    tenants = tenants or {}
    documents = [
        {"document_id": i, "source": "s", "uri": i, "locator": i, "doc_class": "x", "tenant": tenants.get(i, "default")}
        | {"groups": (groups or {}).get(i, []), "cohort": "deleted" if i in deleted else "new", "commit_time": None}
        for i in [*texts, *deleted]
    ]
    locations, embedded, indexed = [], [], []
    for document_id, parts in texts.items():
        tenant = tenants.get(document_id, "default")
        outcome = "quarantined" if document_id in failed else "dropped" if document_id in dropped else "ok"
        for stage, said in ((StageName.EMBED, "ok"), (StageName.INDEX, outcome)):
            key = corpus.key(parts, tenant) if stage == StageName.INDEX else "embed key"
            locations.append(
                {"document_id": document_id, "stage": stage.value, "stage_key": key, "outcome": said, "computed": True}
            )
        vectors = [
            {"chunk_id": f"{document_id}/text/{n}", "vector": [1.0], "tokens": 1, "truncated": False}
            for n in range(len(parts))
        ]
        embedded.append(
            {"document_id": document_id, "model": "m", "model_version": "1", "dimension": 1, "embeddings": vectors}
        )
        digest = RowsDigest()
        for row in corpus.rows({document_id: parts}, tenants).to_pylist():
            digest.add(row["chunk_id"], row["text_sha"], row["tenant"], row["groups"])
        indexed.append({"document_id": document_id, "chunk_ids": [], "rows_sha": digest.hex()})
    outputs = {
        StageName.EMBED: pa.Table.from_pylist(embedded, schema=EMBED),
        StageName.INDEX: pa.Table.from_pylist(indexed, schema=INDEX),
    }

    def stream(stage: StageName, schema: pa.Schema | None = None, /) -> Iterator[pa.Table]:
        yield outputs[stage]

    return CorpusEvidence(
        documents=pa.Table.from_pylist(documents, schema=DOCUMENTS),
        locations=pa.Table.from_pylist(locations, schema=LOCATIONS),
        outputs=stream,
        labels=NO_LABELS,
        index=index,
        live=live,
        started=NOON,
    )


def figures(evidence: CorpusEvidence, metric: str, settings: IndexSettings | None = None) -> list[dict[str, Any]]:
    """The rows of one metric."""
    rows = facts(evidence, settings or IndexSettings()).to_pylist()
    return [row for row in rows if row["metric"] == metric]


def total(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Numerator and denominator of the headline."""
    heads = [row for row in rows if row["slice_key"] is None]
    return sum(row["numerator"] for row in heads), sum(row["denominator"] for row in heads)


TEXTS = {"a": ["one", "two"], "b": ["three"], "c": ["four", "five", "six"]}


def test_a_sound_index_agrees_in_everything(corpus: Corpus) -> None:
    view = corpus.index.open(corpus.build("r1", TEXTS).generation)
    evidence = evidence_of(corpus, TEXTS, view)
    assert total(figures(evidence, "reconciliation")) == (3, 3)
    assert total(figures(evidence, "completeness")) == (6, 6)
    (orphans,) = figures(evidence, "orphan_chunks")
    assert orphans["value"] == 0


def test_each_kind_of_disagreement_is_named(corpus: Corpus) -> None:
    stored = {**TEXTS, "old": ["stale", "rows"], "other key": ["x"], "tampered": ["seven", "eight"]}
    view = corpus.index.open(corpus.build("r1", stored).generation)
    expected = {**TEXTS, "lost": ["nine", "ten"], "other key": ["y"], "tampered": ["seven", "eight"]}
    evidence = evidence_of(corpus, expected, view)
    promised = {i: list(parts) for i, parts in expected.items()} | {"tampered": ["seven", "8"]}
    changed = evidence_of(corpus, promised, view)
    evidence = CorpusEvidence(
        **{name: getattr(evidence, name) for name in evidence.__slots__ if name != "outputs"}, outputs=changed.outputs
    )
    rows = figures(evidence, "reconciliation")
    assert total(rows) == (3, 7)
    assert {(row["slice_value"], row["document_id"]) for row in rows if row["slice_key"] == "disagreement"} == {
        ("missing_in_index", "lost"),
        ("orphan_in_index", "old"),
        ("key_differs", "other key"),
        ("rows_differ", "tampered"),
    }
    assert total(figures(evidence, "completeness")) == (9, 11)
    (orphans,) = figures(evidence, "orphan_chunks")
    assert (orphans["value"], orphans["denominator"]) == (2, 11)


def test_rows_written_twice_are_no_completeness_and_a_disagreement(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "index")
    twice = pa.concat_tables([corpus.rows({"a": ["one"]}), corpus.rows({"b": ["two"]}), corpus.rows({"a": ["one"]})])
    texts = {"a": ["one"], "b": ["two"]}
    made = corpus.index.build("r1", corpus.target(texts), [twice], dimension=8, embedding="hashing@1")
    evidence = evidence_of(corpus, texts, corpus.index.open(made.generation))
    assert total(figures(evidence, "reconciliation")) == (1, 2)
    assert total(figures(evidence, "completeness")) == (2, 2)


def test_a_document_that_failed_is_missing_and_one_dropped_on_purpose_is_not_expected(corpus: Corpus) -> None:
    view = corpus.index.open(corpus.build("r1", {"a": ["one", "two"]}).generation)
    evidence = evidence_of(corpus, TEXTS, view, failed=("b",), dropped=("c",))
    rows = figures(evidence, "reconciliation")
    assert total(rows) == (1, 2)
    assert [row["document_id"] for row in rows if row["slice_value"] == "missing_in_index"] == ["b"]


def test_nothing_expected_and_nothing_stored_gives_no_reassuring_one(corpus: Corpus) -> None:
    view = corpus.index.open(corpus.build("r1", {}).generation)
    for metric in ("reconciliation", "completeness"):
        (row,) = figures(evidence_of(corpus, {}, view), metric)
        assert row["value"] is None


def test_without_an_index_nothing_applies(corpus: Corpus) -> None:
    rows = facts(evidence_of(corpus, {}, None), IndexSettings()).to_pylist()
    assert {row["status"] for row in rows} == {"not_applicable"}
    assert len(rows) == 10


def test_a_deleted_document_that_is_still_found_is_counted(corpus: Corpus) -> None:
    before = {**TEXTS, "gone": ["a secret that was deleted"], "kept": ["another that should be gone"]}
    corpus.publish("r1", before)
    live = corpus.index.open_live()
    view = corpus.index.open(corpus.build("r2", {**TEXTS, "kept": before["kept"]}).generation)
    rows = figures(evidence_of(corpus, TEXTS, view, live=live, deleted=("gone", "kept")), "deleted_still_found")
    assert {row["document_id"]: (row["numerator"], row["denominator"]) for row in rows} == {
        "gone": (0, 3),
        "kept": (3, 3),
    }


def test_a_deleted_document_is_not_searched_for_by_the_vector_of_another_model(corpus: Corpus) -> None:
    corpus.publish("r1", {**TEXTS, "gone": ["a secret that was deleted"], "kept": ["another that should be gone"]})
    live = corpus.index.open_live()
    corpus.dimension, corpus.model = 12, "other@1"
    view = corpus.index.open(corpus.build("r2", {**TEXTS, "kept": ["another that should be gone"]}).generation)
    rows = figures(evidence_of(corpus, TEXTS, view, live=live, deleted=("gone", "kept")), "deleted_still_found")
    assert {row["document_id"]: (row["numerator"], row["denominator"]) for row in rows} == {
        "gone": (0, 2),
        "kept": (2, 2),
    }


def test_a_new_document_that_its_own_people_do_not_find_is_counted(corpus: Corpus) -> None:
    owners = {"a": "acme", "b": "acme", "c": "acme"}
    sound = corpus.index.open(corpus.build("r1", TEXTS, owners).generation)
    assert total(figures(evidence_of(corpus, TEXTS, sound, tenants=owners), "new_not_found")) == (0, 6)

    lacking = corpus.index.open(
        corpus.build("r2", {"a": TEXTS["a"], "b": TEXTS["b"]}, owners | {"b": "rival"}).generation
    )
    rows = figures(evidence_of(corpus, TEXTS, lacking, tenants=owners), "new_not_found")
    assert {row["document_id"]: (row["numerator"], row["denominator"]) for row in rows} == {
        "a": (0, 2),
        "b": (2, 2),
        "c": (2, 2),
    }
    few = figures(evidence_of(corpus, TEXTS, sound, tenants=owners), "new_not_found", IndexSettings(new_probes=2))
    assert len(few) == 2


def test_a_new_document_without_a_word_is_searched_for_by_its_vector_alone(corpus: Corpus) -> None:
    texts = {"a": ["* * *"]}
    view = corpus.index.open(corpus.build("r1", texts).generation)
    assert total(figures(evidence_of(corpus, texts, view), "new_not_found")) == (0, 1)


def test_no_deletions_no_figure(corpus: Corpus) -> None:
    view = corpus.index.open(corpus.build("r1", TEXTS).generation)
    (row,) = figures(evidence_of(corpus, TEXTS, view), "deleted_still_found")
    assert row["status"] == "not_applicable"


def test_a_row_stored_under_a_wrong_tenant_is_an_access_violation(corpus: Corpus) -> None:
    owners = {"a": "acme", "b": "rival", "c": "rival"}
    sound = corpus.index.open(corpus.build("r1", TEXTS, owners).generation)
    rows = figures(evidence_of(corpus, TEXTS, sound, tenants=owners), "access_violations")
    # acme asks with 4 rows of rival, rival with 2 of acme; each by words and by vector.
    assert total(rows) == (0, 12)
    assert {row["slice_value"]: row["denominator"] for row in rows if row["slice_key"]} == {"acme": 8, "rival": 4}
    leaking = corpus.index.open(corpus.build("r2", TEXTS, owners | {"b": "acme"}).generation)
    rows = figures(evidence_of(corpus, TEXTS, leaking, tenants=owners), "access_violations")
    assert {row["slice_value"]: row["numerator"] > 0 for row in rows if row["slice_key"]} == {
        "acme": True,
        "rival": False,
    }


def test_a_row_stored_under_wrong_groups_is_an_access_violation(corpus: Corpus) -> None:
    groups = {"a": ["board"], "b": ["staff", "board"]}
    stored = {i: {"groups": names} for i, names in groups.items()}
    sound = corpus.index.open(corpus.build("r1", TEXTS, said=stored).generation)
    rows = figures(evidence_of(corpus, TEXTS, sound, groups=groups), "access_violations")
    # A member of no group asks for both; a member of staff alone for what only the board may see.
    asked = {row["slice_value"]: row["denominator"] for row in rows if row["slice_key"]}
    assert asked.keys() == {"default/(none)", "default/staff"}
    assert total(rows) == (0, sum(asked.values()))
    assert all(count > 0 for count in asked.values())
    leaking = corpus.index.open(corpus.build("r2", TEXTS, said={"b": stored["b"]}).generation)
    rows = figures(evidence_of(corpus, TEXTS, leaking, groups=groups), "access_violations")
    assert total(rows)[0] > 0
    assert {row["metric_version"] for row in rows} == {2}


def test_one_tenant_has_no_access_figure(corpus: Corpus) -> None:
    view = corpus.index.open(corpus.build("r1", TEXTS).generation)
    (row,) = figures(evidence_of(corpus, TEXTS, view), "access_violations")
    assert row["status"] == "not_applicable"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[LanceView, LanceIndex]:
    """An index of 20,000 clustered vectors of 32 dimensions."""
    random = np.random.default_rng(5)
    centres = random.normal(size=(100, 32))
    vectors = centres[random.integers(0, 100, 20_000)] + 0.5 * random.normal(size=(20_000, 32))
    index = LanceIndex(tmp_path_factory.mktemp("large"), IndexSettings())
    target, rows = rows_of_vectors(vectors)
    made = index.build("r1", target, [rows], dimension=32, embedding="m@1")
    return index.open(made.generation), index


def test_approximate_search_is_held_against_exact_search(large: tuple[LanceView, LanceIndex]) -> None:
    view, _ = large
    assert view.indexed_vectors() == view.count() == 20_000
    evidence = evidence_of(Corpus(Path("unused")), {}, view)
    rows = figures(evidence, "ann_recall_at_k")
    hits, wanted = total(rows)
    assert wanted == 1000
    assert hits / wanted >= 0.95
    assert rows == figures(evidence, "ann_recall_at_k")


def test_recall_falls_when_the_search_is_starved(large: tuple[LanceView, LanceIndex]) -> None:
    view, _ = large

    class Starved(LanceView):
        def search_vector(self, vector: Any, k: int, *, exact: bool, where: SearchFilter = EVERYTHING) -> Any:
            return super().search_vector(vector, k // 2, exact=exact, where=where)

    starved = Starved(view._dataset, IndexSettings(), view.embedding)
    hits, wanted = total(figures(evidence_of(Corpus(Path("unused")), {}, starved), "ann_recall_at_k"))
    # The probe itself is one of the five that come back, so four of ten can be right.
    assert 0.35 <= hits / wanted <= 0.4


def test_recall_applies_only_once_an_index_covers_the_table(corpus: Corpus) -> None:
    view = corpus.index.open(corpus.build("r1", {f"d{n}": ["x"] for n in range(30)}).generation)
    (row,) = figures(evidence_of(corpus, {}, view), "ann_recall_at_k")
    assert row["status"] == "not_applicable"
