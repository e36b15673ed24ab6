"""Finding a quoted passage in a text that was extracted or normalized differently.

A quote is the W3C Web Annotation Model's TextQuoteSelector. Texts are compared folded: compatibility forms
decomposed (NFKD), invisible characters gone, runs of white space as one space. Offsets are code points of the
text as given.
"""

import re
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tasks.gold.kinds import Quote

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's Default_Ignorable_Code_Point, as the inside of a regular expression's character class."""

_INVISIBLE_ONE = re.compile(f"[{INVISIBLE}]")


_SPACES = re.compile(r"\s+")
_ASCII_SPACES = np.array([chr(code).isspace() for code in range(128)])


@dataclass(frozen=True, slots=True)
class Folded:
    """A text in its folded form; `origins[i]` is where the folded character `i` stood in the text as given."""

    text: str
    origins: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Code points of the original text that folded to [start, end); not for an empty span."""
        return self.origins[start], self.origins[end - 1] + 1


@lru_cache(maxsize=16)
def fold(text: str) -> Folded:
    """Folds a text: NFKD, no invisible characters, runs of white space as one space; case is kept.

    >>> fold("e\\u00adf\\ufb01 \\n x").text
    'effi x'
    >>> list(fold("e\\u00adf\\ufb01 \\n x").origins)
    [0, 2, 3, 3, 4, 7]
    """
    return _fold(text)


def _fold(text: str) -> Folded:
    if text.isascii():
        return _fold_ascii(text)
    out: list[str] = []
    origins = array("q")
    space = False
    for i, char in enumerate(text):
        if char.isspace():
            if not space:
                out.append(" ")
                origins.append(i)
            space = True
            continue
        if char.isascii():
            out.append(char)
            origins.append(i)
        elif _INVISIBLE_ONE.match(char):
            continue
        else:
            for part in unicodedata.normalize("NFKD", char):
                # Spacing accents decompose to a space and a mark; that space is not a word boundary.
                if not part.isspace():
                    out.append(part)
                    origins.append(i)
        space = False
    return Folded("".join(out), origins)


def folded_text(text: str) -> str:
    """`fold(text).text`, quicker for a short text whose places nobody asks for.

    >>> folded_text("e\\u00adf\\ufb01 \\n x")
    'effi x'
    """
    return _SPACES.sub(" ", text) if text.isascii() else _fold(text).text


def _fold_ascii(text: str) -> Folded:
    """Only runs of white space change; over whole texts at once."""
    codes = np.frombuffer(text.encode("ascii"), np.uint8)
    spaces = _ASCII_SPACES[codes]
    kept = ~spaces
    kept[:1] = True
    kept[1:] |= ~spaces[:-1]
    folded = np.where(spaces, np.uint8(ord(" ")), codes)[kept]
    return Folded(folded.tobytes().decode("ascii"), array("q", np.flatnonzero(kept).astype(np.int64).tobytes()))


def locate(text: str, quote: Quote) -> tuple[int, int] | None:
    """Where the quote stands in the text as code points [start, end); null where it does not.

    Of several places the one whose surroundings agree longest with `prefix` and `suffix` is taken, the first
    among equals. A quote without surroundings goes to its first literal place, if it has one.

    >>> locate("one two\\nthree, two four", Quote(exact="two three"))
    (4, 13)
    >>> locate("two three, two three", Quote(exact="two three", prefix=", "))
    (11, 20)
    >>> locate("one", Quote(exact="two")) is None
    True
    """
    first = text.find(quote.exact)
    if first >= 0 and not (quote.prefix or quote.suffix):
        return first, first + len(quote.exact)
    folded, exact = fold(text), folded_text(quote.exact)
    starts = list(_occurrences(folded.text, exact))
    if len(starts) > 1:
        prefix, suffix = folded_text(quote.prefix), folded_text(quote.suffix)

        def agreement(start: int) -> int:
            end = start + len(exact)
            return _common_suffix(folded.text, start, prefix) + _common_prefix(folded.text, end, suffix)

        starts = [max(starts, key=agreement)]
    return folded.span(starts[0], starts[0] + len(exact)) if starts else None


def _occurrences(text: str, part: str) -> Iterator[int]:
    if not part:
        return
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        # "cafe" is no quote of "café": the mark that follows belongs to the last letter.
        if end == len(text) or not unicodedata.combining(text[end]):
            yield start
        start = text.find(part, start + 1)


def _common_suffix(text: str, end: int, prefix: str) -> int:
    if text.endswith(prefix, 0, end):
        return len(prefix)
    n = 0
    while n < min(len(prefix), end) and text[end - 1 - n] == prefix[-1 - n]:
        n += 1
    return n


def _common_prefix(text: str, start: int, suffix: str) -> int:
    if text.startswith(suffix, start):
        return len(suffix)
    n = 0
    while n < min(len(suffix), len(text) - start) and text[start + n] == suffix[n]:
        n += 1
    return n
