"""Writing from right to left: from the order in which it stands on a page to the order in which it is spoken."""

import re
from collections.abc import Sequence
from itertools import groupby

_DIGITS = "\u0660-\u0669\u06f0-\u06f9"
"""Arabic-Indic digits, which run from the left as all numbers do."""
_LETTERS = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
"""Hebrew, Arabic, Syriac, Thaana, N'Ko, Samaritan, Mandaic, and their presentation forms."""
_LETTER = f"(?:(?![{_DIGITS}])[{_LETTERS}])"

LEFTWARD = re.compile(_LETTER)
"""A letter of such writing."""
_PIECES = re.compile(f"({_LETTER}(?:[^\\w]*{_LETTER}+)*)")


def spoken(content: str) -> str:
    """A line as it is spoken, from its characters as they stand from left to right.

    A line mostly of such writing runs from the right; words of the other direction, and numbers, keep their own.

    >>> spoken("".join(reversed("\u05e9\u05dc\u05d5\u05dd"))) == "\u05e9\u05dc\u05d5\u05dd"
    True
    """
    pieces = [piece for piece in _PIECES.split(content) if piece]
    leftward = [piece[::-1] if LEFTWARD.match(piece) else piece for piece in pieces]
    mostly = 2 * sum(len(piece) for piece in pieces if LEFTWARD.match(piece)) > len(content)
    return "".join(reversed(leftward) if mostly else leftward)


def spoken_order(words: Sequence[str]) -> list[int]:
    """The places, in the order in which they are spoken, of words (each as it is spoken) that stand from left to right.

    >>> spoken_order(["a", "b"]), spoken_order(["\u05d1\u05d2", "12", "/", "34", "\u05d0\u05d5"])
    ([0, 1], [4, 1, 2, 3, 0])
    """
    runs = groupby(range(len(words)), lambda place: bool(LEFTWARD.search(words[place])))
    ordered = [list(run)[::-1] if is_leftward else list(run) for is_leftward, run in runs]
    letters = sum(character.isalpha() for word in words for character in word)
    if 2 * sum(len(LEFTWARD.findall(word)) for word in words) > letters:
        ordered.reverse()
    return [place for run in ordered for place in run]
