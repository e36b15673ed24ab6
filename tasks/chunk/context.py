"""What the embedding model reads before a chunk's own text: the document's title and the headings above."""

from collections.abc import Sequence

from tasks.chunk.settings import ChunkSettings
from tasks.embedding.model import Tokenizer

_BETWEEN = " > "
_END = "\n"


class ContextualHeader:
    """The contexts of one document, by section path."""

    def __init__(self, title: str | None, counter: Tokenizer, settings: ChunkSettings) -> None:
        self._title = title or ""
        self._counter = counter
        self._kind = settings.contextual_header
        self._limit = settings.max_tokens // 4
        self._made: dict[tuple[str, ...], str] = {}

    def of(self, section_path: Sequence[str]) -> str:
        """The context of a chunk under these headings, with the line end that parts it from the text; else ''."""
        if self._kind == "none":
            return ""
        path = tuple(section_path) if self._kind == "title_and_path" else ()
        if path not in self._made:
            self._made[path] = self._fitting(path)
        return self._made[path]

    def _fitting(self, path: tuple[str, ...]) -> str:
        """The fullest of: all, title and innermost heading, innermost heading (title, where there is no path)."""
        candidates = [(self._title, *path), (self._title, *path[-1:]), path[-1:]]
        for candidate in candidates:
            # A document often has its title as its first heading too.
            parts = list(dict.fromkeys(part for part in candidate if part))
            text = _BETWEEN.join(parts) + _END
            if parts and self._counter.count([text])[0] <= self._limit:
                return text
        return ""
