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


def _names(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for between in _BETWEEN.finditer(text, start, end):
        yield start, between.start()
        start = between.end()
    if start < end:
        yield start, end
