"""What stages ask of an embedding model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of unit norm, shape (n, dimension), and the tokens of each text as the model reads it, shape (n,).

    `refused` says, by position, why a text has no vector; its row in `vectors` is zero.
    """

    vectors: NDArray[np.float32]
    tokens: NDArray[np.int32]
    refused: Mapping[int, str] = field(default_factory=dict)


class EmbeddingModel(Protocol):
    """An embedding model. Instances are shared by threads."""

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
        """Tokens that it reads as one text; null where there is no limit."""

    @property
    def cached(self) -> bool:
        """Whether its vectors are worth keeping: false where making one is as fast as looking it up."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        """Vectors of passages, or of questions with `query` (some models are trained with a prefix for each).

        A text of which it knows nothing has the zero vector.
        """


@dataclass(frozen=True, slots=True)
class TokenStates:
    """The tokens of one text: where each one lies in it, [start, end) in code points, shape (n, 2); its vector, shape
    (n, dimension), of unit norm or zero."""

    spans: NDArray[np.int64]
    vectors: NDArray[np.float32]


@runtime_checkable
class TokenModel(Protocol):
    """A model that gives the vector of every token (for late interaction)."""

    def token_states(self, text: str, *, query: bool = False) -> TokenStates:
        """The tokens of a text of any length. One longer than the model reads at once is read in windows."""


class Tokenizer(Protocol):
    """Counts tokens as an embedding model does."""

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The library and the file behind it, by name: what its counts depend on."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, with what the model adds to every text; of an empty text, what it adds."""

    def starts(self, text: str) -> NDArray[np.int64]:
        """Where each token starts in `text`, in code points, ascending; without what the model adds."""
