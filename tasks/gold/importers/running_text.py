"""Running text made of the tokens of an annotated data set, with the place of each token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_NO_SPACE_BEFORE = frozenset((".", ",", ";", ":", "!", "?", ")", "]", "%", "'s", "n't", "'", "’s"))
_NO_SPACE_AFTER = frozenset(("(", "[", "$", "£", "€"))
_SURROUNDING = 32


@dataclass(frozen=True, slots=True)
class RunningText:
    """A text and where each token of each sentence lies in it, as code points [start, end)."""

    text: str
    places: tuple[tuple[tuple[int, int], ...], ...]

    def quote(self, sentence: int, first: int, end: int) -> dict[str, Any]:
        """The tokens [first, end) of a sentence as a quote with what stands around it."""
        start, stop = self.places[sentence][first][0], self.places[sentence][end - 1][1]
        return {
            "exact": self.text[start:stop],
            "prefix": self.text[max(0, start - _SURROUNDING) : start],
            "suffix": self.text[stop : stop + _SURROUNDING],
        }


def running_text(sentences: Sequence[Sequence[str]]) -> RunningText:
    """One paragraph of the sentences' tokens, with spaces where print has them.

    >>> made = running_text([["Ada", "'s", "mill", "(", "1820", ")", "."], ["It", "burned", "."]])
    >>> made.text, made.quote(1, 0, 1)["exact"]
    ("Ada's mill (1820). It burned.", 'It')
    """
    text = ""
    places = []
    before = ""
    for sentence in sentences:
        own = []
        for token in sentence:
            if text and token not in _NO_SPACE_BEFORE and before not in _NO_SPACE_AFTER:
                text += " "
            own.append((len(text), len(text) + len(token)))
            text += token
            before = token
        places.append(tuple(own))
    return RunningText(text, tuple(places))
