"""The corpus's own questions: where the chunks that answer them stand in the ranking by the embedding."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas.names import Cohort, MetricStatus, Outcome, StageName
from tasks.documents.quotes import locate
from tasks.embed.settings import EmbedSettings
from tasks.embedding.models import embedding_model
from tasks.gold.kinds import QuestionLabel, QuestionsLabel
from tasks.metrics.intervals import length, overlap, union
from tasks.metrics.ranking import ndcg
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence

RANKS = 10
"""The k of `domain_ndcg`."""
_VERSION = 2
METRICS = ("domain_ndcg", "retrieved_evidence_recall", "retrieved_evidence_iou")


@dataclass(slots=True)
class _Answer:
    """A document that answers a question: the one that stands for it (itself, or the duplicate kept in its place)."""

    target: str
    label: QuestionLabel
    failed: bool
    """It came to this stage and did not leave it."""
    evidence: list[tuple[int, int]] = field(default_factory=list)
    """Where the quotes lie in the target's clean text."""
    lost: bool = False
    """None of its quotes is in the clean text."""
    relevant: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Asked:
    """A question and all documents that answer it; its rows are those of the first of these by id."""

    unit_id: str
    question: str
    tenant: str
    document_id: str
    answers: list[_Answer] = field(default_factory=list)

    def gains(self) -> dict[str, float]:
        """Relevant chunks with the grade of their document."""
        gains: dict[str, float] = {}
        for answer in self.answers:
            for chunk_id in answer.relevant:
                gains[chunk_id] = max(gains.get(chunk_id, 0.0), float(answer.label.relevance))
        return gains

    def passages(self) -> dict[str, list[tuple[int, int]]]:
        """Where the evidence lies, by the document that holds it."""
        places: dict[str, list[tuple[int, int]]] = {}
        for answer in self.answers:
            if answer.evidence:
                places[answer.target] = union([*places.get(answer.target, ()), *answer.evidence])
        return places


@dataclass(frozen=True, slots=True)
class _Hit:
    chunk_id: str
    document_id: str
    start: int
    end: int


def domain_ranking(rows: MetricRows, evidence: CorpusEvidence, settings: EmbedSettings) -> None:
    """Writes `domain_ndcg`, `retrieved_evidence_recall` and `retrieved_evidence_iou`, a row each per question.

    For the last two, as many chunks are read as hold the evidence: a ranking without a fault reads these and no other.
    Where any vector of a question's tenant is of another model, or of another version of it, than the one that embeds
    the question, the three are not applicable: such vectors cannot be compared.
    A question is answered from all chunks of its documents' tenant, by exact search. A chunk is relevant if it overlaps
    a quote; where the question has no quote, if it lies in its section; where it has neither, if it is of its document.
    Of a document that failed here, which is found nowhere, one chunk counts as relevant: how many it has is not known.
    """
    asked = list(_questions(rows, evidence))
    _find_relevant(asked, evidence)
    sound = []
    for one in asked:
        if one.gains():
            sound.append(one)
            continue
        for metric in METRICS:
            if any(answer.failed for answer in one.answers):
                rows.value(
                    metric, one.document_id, 0.0, unit_id=one.unit_id, status=MetricStatus.MISSING, version=_VERSION
                )
            else:
                rows.without_value(
                    metric, one.document_id, MetricStatus.LOST_UPSTREAM, unit_id=one.unit_id, version=_VERSION
                )
    if not sound:
        return
    model = embedding_model(settings)
    made = model.embed([one.question for one in sound], query=True)
    found, foreign = _nearest(made.vectors, f"{model.name}@{model.version}", sound, evidence)
    for i, (one, hits) in enumerate(zip(sound, found, strict=True)):
        unit = one.unit_id
        if one.tenant in foreign:
            for metric in METRICS:
                rows.without_value(metric, one.document_id, MetricStatus.NOT_APPLICABLE, unit_id=unit, version=_VERSION)
            continue
        if i in made.refused or not made.vectors[i].any():
            for metric in METRICS:
                rows.without_value(metric, one.document_id, MetricStatus.INVALID, unit_id=unit, version=_VERSION)
            continue
        gains = one.gains()
        best = [*gains.values(), *(float(a.label.relevance) for a in one.answers if a.failed)]
        found_gains = [gains.get(hit.chunk_id, 0.0) for hit in hits]
        rows.value("domain_ndcg", one.document_id, ndcg(found_gains, best, RANKS), unit_id=unit, version=_VERSION)
        _retrieved(rows, one, hits)


