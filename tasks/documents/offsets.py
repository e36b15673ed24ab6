"""Where a position in clean text lies after redaction, and back."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any


class RedactionMap:
    """Translates code point offsets between clean text and redacted text.

    Built from the `spans` of a `PII` row (sorted, not overlapping). A position inside a replaced span has no
    counterpart: `to_redacted` and `to_clean` then give the span's start (or its end, with `end=True`).
    """

    def __init__(self, spans: Iterable[Mapping[str, Any]]) -> None:
        ordered = list(spans)
        self._clean = [(span["start"], span["end"]) for span in ordered]
        self._redacted = [(span["redacted_start"], span["redacted_end"]) for span in ordered]

    def to_redacted(self, position: int, *, end: bool = False) -> int:
        """The offset in redacted text for an offset in clean text.

        >>> m = RedactionMap([{"start": 4, "end": 9, "redacted_start": 4, "redacted_end": 7}])
        >>> m.to_redacted(3), m.to_redacted(6), m.to_redacted(6, end=True), m.to_redacted(10)
        (3, 4, 7, 8)
        """
        return _translate(self._clean, self._redacted, position, end)

    def to_clean(self, position: int, *, end: bool = False) -> int:
        """The offset in clean text for an offset in redacted text.

        >>> m = RedactionMap([{"start": 4, "end": 9, "redacted_start": 4, "redacted_end": 7}])
        >>> m.to_clean(3), m.to_clean(5), m.to_clean(5, end=True), m.to_clean(8)
        (3, 4, 9, 10)
        """
        return _translate(self._redacted, self._clean, position, end)


def _translate(source: list[tuple[int, int]], target: list[tuple[int, int]], position: int, end: bool) -> int:
    i = bisect_right(source, position, key=lambda span: span[0]) - 1
    if i < 0:
        return position
    (start, stop), (other_start, other_stop) = source[i], target[i]
    if position >= stop:
        return other_stop + position - stop
    if position == start:
        return other_start
    return other_stop if end else other_start
