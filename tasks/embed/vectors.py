"""Vectors of texts, from the lake's store where they are there, and the vectors of their tokens."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tasks.embed.settings import EmbedSettings
from tasks.embedding.cache import VectorCache
from tasks.embedding.model import Embedded, EmbeddingModel, TokenModel
from tasks.stage import Resources

_STORED_AT_ONCE = 256


def embed_texts(texts: Sequence[str], model: EmbeddingModel, settings: EmbedSettings, resources: Resources) -> Embedded:
    """As `model.embed`; what is made is stored at once in parts, so that a run which ends early loses little.

    Raises:
        RunError: the model or the store fails.
    """
    if not settings.cache_megabytes or not model.cached:
        return model.embed(texts)
    cache = VectorCache(
        resources.cache_dir, f"{model.name}@{model.version}", model.dimension, settings.cache_megabytes << 20
    )
    vectors = np.zeros((len(texts), model.dimension), np.float32)
    tokens = np.zeros(len(texts), np.int32)
    refused: dict[int, str] = {}
    for i, (vector, count) in (known := cache.get(texts)).items():
        vectors[i], tokens[i] = vector, count
    unknown = [i for i in range(len(texts)) if i not in known]
    for start in range(0, len(unknown), _STORED_AT_ONCE):
        part = unknown[start : start + _STORED_AT_ONCE]
        made = model.embed([texts[i] for i in part])
        vectors[part], tokens[part] = made.vectors, made.tokens
        refused |= {part[position]: why for position, why in made.refused.items()}
        sound = [n for n in range(len(part)) if n not in made.refused and made.vectors[n].any()]
        cache.put({texts[part[n]]: (made.vectors[n], int(made.tokens[n])) for n in sound})
    return Embedded(vectors, tokens, refused)


def token_vectors(texts: Sequence[str], model: TokenModel) -> pa.ListArray:
    """For each text the vectors of its different tokens, one after the other in one list, in order of appearance.

    Equal vectors are kept once: the largest similarity over a set does not ask how often.
    """
    flat: list[NDArray[np.float32]] = []
    for text in texts:
        rows = {row.tobytes(): row for row in model.token_states(text).vectors if row.any()}
        flat.append(np.concatenate([*rows.values()]) if rows else np.zeros(0, np.float32))
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in flat])])
    values = np.concatenate(flat) if flat else np.zeros(0, np.float32)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, pa.float32()))
