"""Authors: whom a file declares, and whom its opening names."""

import re
from collections.abc import Iterable, Iterator, Sequence

_NOBODY = frozenset(("admin", "administrator", "author", "unknown", "user", "owner", "anonymous", "root", "n/a"))
_NAME = r"[^\W\d_][^\W\d_'’.-]*(?:[ \t.'’-]+[^\W\d_][^\W\d_'’.-]*){1,4}"
BYLINE = re.compile(
    rf"^[ \t]*(?:[Bb]y|BY|[Ww]ritten by|[Vv]on|[Pp]ar|[Pp]or|[Dd]i)[ \t]*:?[ \t]+(?P<authors>{_NAME}"
    rf"(?:(?:[ \t]*,[ \t]*(?:and[ \t]+)?|[ \t]+(?:and|und|et|y|e|&)[ \t]+){_NAME})*)[ \t]*$",
    re.MULTILINE,
)
"""A line of its own that says by whom the text is: "By Ada Moor and Jon Reed"."""

_NEXT_LINE = re.compile(r"[^\S\n]*\n\s*([^\n]{3,400})")
_NOTES = r"\d*†‡§∗¶#✉·•|"
_BETWEEN_AUTHORS = re.compile(
    rf"\s*[,;&{_NOTES}][\s,;&{_NOTES}]*(?:(?:and|und|et|y)\s+)?|\s+(?:and|und|et|y)\s+", re.IGNORECASE
)
_EDGES = " .()[]"
_PARTICLES = frozenset(
    ("van", "von", "der", "den", "de", "la", "le", "da", "di", "del", "dos", "du", "ten", "zu", "bin")
)
_FEWEST_PARTS = 2
_MOST_PARTS = 5
_INSTITUTION = re.compile(
    r"\b(?:university|institut|department|dept|school|college|cent(?:re|er)|laborator|company|ltd|inc|gmbh|abstract|"
    r"article|research|journal|science|introduction|access|clinic|hospital|press|division|faculty)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*[,;]\s*(?:and\s+|und\s+|et\s+)?|\s+(?:and|und|et|y|e|&)\s+")


def declared_authors(values: Iterable[str]) -> list[str]:
    """The declared names, each once, without those that a program writes for nobody.

    >>> declared_authors([" Ada  Moor ", "admin", "Ada Moor"])
    ['Ada Moor']
    """
    names = (" ".join(value.split()) for value in values)
    return list(dict.fromkeys(name for name in names if name and name.casefold() not in _NOBODY))


def named_authors(opening: str, pattern: re.Pattern[str], redacted: Sequence[tuple[int, int]]) -> list[str]:
    """The names in the first match of `pattern` (its group `authors`, else its first, else all of it).

    A name that shares a character with a part [start, end) that redaction put there is left out.

    >>> named_authors("Ice\\n\\nBy Ada Moor and Jon Reed\\n\\nIt froze.", BYLINE, [])
    ['Ada Moor', 'Jon Reed']
    >>> named_authors("By Ada Moor, Jon Reed", BYLINE, [(3, 11)])
    ['Jon Reed']
    """
    match = pattern.search(opening)
    if match is None:
        return []
    group: str | int = "authors" if "authors" in pattern.groupindex else 1 if pattern.groups else 0
    start, end = match.span(group)
    kept = (
        opening[first:last]
        for first, last in _names(opening, start, end)
        if not any(a < last and first < b for a, b in redacted)
    )
    return declared_authors(kept)


def authors_below(title: str, opening: str, redacted: Sequence[tuple[int, int]]) -> list[str]:
    """The names in the line after the title, if it holds nothing else but marks and numbers of notes.

    >>> authors_below("Ice", "Ice\\n\\nAda Moor 1,2, J. K. Reed* and Li Wu\\n\\nIt froze.", [])
    ['Ada Moor', 'J. K. Reed', 'Li Wu']
    >>> [authors_below("Ice", f"Ice\\n\\n{line}", []) for line in ("It froze on Monday.", "The Canal Company Ltd")]
    [[], []]
    """
    at = opening.find(title)
    if not title or at < 0:
        return []
    line = _NEXT_LINE.match(opening, at + len(title))
    if line is None:
        return []
    names = list(_names(opening, line.start(1), line.end(1), _BETWEEN_AUTHORS))
    if not all(_is_name(opening[start:end]) for start, end in names):
        return []
    return declared_authors(
        opening[start:end].strip(_EDGES)
        for start, end in names
        if not any(first < end and start < last for first, last in redacted)
    )


def _is_name(text: str) -> bool:
    """Whether a text is two to five words of letters that begin with a capital, or a particle, and no institution."""
    words = text.strip(_EDGES).split()
    if len(words) < _FEWEST_PARTS:
        return text.startswith("[") or not words
    return (
        len(words) <= _MOST_PARTS
        and all(word[0].isupper() or word in _PARTICLES for word in words)
        and not any(map(str.isdigit, text))
        and not _INSTITUTION.search(text)
    )


def _names(text: str, start: int, end: int, between_names: re.Pattern[str] = _BETWEEN) -> Iterator[tuple[int, int]]:
    for between in between_names.finditer(text, start, end):
        if start < between.start():
            yield start, between.start()
        start = between.end()
    if start < end:
        yield start, end
