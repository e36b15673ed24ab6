"""Choosing a title among what the file declares and what stands on the page."""

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias
from urllib.parse import unquote

from tasks.documents.raw_text import lookup_key

TitleSource: TypeAlias = Literal["meta", "heading", "opening", "filename", "pattern"]

_LONGEST = 300
_OPENING_LINES = 10
_FEWEST_WORDS = 3
_FEWEST_CAPITALS = 5
_LETTERS_PER_DIGIT = 8
_TITLE_WORD = re.compile(r"[^\W\d_]{2,}")
_ADDRESS = re.compile(r"https?:|www\.|@|\bdoi\b|\barxiv\b|\bet al\b|©|\(c\)", re.IGNORECASE)
_STEM = re.compile(r"\.[A-Za-z0-9]{1,5}\Z")
_FILE_NAME = re.compile(
    r"\S*\.(?:docx?|dotx?|pdf|pptx?|xlsx?|odt|rtf|txt|html?|tex|dvi|indd|qxd|pmd|ps|eps|md|jpe?g|png|tiff?|cdr|wpd)"
    r"|.+\.(?:docx?|pdf|pptx?|xlsx?|indd|qxd|odt|rtf)",
    re.IGNORECASE,
)
_WRITER = re.compile(
    r"^(?:microsoft\s+(?:word|powerpoint|excel|office word)|powerpoint presentation)\s*(?:-\s*|$)", re.I
)
_EMPTY = re.compile(
    r"(?:untitled|unbenannt|sans titre|sin título|no title|title|document|dokument|presentation|präsentation|slide|"
    r"folie|book|mappe|tabelle|page|new page|print|scan|scanned document|layout)\s*[-_#]?\s*\d*|\d+"
    r"|(?:scan|img|doc)[-_ ]?\d+",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\s+[|–—·•»«:-]+\s+|\s*\|\s*|:\s+")


def choose_title(declared: str | None, heading: str | None) -> str | None:
    """The declared title if it is sensible, else the first heading; null where there is neither.

    A declared title is not sensible if it is a file name, a placeholder of a writing program, or has no letters. A
    site's name at either end of it goes if what is left is the heading.

    >>> choose_title("Ice on the canal | Canal News", "Ice on the canal")
    'Ice on the canal'
    >>> choose_title("Microsoft Word - report_v3.doc", "Annual report"), choose_title("Untitled-2", None)
    ('Annual report', None)
    >>> choose_title("Why not | and how", "Contents")
    'Why not | and how'
    """
    heading = " ".join((heading or "").split()) or None
    title = _plain(declared or "")
    if not sensible(title):
        return heading
    if heading and (wanted := lookup_key(heading)):
        cuts = [match.span() for match in _SEPARATOR.finditer(title)]
        ends = [title[:start] for start, _ in cuts] + [title[end:] for _, end in cuts]
        return next((part for part in ends if lookup_key(part) == wanted), title)
    return title


def title_by(
    sources: Iterable[TitleSource],
    *,
    declared: str | None,
    heading: str | None,
    opening: str,
    uri: str,
    pattern: str | None,
) -> str | None:
    r"""The title from the first source that gives one.

    `meta` is what the file declares, if it is sensible; `heading` the heading that stands for a title; `opening` the
    first of the text's first ten lines that reads like a title; `filename` the last part of the path, without its
    ending, `_` and `-` as spaces; `pattern` what it matches in the opening (its group `title`, else its first, else all
    of it).

    >>> given = {"declared": "Untitled-1", "heading": None, "opening": "Ref: 7 Ice", "pattern": r"^Ref: \d+ (.+)$"}
    >>> title_by(["meta", "heading", "filename"], uri="notes/ice_on-the%20canal.pdf", **given)
    'ice on the canal'
    >>> title_by(["pattern"], uri="notes/7.pdf", **given)
    'Ice'
    """
    for source in sources:
        found = None
        if source == "meta" and declared and sensible(_plain(declared)):
            found = choose_title(declared, heading)
        elif source == "heading":
            found = heading
        elif source == "opening":
            lines = (_sensible_line(line) for line in opening_lines(opening))
            found = next((line for line in lines if line and reads_like_title(line)), None)
        elif source == "filename":
            found = _sensible_line(re.sub(r"[_-]+", " ", unquote(_STEM.sub("", uri.rsplit("/", 1)[-1]))))
        elif source == "pattern" and pattern:
            found = _sensible_line(_matched(re.compile(pattern, re.MULTILINE), opening))
        if found:
            return found
    return None


def opening_lines(text: str) -> list[str]:
    """The first ten lines of a text that are not empty."""
    return [line for line in text.split("\n") if line.strip()][:_OPENING_LINES]


def reads_like_title(line: str) -> bool:
    """Whether a line has three words or more (five in capitals), no address, and fewer digits than a reference has.

    >>> reads_like_title("Ice on the canal"), reads_like_title("ORIGINAL ARTICLE"), reads_like_title("doi:10.1/a b c d")
    (True, False, False)
    >>> reads_like_title("J. Canal Stud. 25 (2008) 114006 (17pp)"), reads_like_title("Moor et al.")
    (False, False)
    """
    words = _TITLE_WORD.findall(line)
    digits = sum(map(str.isdigit, line))
    return (
        len(words) >= (_FEWEST_CAPITALS if line.isupper() else _FEWEST_WORDS)
        and not _ADDRESS.search(line)
        and digits * _LETTERS_PER_DIGIT <= sum(map(str.isalpha, line))
    )


def _plain(title: str) -> str:
    return _WRITER.sub("", " ".join(title.split()))


def _sensible_line(line: str) -> str | None:
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST and sensible(line) else None


def _matched(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    if match is None:
        return ""
    return match["title" if "title" in pattern.groupindex else 1 if pattern.groups else 0] or ""


def sensible(title: str) -> bool:
    """Whether a declared title says something of the document.

    >>> sensible("Annual report 2023"), sensible("annual_report.indd"), sensible("Document1"), sensible("12-07")
    (True, False, False, False)
    """
    if not any(char.isalpha() for char in title):
        return False
    return not (_FILE_NAME.fullmatch(title) or _EMPTY.fullmatch(title))
