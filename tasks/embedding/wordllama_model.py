"""Static word-piece vectors: the fast default."""

from collections.abc import Sequence

import numpy as np

from tasks.embedding import wordllama_files
from tasks.embedding.model import Embedded, TokenStates


class WordLlama:
    """Static word-piece vectors, 256 dimensions, on the CPU; reads texts of any length."""

    name = "wordllama"
    dimension = wordllama_files.DIMENSION
    max_tokens = None
    cached = False

    @property
    def version(self) -> str:
        """Package version and the beginning of the SHA-256 of the weights."""
        return f"{wordllama_files.package_version()}+{wordllama_files.weights_sha()[:12]}"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        """The normalized mean of the tokens' vectors, over the whole text; questions are read as passages are."""
        return Embedded(*wordllama_files.embed(texts))

    def token_states(self, text: str, *, query: bool = False) -> TokenStates:
        """The tokens with their static vectors, scaled to unit length."""
        spans, vectors = wordllama_files.token_vectors(text)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return TokenStates(spans, np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0))
