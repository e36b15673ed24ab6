"""Probing the index: does approximate search find what exact search finds, and nothing that was deleted?"""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import numpy as np

from schemas.names import Cohort, MetricStatus
from tasks.index.reconciliation import Inventory
from tasks.index.settings import IndexSettings
from tasks.metrics.rows import MetricRows
from tasks.stage import EVERYTHING, CorpusEvidence, IndexView, SearchFilter

RECALL_AT = 10
"""The k of `ann_recall_at_k`."""
_ARRIVED = (Cohort.NEW, Cohort.CHANGED)
_PROBE_WORDS = 24
_SAME_SCORE = 1e-5


def ann_recall(rows: MetricRows, view: IndexView, inventory: Inventory) -> None:
    """Writes `ann_recall_at_k`: a row per probe, the probe itself left out of both answers.

    A hit as near as the k-th exact one counts also when it is another chunk (equal texts have equal vectors).
    """
    if view.indexed_vectors() < inventory.rows or inventory.rows <= RECALL_AT:
        rows.without_value("ann_recall_at_k", None, MetricStatus.NOT_APPLICABLE)
        return
    probes = stored_rows(view, inventory.probes, ["vector"])
    matrix = np.array([probe["vector"] for probe in probes], np.float32)
    exact = _nearest(view, matrix, RECALL_AT + 1)
    for probe, (ids, scores) in zip(probes, exact, strict=True):
        others = [(i, s) for i, s in zip(ids, scores, strict=True) if i != probe["chunk_id"]][:RECALL_AT]
        names, worst = {i for i, _ in others}, others[-1][1]
        found = view.search_vector(probe["vector"], RECALL_AT + 1, exact=False)
        hits = [(i, score) for i, score in found if i != probe["chunk_id"]][:RECALL_AT]
        good = sum(i in names or score >= worst - _SAME_SCORE for i, score in hits)
        rows.ratio("ann_recall_at_k", probe["document_id"], float(good), float(RECALL_AT), unit_id=probe["chunk_id"])


def deleted_still_found(
    rows: MetricRows, evidence: CorpusEvidence, view: IndexView, inventory: Inventory, settings: IndexSettings
) -> None:
    """Writes `deleted_still_found`: per deleted document, the probes that find it / probes.

    Every one is looked up by its id. Where live still knows it, its first chunk's title, words and vector are
    searched for as well, for a seeded sample of the deleted documents; not its vector, where the candidate's vectors
    are of another model.
    """
    cohorts = zip(
        evidence.documents.column("document_id").to_pylist(),
        evidence.documents.column("cohort").to_pylist(),
        strict=True,
    )
    deleted = sorted(document_id for document_id, cohort in cohorts if cohort == Cohort.DELETED)
    if not deleted:
        rows.without_value("deleted_still_found", None, MetricStatus.NOT_APPLICABLE)
        return
    sample = Random(settings.probe_seed).sample(deleted, min(len(deleted), settings.deleted_probes))  # noqa: S311
    known: dict[str, list[dict[str, Any]]] = {}
    comparable = evidence.live is not None and evidence.live.embedding == view.embedding
    if evidence.live is not None:
        for table in evidence.live.rows(["document_id", "chunk_id", "title", "text", "vector"], sample):
            for row in table.to_pylist():
                known.setdefault(row["document_id"], []).append(row)
    for document_id in deleted:
        found = [document_id in inventory.documents]
        if document_id in known:
            gone = {row["chunk_id"] for row in known[document_id]}
            first = known[document_id][0]
            found.append(bool(gone & by_words(view, first, EVERYTHING)))
            if comparable:
                found.append(bool(gone & by_vector(view, first, EVERYTHING)))
        rows.ratio("deleted_still_found", document_id, float(sum(found)), float(len(found)))


