"""Where values that were found once stand again, in time that grows with the text and not with values times text."""

import re
from collections.abc import Iterator, Mapping

from tasks.pii.detection import Find

LEAST_REPEATED = 5
"""Characters from which on a found value is looked for in the rest of its document."""

_STARTS = re.compile(r"(?<![^\W_])")
"""Places that do not stand within a word."""

_RUN = re.compile(r"[^\W_]+")


class Repeated:
    """Values with their finds; each has `LEAST_REPEATED` characters or more."""

    def __init__(self, values: Mapping[str, Find]) -> None:
        self._values = values
        lengths: dict[str, set[int]] = {}
        for value in values:
            lengths.setdefault(value[:LEAST_REPEATED], set()).add(len(value))
        self._lengths = {beginning: sorted(found) for beginning, found in lengths.items()}

    def exactly(self, text: str) -> Iterator[Find]:
        """Where a value stands in a text as it is, not within a word.

        >>> found = Repeated({"Ann Lee": Find(0, 7, "PERSON", 0.85)})
        >>> [(find.start, find.end) for find in found.exactly("Ann Lee, Joann Lee, Ann Leeson: Ann Lee")]
        [(0, 7), (32, 39)]

        The end of the text ends a value, not the length of a longer one that begins alike:

        >>> found = Repeated({"Ann Lee": Find(0, 7, "PERSON", 0.85), "Ann Lee Moor": Find(0, 12, "PERSON", 0.85)})
        >>> [(find.start, find.end) for find in found.exactly("by Ann Lee")]
        [(3, 10)]
        """
        for place in _STARTS.finditer(text):
            start = place.start()
            for length in self._lengths.get(text[start : start + LEAST_REPEATED], ()):
                end = start + length
                find = self._values.get(text[start:end])
                if find is not None and end <= len(text) and not text[end : end + 1].isalnum():
                    yield Find(start, end, find.type, find.score)

    def loosely(self, text: str) -> Iterator[Find]:
        """Where the words of a value stand in their order, in either case, whatever parts them.

        >>> found = Repeated({"Ann Lee": Find(0, 7, "PERSON", 0.85)})
        >>> [(find.start, find.end) for find in found.loosely("letter-of_ANN-LEE.pdf")]
        [(10, 17)]
        """
        folded = _folded(text)
        for value, find in self._values.items():
            runs = _RUN.findall(value)
            if runs and all(_folded(run) in folded for run in runs):
                words = r"[\W_]+".join(map(re.escape, runs))
                for match in re.finditer(rf"(?<![^\W_]){words}(?![^\W_])", text, re.IGNORECASE):
                    yield Find(match.start(), match.end(), find.type, find.score)


def _folded(text: str) -> str:
    """A form that is equal for all that `re.IGNORECASE` takes for equal, the Turkish letters i included."""
    return text.casefold().replace("\u0131", "i").replace("\u0307", "")
