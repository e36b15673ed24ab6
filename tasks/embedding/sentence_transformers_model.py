"""A model folder that sentence-transformers reads. The library is an extra: it brings torch."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np

from tasks.embedding.model import Embedded
from tasks.embedding.settings import SentenceTransformersSettings
from tasks.embedding.tokenizers import tokenizer
from tasks.errors import ConfigurationError
from tasks.installed import version

_PACKAGES = ("sentence-transformers", "torch", "transformers")
"""What computes the vectors."""


class SentenceTransformersModel:
    """Any model of the library, read from a folder and from nowhere else."""

    name = "sentence-transformers"
    cached = True

    def __init__(self, settings: SentenceTransformersSettings) -> None:
        if find_spec("sentence_transformers") is None:
            raise ConfigurationError(
                "the package sentence-transformers is not installed",
                remedy="in corpusgate's folder: .venv/bin/pip install -e '.[sentence-transformers]'; "
                "or choose another embed.model",
            )
        if not (settings.folder / "modules.json").is_file():
            raise ConfigurationError(
                f"{settings.folder} holds no sentence-transformers model (no modules.json)",
                remedy="name a folder written by SentenceTransformer.save(); models are never downloaded",
            )
        self._settings = settings
        self._tokenizer = tokenizer(str(settings.folder / "tokenizer.json"))
        self._lock = Lock()

    @cached_property
    def version(self) -> str:
        """As `version_of`, with the packages that are installed."""
        return version_of(self._settings, {name: version(name) for name in _PACKAGES})

    @cached_property
    def dimension(self) -> int:
        """Length of a vector that the model makes."""
        return int(self._encode(["a"]).shape[1])

    @property
    def max_tokens(self) -> int | None:
        """The model's own limit; what is beyond it is not read."""
        limit = self._model.max_seq_length
        return None if limit is None else int(limit)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        """Vectors of unit norm; a text of white space has the zero vector."""
        prefix = self._settings.query_prefix if query else self._settings.passage_prefix
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        said = [i for i, text in enumerate(texts) if text.strip()]
        if said:
            vectors[said] = self._encode([prefix + texts[i] for i in said])
        return Embedded(vectors, np.array(self._tokenizer.count([prefix + t for t in texts]), np.int32))

    def _encode(self, texts: Sequence[str]) -> Any:
        with self._lock:
            return self._model.encode(
                list(texts),
                batch_size=self._settings.batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(self._settings.folder), local_files_only=True)


def version_of(settings: SentenceTransformersSettings, packages: Mapping[str, str]) -> str:
    """The library's version, and the beginning of a SHA-256 over all that shapes a vector.

    That is: the versions of `packages`, the prefixes, and the names and bytes of the folder's files but for its
    descriptions (`.md`).
    """
    beside = [sorted(packages.items()), settings.query_prefix, settings.passage_prefix]
    digest = hashlib.sha256(json.dumps(beside).encode())
    for path in sorted(p for p in settings.folder.rglob("*") if p.is_file() and p.suffix != ".md"):
        digest.update(path.relative_to(settings.folder).as_posix().encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"{packages['sentence-transformers']}+{digest.hexdigest()[:12]}"