def _retrieved(rows: MetricRows, one: _Asked, hits: Sequence[_Hit]) -> None:
    passages = one.passages()
    if not passages:
        for metric in METRICS[1:]:
            rows.without_value(
                metric, one.document_id, MetricStatus.NOT_APPLICABLE, unit_id=one.unit_id, version=_VERSION
            )
        return
    hits = hits[: len({chunk_id for answer in one.answers if answer.evidence for chunk_id in answer.relevant})]
    read = {
        document_id: union([(hit.start, hit.end) for hit in hits if hit.document_id == document_id])
        for document_id in {hit.document_id for hit in hits}
    }
    held = sum(overlap(read.get(document_id, []), places) for document_id, places in passages.items())
    wanted = sum(map(length, passages.values()))
    rows.ratio("retrieved_evidence_recall", one.document_id, held, wanted, unit_id=one.unit_id, version=_VERSION)
    union_of_both = wanted + sum(map(length, read.values())) - held
    rows.ratio("retrieved_evidence_iou", one.document_id, held, union_of_both, unit_id=one.unit_id, version=_VERSION)


def _questions(rows: MetricRows, evidence: CorpusEvidence) -> list[_Asked]:
    """The questions of documents that are still there; a document whose label is stale gets its rows here.

    Entries of one tenant with the same id and words are one question.
    """
    keepers: dict[str, str] = {}
    for table in evidence.outputs(StageName.DEDUP):
        for row in table.select(["document_id", "cluster_id"]).to_pylist():
            keepers[row["document_id"]] = row["cluster_id"]
    here = evidence.locations.filter(pc.field("stage") == StageName.EMBED.value)
    outcomes = dict(zip(here.column("document_id").to_pylist(), here.column("outcome").to_pylist(), strict=True))
    asked: dict[tuple[str, str, str], _Asked] = {}
    documents = evidence.documents.select(["document_id", "tenant", "cohort"]).to_pylist()
    for row in sorted(documents, key=lambda row: str(row["document_id"])):
        document_id = row["document_id"]
        target = keepers.get(document_id, document_id)
        if row["cohort"] == Cohort.DELETED or target not in outcomes:
            continue  # what failed or was dropped on the way here is counted by the run itself
        if evidence.labels.is_stale(document_id, "questions"):
            for metric in METRICS:
                rows.without_value(metric, document_id, MetricStatus.STALE_LABEL, version=_VERSION)
            continue
        label = evidence.labels.of(document_id, QuestionsLabel, "questions")
        for question in label.questions if label else ():
            key = (row["tenant"], question.question_id, question.question)
            one = asked.setdefault(key, _Asked(question.question_id, question.question, row["tenant"], document_id))
            one.answers.append(_Answer(target, question, outcomes[target] != Outcome.OK))
    return list(asked.values())


def _find_relevant(asked: Sequence[_Asked], evidence: CorpusEvidence) -> None:
    by_target: dict[str, list[_Answer]] = {}
    for one in asked:
        for answer in one.answers:
            if not answer.failed:
                by_target.setdefault(answer.target, []).append(answer)
    unread = set(by_target)
    for document_id, text in _wanted(evidence, StageName.NORMALIZE, "text", by_target):
        unread.discard(document_id)
        for answer in by_target[document_id]:
            places = [locate(text, quote) for quote in answer.label.evidence]
            answer.evidence = [place for place in places if place is not None]
            answer.lost = bool(places) and not answer.evidence
    for document_id in unread:
        for answer in by_target[document_id]:
            answer.lost = bool(answer.label.evidence)
    for document_id, chunks in _wanted(evidence, StageName.CHUNK, "chunks", by_target):
        for answer in by_target[document_id]:
            if not answer.lost:
                answer.relevant = {chunk["chunk_id"] for chunk in chunks if _answers(answer, chunk)}


