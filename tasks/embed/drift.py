"""Drift of vectors: what is new since an earlier run against that run, and the neighbours of what has not changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas.names import MetricStatus, Outcome
from schemas.stages import EMBED
from tasks.embed.settings import EmbedSettings
from tasks.metrics.mmd import mmd
from tasks.metrics.neighbours import neighbour_overlap
from tasks.metrics.rows import MetricRows
from tasks.metrics.separation import separation
from tasks.stage import CorpusEvidence

LEAST_DOCUMENTS = 20
"""Fewer on either side are not compared."""
NEIGHBOURS = 10
"""The k of `neighbour_stability`."""
DRIFT = ("drift_classifier_auc", "drift_mmd", "drift_mmd_p")
METRICS = (*DRIFT, "neighbour_stability")
_JUDGED = ("drift_classifier_auc", "neighbour_stability")
_READ = pa.schema([EMBED.field(name) for name in ("document_id", "model", "model_version", "dimension", "embeddings")])
_ALL = "all"


@dataclass(frozen=True, slots=True)
class _Document:
    """A document that has vectors: its class, its bytes, and the file that holds them."""

    doc_class: str
    content_sha: str
    file: str


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One chunk of a document, drawn by a hash of its id, and the model that made its vector."""

    chunk_id: str
    vector: NDArray[np.float32]
    model: str


