"""Measures of the embed stage."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import StageName
from tasks.embed.drift import vector_drift
from tasks.embed.questions import domain_ranking
from tasks.embed.settings import EmbedSettings
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence, Evidence

NORM_TOLERANCE = 1e-3


def evaluate(evidence: Evidence, settings: EmbedSettings) -> pa.Table:
    """Metric rows of every document of the batch: chunks with a valid vector, chunks over the limit."""
    rows = MetricRows(StageName.EMBED)
    chunks = evidence.batch.tables[StageName.CHUNK].column("chunks").to_pylist()
    output = evidence.output
    dimensions = output.column("dimension").to_pylist()
    for i, document_id in enumerate(output.column("document_id").to_pylist()):
        embeddings = output.column("embeddings")[i].values
        wanted = [chunk["chunk_id"] for chunk in chunks[i]]
        ids = pc.struct_field(embeddings, "chunk_id").to_pylist()
        valid = valid_vectors(pc.struct_field(embeddings, "vector"), dimensions[i])
        good = {chunk_id for chunk_id, is_valid in zip(ids, valid.tolist(), strict=True) if is_valid}
        rows.ratio("coverage", document_id, sum(chunk_id in good for chunk_id in wanted), len(wanted))
        truncated = pc.struct_field(embeddings, "truncated").to_numpy(zero_copy_only=False)
        rows.ratio("truncated_rate", document_id, int(truncated.sum()), len(wanted))
    return rows.table()


def facts(evidence: CorpusEvidence, settings: EmbedSettings) -> pa.Table:
    """What needs all chunks: how high those that answer the corpus's own questions stand, and drift of vectors."""
    rows = MetricRows(StageName.EMBED)
    domain_ranking(rows, evidence, settings)
    vector_drift(rows, evidence, settings)
    return rows.table()


def valid_vectors(vectors: pa.ListArray, dimension: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which vectors have the right dimension, finite numbers, and unit norm within 1e-3 (so no zero vector).

    >>> valid_vectors(pa.array([[0.6, 0.8], [0.0, 0.0], [1.0], [float("nan"), 1.0]]), 2).tolist()
    [True, False, False, False]
    """
    right = pc.equal(pc.list_value_length(vectors), dimension).to_numpy(zero_copy_only=False)
    valid = np.zeros(len(vectors), np.bool_)
    flat = vectors.filter(pa.array(right)).flatten().to_numpy(zero_copy_only=False).astype(np.float64)
    norms = np.linalg.norm(flat.reshape(-1, dimension), axis=1)
    valid[right] = np.abs(norms - 1) <= NORM_TOLERANCE
    return valid
