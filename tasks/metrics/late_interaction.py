"""Late interaction: a question and a passage are compared token by token."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def max_similarity(query: NDArray[np.float32], passages: pa.ListArray) -> NDArray[np.float64]:
    """MaxSim of a question with each passage: shape (n passages,), from -1 to 1, higher is nearer.

    `query` has shape (m, dimension) with m > 0; a passage is the list of its token vectors, one after the other; all
    of unit norm. The score is the mean over the question's tokens of the largest dot product with any token of the
    passage (the sum in the paper, which ranks alike). A passage without tokens scores -1.
    Source: Khattab and Zaharia 2020, ColBERT, section 3.3.

    >>> passages = pa.array([[1.0, 0.0, 0.0, 1.0], [0.6, 0.8], []], pa.list_(pa.float32()))
    >>> max_similarity(np.array([[1, 0], [0, 1]], np.float32), passages).round(6).tolist()
    [1.0, 0.7, -1.0]
    """
    dimension = query.shape[1]
    scores = np.full(len(passages), -1.0)
    lengths = pc.list_value_length(passages).to_numpy(zero_copy_only=False) // dimension
    filled = np.flatnonzero(lengths)
    if not len(filled):
        return scores
    tokens = passages.flatten().to_numpy(zero_copy_only=False).reshape(-1, dimension)
    starts = np.concatenate([[0], np.cumsum(lengths[filled])[:-1]])
    best = np.maximum.reduceat(tokens @ query.T, starts, axis=0)
    scores[filled] = best.mean(axis=1, dtype=np.float64)
    return scores
