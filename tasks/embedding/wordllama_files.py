"""The static embedding model in the wordllama package: its tokenizer and its weights, read from its own folder.

The package's loader is not used: importing it configures the root logger and brings an HTTP client, and its lookup
may reach for the network. The two files it ships are all that is needed: a tokenizer without truncation, and one
vector per token. A text's vector is the mean of its tokens' vectors, scaled to unit length.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tasks.errors import ConfigurationError
from tasks.installed import version

DIMENSION = 256
_WEIGHTS = Path("weights") / "l2_supercat_256.safetensors"
_TOKENIZER = Path("tokenizers") / "l2_supercat_tokenizer_config.json"


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Tokens of each text by the model's own tokenizer, without special tokens; 0 for an empty text.

    >>> count_tokens(["Hello world", ""])
    [2, 0]
    """
    return [len(encoding.ids) for encoding in _tokenizer().encode_batch_fast(list(texts), add_special_tokens=False)]


def token_starts(text: str) -> NDArray[np.int64]:
    """The offset in code points at which each token of `text` starts (ascending; a token may share its start).

    >>> token_starts("Hello world").tolist()
    [0, 5]
    """
    encoding = _tokenizer().encode(text, add_special_tokens=False)
    return np.fromiter((start for start, _ in encoding.offsets), np.int64, len(encoding.offsets))


def embed(texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Unit vectors of the whole texts, shape (n, 256), and how many tokens each text has.

    Each text is pooled by itself, so its vector does not depend on what else is in the call. A text without tokens
    has the zero vector.
    """
    matrix = _matrix()
    vectors = np.zeros((len(texts), DIMENSION), np.float32)
    tokens = np.zeros(len(texts), np.int32)
    encodings = _tokenizer().encode_batch_fast(list(texts), add_special_tokens=False)
    for i, encoding in enumerate(encodings):
        ids = encoding.ids
        tokens[i] = len(ids)
        if ids:
            mean = matrix[ids].mean(axis=0)
            norm = np.sqrt(np.dot(mean, mean))
            if norm > 0:
                vectors[i] = mean / norm
    return vectors, tokens


def token_vectors(text: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Where each token of `text` lies, [start, end) in code points, and its vector: shapes (n, 2) and (n, 256).

    >>> spans, vectors = token_vectors("Hello world")
    >>> spans.tolist(), vectors.shape
    ([[0, 5], [5, 11]], (2, 256))
    """
    encoding = _tokenizer().encode(text, add_special_tokens=False)
    return np.array(encoding.offsets, np.int64).reshape(-1, 2), _matrix()[encoding.ids]


def package_version() -> str:
    """The version of the installed wordllama package."""
    return version("wordllama")


@lru_cache(maxsize=1)
def weights_sha() -> str:
    """SHA-256 of the weights file, hex."""
    return _sha(_WEIGHTS)


@lru_cache(maxsize=1)
def tokenizer_sha() -> str:
    """SHA-256 of the tokenizer file, hex."""
    return _sha(_TOKENIZER)


def _sha(name: Path) -> str:
    with _file(name).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file(name: Path) -> Path:
    spec = find_spec("wordllama")
    path = Path(spec.origin).parent / name if spec and spec.origin else name
    if not path.is_file():
        raise ConfigurationError(
            f"the embedding model's file {name} is not installed",
            remedy="reinstall it: pip install --force-reinstall wordllama==0.4.0.post1",
        )
    return path


@lru_cache(maxsize=1)
def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(_file(_TOKENIZER)))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@lru_cache(maxsize=1)
def _matrix() -> NDArray[np.float32]:
    from safetensors.numpy import load_file

    return np.ascontiguousarray(load_file(str(_file(_WEIGHTS)))["embedding.weight"], dtype=np.float32)
