"""Choosing a title among what the file declares and what stands on the page."""

import re

from tasks.documents.raw_text import lookup_key

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
    title = _WRITER.sub("", " ".join((declared or "").split()))
    if not sensible(title):
        return heading
    if heading and (wanted := lookup_key(heading)):
        cuts = [match.span() for match in _SEPARATOR.finditer(title)]
        ends = [title[:start] for start, _ in cuts] + [title[end:] for _, end in cuts]
        return next((part for part in ends if lookup_key(part) == wanted), title)
    return title


def sensible(title: str) -> bool:
    """Whether a declared title says something of the document.

    >>> sensible("Annual report 2023"), sensible("annual_report.indd"), sensible("Document1"), sensible("12-07")
    (True, False, False, False)
    """
    if not any(char.isalpha() for char in title):
        return False
    return not (_FILE_NAME.fullmatch(title) or _EMPTY.fullmatch(title))
