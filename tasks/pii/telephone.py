"""Telephone numbers that no numbering plan knows: announced by a word, or written as only telephone numbers are.

Presidio asks for numbers that are in use. Numbers kept free for fiction, old ones, and mistyped ones are personal
data in a text all the same.
"""

import re
from collections.abc import Iterator

PHONE = "PHONE_NUMBER"

_SCORE = 0.5

_EXTENSION = r"(?:\s?(?:x|ext\.?)\s?\d{1,6})?"

_INTERNATIONAL = re.compile(rf"(?<![\w+])\+[1-9](?:[-. ()/]{{0,2}}\d){{7,14}}{_EXTENSION}(?!\d)")
_NORTH_AMERICAN = re.compile(
    rf"(?<![\w.+-])(?<!\d )(?:(?:00)?1[-. ])?(?:\(\d{{3}}\) ?|\d{{3}}[-. ])\d{{3}}[-. ]\d{{4}}{_EXTENSION}"
    r"(?![\w-]|\.\d)"
)
_ANNOUNCED = re.compile(
    r"\b(?:telephone|phone|tel|mobile|cell(?:phone)?|fax|hotline|dial|whatsapp|sms|telefon|handy|t[ée]l[ée]phone|"
    r"t[ée]l|m[óo]vil|tel[ée]fono|telefone|celular|"
    r"(?:call|reach|ring|text|contact)(?:ed)?(?: \w+){0,3}? (?:at|on|under))\b\.?[^\S\n]*"
    r"(?:(?:no|number|nr|is|at)\b\.?[^\S\n]*){0,2}"
    rf"[:=#-]?\s{{0,2}}(?P<number>\(?\+?\d(?:[-. ()/]{{0,2}}\d){{6,14}}{_EXTENSION})(?![\w-]|\.\d)",
    re.IGNORECASE,
)


def telephone_numbers(text: str) -> Iterator[tuple[int, int, float]]:
    """(start, end, score) of numbers in international form, in North American form, or after a word for telephone.

    >>> [("Tel: 467 3395, +1 555 010 0199")[s:e] for s, e, _ in telephone_numbers("Tel: 467 3395, +1 555 010 0199")]
    ['+1 555 010 0199', '467 3395']
    """
    for pattern in (_INTERNATIONAL, _NORTH_AMERICAN):
        for match in pattern.finditer(text):
            yield match.start(), match.end(), _SCORE
    for match in _ANNOUNCED.finditer(text):
        yield match.start("number"), match.end("number"), _SCORE