def _answers(one: _Answer, chunk: Mapping[str, Any]) -> bool:
    if one.evidence:
        return any(chunk["start"] < end and start < chunk["end"] for start, end in one.evidence)
    path = one.label.section_path
    return not path or tuple(chunk["section_path"][: len(path)]) == path


def _wanted(
    evidence: CorpusEvidence, stage: StageName, column: str, documents: Collection[str]
) -> Iterator[tuple[str, Any]]:
    if not documents:
        return
    for part in evidence.outputs_of(stage, documents):
        yield from zip(part.column("document_id").to_pylist(), part.column(column).to_pylist(), strict=True)


def _nearest(
    questions: NDArray[np.float32], model: str, asked: Sequence[_Asked], evidence: CorpusEvidence
) -> tuple[list[list[_Hit]], set[str]]:
    """The first chunks of each question's tenant by cosine, equal ones by chunk id; from one pass over all vectors.

    `RANKS` of them, or as many as are relevant where these are more. Vectors that were not made by `model`
    (name@version), or in another number of dimensions, are left out; the tenants that have such are the second value. A
    vector that is not as long as its row says, or not of finite numbers, is found by no search (`coverage` counts it).
    """
    dimension = questions.shape[1]
    foreign: set[str] = set()
    owner = dict(
        zip(
            evidence.documents.column("document_id").to_pylist(),
            evidence.documents.column("tenant").to_pylist(),
            strict=True,
        )
    )
    places: dict[str, _Hit] = {}
    best: list[list[tuple[float, str]]] = [[] for _ in questions]
    asking = np.array([one.tenant for one in asked], dtype=object)
    depth = [max(RANKS, len(one.gains())) for one in asked]
    for table in evidence.outputs(StageName.EMBED):
        said = [table.column(name).to_pylist() for name in ("document_id", "model", "model_version", "dimension")]
        for document_id, name, version, wide, embeddings in zip(*said, _lists(table.column("embeddings")), strict=True):
            if f"{name}@{version}" != model or wide != dimension:
                foreign.add(owner[document_id])
                continue
            mine = np.flatnonzero(asking == owner[document_id])
            if not len(mine) or not len(embeddings):
                continue
            ids, matrix = _sound_vectors(embeddings, dimension)
            if not ids:
                continue
            scores = questions[mine] @ matrix.T
            for question, row, nearest in zip(mine.tolist(), scores, scores.max(axis=1).tolist(), strict=True):
                if len(best[question]) == depth[question] and -nearest > best[question][-1][0]:
                    continue  # none of these is among the first
                near = np.argsort(-row, kind="stable")[: depth[question]]
                merged = [*best[question], *((-float(row[i]), ids[i]) for i in near)]
                best[question] = sorted(merged)[: depth[question]]
    wanted = {chunk_id for hits in best for _, chunk_id in hits}
    for table in evidence.outputs(StageName.CHUNK):
        for document_id, chunks in zip(
            table.column("document_id").to_pylist(), _lists(table.column("chunks")), strict=True
        ):
            columns = [pc.struct_field(chunks, name).to_pylist() for name in ("chunk_id", "start", "end")]
            for chunk_id, start, end in zip(*columns, strict=True):
                if chunk_id in wanted:
                    places[chunk_id] = _Hit(chunk_id, document_id, start, end)
    return [[places[chunk_id] for _, chunk_id in hits] for hits in best], foreign


def _sound_vectors(embeddings: pa.StructArray, dimension: int) -> tuple[list[str], NDArray[np.float32]]:
    """Chunk ids and vectors, of those that are vectors of this dimension."""
    vectors = pc.struct_field(embeddings, "vector")
    right = pc.fill_null(pc.equal(pc.list_value_length(vectors), dimension), False)
    ids = pc.struct_field(embeddings, "chunk_id").filter(right).to_pylist()
    matrix = vectors.filter(right).flatten().to_numpy(zero_copy_only=False).reshape(len(ids), dimension)
    finite = np.isfinite(matrix).all(axis=1)
    if finite.all():
        return ids, matrix
    return [chunk_id for chunk_id, sound in zip(ids, finite.tolist(), strict=True) if sound], matrix[finite]


def _lists(column: pa.ChunkedArray) -> Iterator[pa.StructArray]:
    for scalar in column:
        yield scalar.values
