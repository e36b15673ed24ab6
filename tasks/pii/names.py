"""Names of persons that their surroundings announce: a form of address, or "my name is"."""

import re
from collections.abc import Iterator

PERSON = "PERSON"

_SCORE = 0.6

_WORD = r"[^\W\d_a-zß-öø-ÿ](?:[^\W\d_]+|\.)?(?:['’-][^\W\d_]+)*"
_NAME = rf"(?P<name>{_WORD}(?:[ ]{_WORD}){{0,3}})"
_ANNOUNCED = (
    re.compile(rf"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\b\.?[ ]{_NAME}"),
    re.compile(rf"\b(?:Herrn?|Frau|Monsieur|Madame|Mme|Señora?|Sra?\.|Signora?|Meneer|Mevrouw)[ ]{_NAME}"),
    re.compile(
        rf"\b(?:[Mm]y name is|[Mm]ein Name ist|[Ii]ch heiße|[Jj]e m'appelle|[Mm]e llamo|[Mm]i chiamo)[ ]{_NAME}"
    ),
)


def announced_names(text: str) -> Iterator[tuple[int, int, float]]:
    """(start, end, score) of names after a form of address or an introduction.

    >>> text = "My name is Rubija. Ask Frau Anna-Lena Groß, not the Dr."
    >>> [text[start:end] for start, end, _ in announced_names(text)]
    ['Anna-Lena Groß', 'Rubija']
    """
    for pattern in _ANNOUNCED:
        for match in pattern.finditer(text):
            yield match.start("name"), match.end("name"), _SCORE