@dataclass(frozen=True, slots=True)
class _Pair:
    """The documents that are compared: of a run against those of an earlier one."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]

    @property
    def is_large(self) -> bool:
        """Whether there are enough of both."""
        return min(len(self.ours), len(self.theirs)) >= LEAST_DOCUMENTS


def vector_drift(rows: MetricRows, evidence: CorpusEvidence, settings: EmbedSettings) -> None:
    """Writes `drift_mmd`, `drift_mmd_p`, `drift_classifier_auc` and `neighbour_stability`.

    Against live without a slice and by class; against the anchor, where one is pinned, in slices of their own. Of each
    document one chunk is looked at, since chunks of one document are no independent evidence; of each class at most
    `drift_documents` on either side. Which ones follows from hashes of ids: a run that is compared twice is compared
    by the same documents. Vectors of different models, or versions of one, have no common space: nothing is compared
    then, and the slices `not_compared_with_live` and `not_compared_with_anchor` say so.
    """
    if "live" not in evidence.references:
        _refuse(rows, METRICS, None, "live", "there is no live run to compare with")
    run = _embedded(evidence.documents, evidence.here)
    for name, reference in evidence.references.items():
        _compare(rows, evidence, settings, name, run, _embedded(reference.documents, reference.locations))


def _compare(
    rows: MetricRows,
    evidence: CorpusEvidence,
    settings: EmbedSettings,
    name: str,
    run: Mapping[str, _Document],
    earlier: Mapping[str, _Document],
) -> None:
    """All figures against one earlier run."""
    limit = settings.drift_documents
    whole = None if name == "live" else (f"since_{name}", "all")
    held = {i for i, document in run.items() if i in earlier and earlier[i].content_sha == document.content_sha}
    fresh = run.keys() - held
    pairs = {whole: _Pair(_sample(fresh, limit), _sample(earlier, limit))}
    for doc_class in sorted({run[i].doc_class for i in fresh}):
        pairs[f"class_since_{name}", doc_class] = _Pair(
            _sample((i for i in fresh if run[i].doc_class == doc_class), limit),
            _sample((i for i, document in earlier.items() if document.doc_class == doc_class), limit),
        )
    kept = _Pair(*[_sample(held, limit)] * 2)
    wanted = [pair for pair in (kept, *pairs.values()) if pair.is_large]
    drawn = _draw(
        evidence,
        {
            *((i, run[i].file) for pair in wanted for i in pair.ours),
            *((i, earlier[i].file) for pair in wanted for i in pair.theirs),
        },
    )
    for place, pair in pairs.items():
        new = [found for i in pair.ours if (found := drawn.get((i, run[i].file)))]
        old = [found for i in pair.theirs if (found := drawn.get((i, earlier[i].file)))]
        none = "" if pair.ours else f"nothing is new or changed since {name}"
        _drift(rows, settings, name, place, new, old, none)
    both = [(i, drawn.get((i, run[i].file)), drawn.get((i, earlier[i].file))) for i in kept.ours]
    _stability(rows, name, whole, [(i, now, before) for i, now, before in both if now and before])


def _drift(
    rows: MetricRows,
    settings: EmbedSettings,
    name: str,
    slice_of: tuple[str, str] | None,
    new: list[_Drawn],
    old: list[_Drawn],
    reason: str,
) -> None:
    reason = reason or _why_not(name, new, old)
    one, other = _matrix(new), _matrix(old)
    found = None if reason else mmd(one, other, permutations=settings.drift_permutations)
    apart = None if reason else separation(one, other)
    if found is None or apart is None or found.p_value is None:
        _refuse(rows, DRIFT, slice_of, name, reason)
        return
    # What 32-bit sums are good for.
    rows.value("drift_mmd", None, round(found.value, 6), slice_of=slice_of)
    rows.value("drift_mmd_p", None, found.p_value, slice_of=slice_of)
    area = round(apart.auc, 6)
    rows.ratio("drift_classifier_auc", None, area * apart.smaller, float(apart.smaller), slice_of=slice_of)


def _stability(
    rows: MetricRows, name: str, slice_of: tuple[str, str] | None, both: list[tuple[str, _Drawn, _Drawn]]
) -> None:
    """A row per document whose drawn chunk is the same in both runs."""
    same = [(i, now, before) for i, now, before in both if now.chunk_id == before.chunk_id]
    now, before = [one for _, one, _ in same], [other for _, _, other in same]
    if reason := _why_not(name, now, before):
        _refuse(rows, METRICS[-1:], slice_of, name, reason)
        return
    overlap = neighbour_overlap(_matrix(before), _matrix(now), NEIGHBOURS)
    for (document_id, _, _), share in zip(same, overlap.tolist(), strict=True):
        rows.ratio("neighbour_stability", document_id, share * NEIGHBOURS, float(NEIGHBOURS), slice_of=slice_of)


def _why_not(name: str, new: list[_Drawn], old: list[_Drawn]) -> str:
    """Why two samples are not compared; empty where they are."""
    if min(len(new), len(old)) < LEAST_DOCUMENTS:
        return f"fewer than {LEAST_DOCUMENTS} documents to compare with {name}, or of {name}"
    models = [sorted({one.model for one in sample}) for sample in (new, old)]
    if models[0] != models[1] or len(models[0]) > 1:
        return f"embedded by {', '.join(models[0])}, in {name} by {', '.join(models[1])}: no common space"
    return ""


def _refuse(rows: MetricRows, metrics: Iterable[str], slice_of: tuple[str, str] | None, name: str, reason: str) -> None:
    """Rows without a value. A small class, and why nothing is compared, is told once, not of every measure."""
    of_class = slice_of is not None and slice_of[0] == f"class_since_{name}"
    for metric in metrics:
        if metric in _JUDGED or not of_class:
            rows.without_value(metric, None, MetricStatus.NOT_APPLICABLE, slice_of=slice_of)
        if metric in _JUDGED and not of_class:
            why = f"not_compared_with_{name}", reason
            rows.without_value(metric, None, MetricStatus.NOT_APPLICABLE, slice_of=why)


def _embedded(documents: pa.Table, locations: pa.Table) -> dict[str, _Document]:
    """The documents that came out of embed, by id."""
    here = locations.filter((pc.field("outcome") == Outcome.OK.value) & pc.field("file").is_valid())
    files = dict(zip(here.column("document_id").to_pylist(), here.column("file").to_pylist(), strict=True))
    columns = [documents.column(name).to_pylist() for name in ("document_id", "doc_class", "content_sha")]
    return {
        document_id: _Document(doc_class, content_sha or "", files[document_id])
        for document_id, doc_class, content_sha in zip(*columns, strict=True)
        if document_id in files
    }


def _sample(document_ids: Iterable[str], limit: int) -> tuple[str, ...]:
    """At most `limit` of them, those with the least hashes; the part of a sample that is of one class is in the
    sample of that class."""
    return tuple(sorted(document_ids, key=_hash)[:limit])


def _hash(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=8, person=b"drift").digest()


def _draw(evidence: CorpusEvidence, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], _Drawn]:
    """By (document id, file) the chunk with the least hash among those with a vector that is not zero."""
    files: dict[str, list[str]] = {}
    for document_id, file in sorted(wanted):
        files.setdefault(file, []).append(document_id)
    drawn: dict[tuple[str, str], _Drawn] = {}
    for file, document_ids in files.items():
        table = evidence.stored(file, _READ, document_ids)
        columns = [table.column(name).to_pylist() for name in _READ.names[:4]]
        for document_id, model, version, dimension, embeddings in zip(
            *columns, table.column("embeddings"), strict=True
        ):
            chosen = _choose(embeddings.values, dimension)
            if chosen is not None:
                made_by = f"{model}@{version} ({dimension} numbers)"
                drawn[document_id, file] = _Drawn(*chosen, made_by)
    return drawn


def _choose(embeddings: pa.StructArray, dimension: int) -> tuple[str, NDArray[np.float32]] | None:
    ids = pc.struct_field(embeddings, "chunk_id").to_pylist()
    vectors = pc.struct_field(embeddings, "vector")
    for place in sorted(range(len(ids)), key=lambda place: _hash(ids[place])):
        vector = vectors[place].values.to_numpy(zero_copy_only=False).astype(np.float32)
        if len(vector) == dimension and np.isfinite(vector).all() and vector.any():
            return ids[place], vector
    return None


def _matrix(drawn: list[_Drawn]) -> NDArray[Any]:
    return np.array([one.vector for one in drawn], np.float32) if drawn else np.empty((0, 0), np.float32)
