"""Embedding models by name."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class EmbeddingModel(Protocol):
    """What the stage asks of a model. Instances are shared by threads."""

    @property
    def name(self) -> str:
        """The name in the registry."""

    @property
    def version(self) -> str:
        """What tells its vectors from those of any other model: package version and digest of the weights."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    def max_tokens(self) -> int | None:
        """Tokens after which it stops reading; null where it reads everything."""

    def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Vectors of unit norm, shape (n, dimension), and the number of tokens of each text by its own tokenizer.

        A text of which it knows nothing has the zero vector.
        """


class WordLlama:
    """Static word-piece vectors, 256 dimensions, on the CPU; reads texts of any length."""

    name = "wordllama"
    dimension = 256
    max_tokens = None

    @property
    def version(self) -> str:
        """Package version and the beginning of the SHA-256 of the weights."""
        from tasks.documents import wordllama

        return f"{wordllama.package_version()}+{wordllama.weights_sha()[:12]}"

    def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """The normalized mean of the tokens' vectors, over the whole text."""
        from tasks.documents import wordllama

        return wordllama.embed(texts)


MODELS: Mapping[str, Callable[[], EmbeddingModel]] = MappingProxyType({"wordllama": WordLlama})


@lru_cache(maxsize=4)
def embedding_model(name: str) -> EmbeddingModel:
    """The model of this name, made once per process.

    Raises:
        KeyError: no such model (settings check the name first).
    """
    return MODELS[name]()