def new_not_found(
    rows: MetricRows,
    evidence: CorpusEvidence,
    view: IndexView,
    expected: Mapping[str, str | None],
    settings: IndexSettings,
) -> None:
    """Writes `new_not_found`: per new or changed document that should be there, the searches that miss it / searches.

    A seeded sample of them is searched for by those who, by the plan, may see it, below its own path: by the words of
    its first chunk and by that chunk's vector. One of which nothing is stored is missed by both.
    """
    columns = evidence.documents.select(["document_id", "cohort", "tenant", "groups"]).to_pylist()
    owners = {row["document_id"]: row for row in columns if row["cohort"] in _ARRIVED}
    wanted = sorted(i for i in owners if expected.get(i) is not None)
    if not wanted:
        rows.without_value("new_not_found", None, MetricStatus.NOT_APPLICABLE)
        return
    sample = sorted(Random(settings.probe_seed).sample(wanted, min(len(wanted), settings.new_probes)))  # noqa: S311
    stored: dict[str, dict[str, Any]] = {}
    for table in view.rows(["document_id", "chunk_id", "title", "text", "vector", "uri"], sample):
        for row in table.to_pylist():
            known = stored.setdefault(row["document_id"], row | {"chunk_ids": set()})
            known["chunk_ids"].add(row["chunk_id"])
    for document_id in sample:
        row = stored.get(document_id)
        if row is None:
            rows.ratio("new_not_found", document_id, 2.0, 2.0)
            continue
        owner = owners[document_id]
        # By its id too: there is an index of ids, and without one every row's path would be looked at.
        where = SearchFilter(
            tenant=owner["tenant"], groups=tuple(owner["groups"]), uri_prefix=row["uri"], document_ids=(document_id,)
        )
        has_words = any(character.isalnum() for character in row["text"])
        found = answers(view, row, where) if has_words else [by_vector(view, row, where)]
        missed = sum(not (row["chunk_ids"] & answer) for answer in found)
        rows.ratio("new_not_found", document_id, float(missed), float(len(found)))


def answers(view: IndexView, row: dict[str, Any], where: SearchFilter) -> list[set[str]]:
    """Chunk ids that the keyword search and the vector search give for a row's own words and vector."""
    return [by_words(view, row, where), by_vector(view, row, where)]


def by_words(view: IndexView, row: dict[str, Any], where: SearchFilter) -> set[str]:
    """Chunk ids that the keyword search gives for the first words of a row."""
    query = " ".join([row["title"] or "", *row["text"].split()[:_PROBE_WORDS]])
    return {chunk_id for chunk_id, _ in view.search_text(query, RECALL_AT, where=where)}


def by_vector(view: IndexView, row: dict[str, Any], where: SearchFilter) -> set[str]:
    """Chunk ids that the vector search gives for a row's own vector, which must be of the view's model."""
    return {chunk_id for chunk_id, _ in view.search_vector(row["vector"], RECALL_AT, exact=False, where=where)}


def stored_rows(view: IndexView, probes: Iterable[tuple[str, str]], columns: list[str]) -> list[dict[str, Any]]:
    """The stored rows of these (chunk id, document id), sorted by both."""
    wanted = set(probes)
    found = {}
    for table in view.rows(["chunk_id", "document_id", *columns], sorted({document_id for _, document_id in wanted})):
        for row in table.to_pylist():
            if (row["chunk_id"], row["document_id"]) in wanted:
                found[row["chunk_id"], row["document_id"]] = row
    return [found[key] for key in sorted(found)]


def _nearest(view: IndexView, probes: np.ndarray[Any, Any], k: int) -> list[tuple[list[str], list[float]]]:
    """The k most similar stored rows of each probe by cosine, from one pass over all vectors."""
    probes = probes / np.linalg.norm(probes, axis=1, keepdims=True)
    best_ids = np.full((len(probes), k), "", dtype=object)
    best = np.full((len(probes), k), -np.inf, np.float32)
    for table in view.rows(["chunk_id", "vector"]):
        vectors = table.column("vector").combine_chunks().flatten().to_numpy().reshape(table.num_rows, -1)
        scores = probes @ (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).T
        # Most rows are none of the nearest of any probe; of equal ones the first stays.
        nearer = scores > best[:, -1:]
        for i in np.flatnonzero(nearer.any(axis=1)):
            here = np.flatnonzero(nearer[i])
            found = np.concatenate([best[i], scores[i, here]])
            names = np.concatenate([best_ids[i], np.array(table.column("chunk_id").take(here).to_pylist(), object)])
            order = np.argsort(-found, kind="stable")[:k]
            best[i], best_ids[i] = found[order], names[order]
    return [(list(ids), list(scores)) for ids, scores in zip(best_ids, best.tolist(), strict=True)]
