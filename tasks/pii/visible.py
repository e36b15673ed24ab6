"""The text as a reader sees it, which is what is searched; invisible characters hide nothing."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.documents.quotes import INVISIBLE

_HIDING = re.compile(f"[{INVISIBLE}]|[^\\S \\n\\t\\r\\f\\v]|[\u2010\u2011\uff01-\uff5e]")
"""Invisible characters, unusual spaces, hyphens that do not break, full-width forms."""


@dataclass(frozen=True, slots=True)
class Visible:
    """`text` with its way back: character i stood at `origins[i]` of the source (null: nothing was changed)."""

    text: str
    origins: Sequence[int] | None

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Code points of the source that [start, end) was made of, hidden characters inside included."""
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end - 1] + 1


def visible(text: str) -> Visible:
    """Removes what cannot be seen and unifies spaces, hyphens and full-width forms.

    >>> seen = visible("a@exam\\u200bple.org")
    >>> seen.text, seen.source(2, 13)
    ('a@example.org', (2, 14))
    """
    if text.isascii() or not _HIDING.search(text):
        return Visible(text, None)
    out: list[str] = []
    origins: list[int] = []
    for i, char in enumerate(text):
        if _HIDING.match(char):
            char = _shown(char)
        if char:
            out.append(char)
            origins.append(i)
    return Visible("".join(out), origins)


def _shown(char: str) -> str:
    if char.isspace():
        return " "
    if char in "\u2010\u2011":
        return "-"
    return unicodedata.normalize("NFKC", char) if "\uff01" <= char <= "\uff5e" else ""
