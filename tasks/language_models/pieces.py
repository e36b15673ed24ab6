"""Long texts in pieces that a language model reads at once."""

from collections.abc import Iterator

LONGEST = 20_000
"""Code points of a piece. A spaCy pipeline refuses more than a million, and its memory grows with a text's length."""


def pieces(text: str, longest: int = LONGEST) -> Iterator[tuple[int, str]]:
    """(offset, piece) of a text, cut at a line, else at a space; together they are the text. An empty one is a piece.

    >>> list(pieces("one two\\nthree", 9))
    [(0, 'one two'), (7, '\\nthree')]
    """
    start = 0
    while len(text) - start > longest:
        window = text[start : start + longest]
        cut = max(window.rfind("\n"), 0) or max(window.rfind(" "), 0) or longest
        yield start, window[:cut]
        start += cut
    yield start, text[start:]
