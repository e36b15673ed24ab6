"""Which parts of a text are looked at: windows of its prose, from its beginning to its end."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from schemas.names import ElementKind

SILENT = frozenset({ElementKind.CODE, ElementKind.FORMULA})
TERSE = frozenset({ElementKind.TABLE, ElementKind.FIGURE})
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+|\S+@\S+\.\w+")
_SPACE = re.compile(r"\s")
_REACH = 40
"""A window begins at the next space, if one comes within so many characters."""


def prose(text: str, spans: Iterable[Mapping[str, Any]], kinds: Mapping[int, str], fewest_letters: int) -> str:
    """The text that tells its language: without code and formulas, and without tables where there is other text enough.

    Code never decides: a document that is nothing else gives the empty string.
    """
    running: list[str] = []
    terse: list[str] = []
    for span in spans:
        kind = kinds[span["element_id"]]
        if kind not in SILENT:
            (terse if kind in TERSE else running).append(text[span["start"] : span["end"]])
    if letters("\n".join(running), fewest_letters) >= fewest_letters:
        return "\n".join(running)
    return "\n".join([*running, *terse])


def letters(text: str, enough: int) -> int:
    """Letters in `text`; counting stops at `enough`.

    >>> letters("No. 12, 3rd", 100), letters("abcdef", 4)
    (4, 4)
    """
    count = 0
    for character in text:
        if character.isalpha():
            count += 1
            if count >= enough:
                break
    return count


def windows(text: str, most: int, length: int) -> list[str]:
    """Up to `most` windows of about `length` characters, evenly spread from the beginning to the end.

    A text no longer than all of them is cut into neighbouring windows of equal length. Addresses are taken out, and a
    window in capitals is read in small letters, as the model knows few capitals.

    >>> windows("one two three four five six", 2, 9)
    ['one two t', 'five six']
    >>> windows("see www.example.org NOW", 4, 300)
    ['see  NOW']
    """
    if len(text) <= length:
        return [_readable(text)]
    number = min(most, -(-len(text) // length))
    if number == 1:
        return [_readable(text[:length])]
    length = min(length, -(-len(text) // number))
    stride = (len(text) - length) / (number - 1)
    found = []
    for i in range(number):
        start = round(i * stride)
        end = start + length
        if start and not text[start - 1].isspace():
            space = _SPACE.search(text, start, min(start + _REACH, end))
            start = space.end() if space else start
        found.append(_readable(text[start:end]))
    return found


def _readable(window: str) -> str:
    window = _ADDRESS.sub("", window)
    return window.lower() if window.isupper() else window
