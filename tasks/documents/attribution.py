"""Whether a passage stands where a chunk says: the verification rule, against a second reading of the raw bytes."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rapidfuzz import fuzz

from tasks.documents.archives import ContainerLimits
from tasks.documents.cage_worker import Pages
from tasks.documents.raw_text import RawText, UnreadableError, lookup_key, read_raw
from tasks.errors import DocumentError

LEAST_CHARACTERS = 20
PARTIAL_RATIO = 95.0
BAG_OF_WORDS = 0.95

_WORD = re.compile(r"\d+|[^\W\d_]+")
"""Numbers and letters apart: a reader that sets no space between cells gives `91Germany`."""
_COMPUTED_NUMBER = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+", re.MULTILINE)
_PROBE = 24
_PROBES = 12
_SPARE_WORDS = 40


class Attribution(StrEnum):
    """How a passage was found at its place, or why not."""

    EXACT = "exact"
    PARTIAL = "partial"
    REORDERED = "bag_of_words_reordered"
    SHORT = "short"
    FAILED = "failed"
    NO_LETTERS = "no_letters"
    NO_TEXT_LAYER = "no_text_layer"


VERIFIED = frozenset((Attribution.EXACT, Attribution.PARTIAL, Attribution.REORDERED, Attribution.SHORT))


class Passage(NamedTuple):
    """A passage, the place it claims, and the headings it claims to stand under.

    `recognized` says that OCR read it: the file has no text to hold it against.
    """

    text: str
    page_first: int | None
    page_last: int | None
    anchor: str | None
    headings: Sequence[str]
    part: str | None = None
    """The part of the document that holds it; pages are then those of the part."""
    recognized: bool = False


def check_file(
    path: str,
    media_type: str,
    encoding: str | None,
    passages: Sequence[Passage],
    containers: Mapping[str, int],
    pages: Pages,
) -> list[str] | None:
    """A job for the cage: reads a file and looks its passages up; an `Attribution` for each, in their order.

    Null where the media type has no second parser. The look-ups happen here as well: the answer is then a few
    bytes, and the limit of time holds for texts on which looking up is slow. `containers` are the limits under which
    the file was parsed (`ContainerLimits`), so that what could be parsed can be read again.

    Raises:
        DocumentError: the second parser cannot read the bytes (`unreadable`).
    """
    try:
        raw = read_raw(Path(path).read_bytes(), media_type, encoding, ContainerLimits.model_validate(containers))
    except UnreadableError:
        raise DocumentError(
            "unreadable",
            "the second parser cannot read the file",
            remedy="open it in a viewer: if it is damaged, fetch it again",
        ) from None
    if raw is None:
        return None
    found: list[str] = []
    for passage in passages:
        text, first, last, anchor, headings, part, recognized = Passage(*passage)
        if recognized:
            found.append(Attribution.NO_TEXT_LAYER.value)
            continue
        if part is not None:
            first, last = raw.pages_in(part, first or 1, last or 1)
        outcome = attribute(text, raw, page_first=first, page_last=last, anchor=anchor, headings=headings)
        found.append(outcome.value)
    return found


def attribute(
    passage: str,
    raw: RawText,
    *,
    page_first: int | None = None,
    page_last: int | None = None,
    anchor: str | None = None,
    headings: Sequence[str] = (),
) -> Attribution:
    """Looks a passage up at its claimed page(s) or anchor, and the headings of its section path before its end.

    Compared are letters and digits only, after NFKC and case folding: containment; else a partial ratio of at least
    95; else at least 0.95 of the passage's words (as a bag) close together there, in another reading order. A passage
    under 20 such characters must be contained, and is `short`. Where a passage was put together from elements that do
    not follow one another in the file (what stood between them was taken out), each of its paragraphs must be found in
    one of these ways, one of them with 20 characters or more. Two outcomes say nothing: a passage without letters or
    digits (`no_letters`), and one whose pages are scans without a text layer (`no_text_layer`). Numbers that the
    program which shows a file counts (`RawText.computed_numbers`) need not be found at the beginning of lines.

    >>> raw = RawText("chapteronethequickbrownfoxjumpsover", ("Chapter one. The quick brown fox jumps over",))
    >>> attribute("the quick brown\\nfox jumps", raw, headings=["Chapter one"]).value
    'exact'
    >>> attribute("the quick brown fox jumps", raw, headings=["Chapter two"]).value
    'failed'
    """
    found = _attribute(passage, raw, page_first, page_last, anchor, headings)
    if found is Attribution.FAILED and raw.computed_numbers:
        plain = [_COMPUTED_NUMBER.sub("", heading) for heading in headings]
        return _attribute(_COMPUTED_NUMBER.sub("", passage), raw, page_first, page_last, anchor, plain)
    return found


def _attribute(
    passage: str,
    raw: RawText,
    page_first: int | None,
    page_last: int | None,
    anchor: str | None,
    headings: Sequence[str],
) -> Attribution:
    key = lookup_key(passage)
    if not key:
        return Attribution.NO_LETTERS
    start, end = raw.page_range(page_first, page_last)
    if page_first is not None and page_last is not None and raw.scanned.issuperset(range(page_first, page_last + 1)):
        return Attribution.NO_TEXT_LAYER
    if anchor is not None and not raw.page_starts:
        if anchor not in raw.anchors:
            return Attribution.FAILED
        start = raw.anchors[anchor]
    text = cache(lambda: raw.text_of(page_first, page_last, anchor))
    found, stop = _find(passage, key, raw.key, start, end, text)
    if found is Attribution.FAILED:
        found, stop = _find_paragraphs(passage, raw.key, start, end, text)
    if found not in VERIFIED:
        return found
    if raw.page_starts:
        # Within a page the second parser may read in another order: page feet first, or column by column.
        stop = end
    for heading in filter(None, map(lookup_key, headings)):
        if not 0 <= raw.key.find(heading) < stop:
            return Attribution.FAILED
    return found


def _find(
    passage: str, key: str, all_keys: str, start: int, end: int, text: Callable[[], str]
) -> tuple[Attribution, int]:
    """How the passage was found in all_keys[start:end] (`text()`, as read), and where its place ends at the latest."""
    position = all_keys.rfind(key, start, end)
    if position >= 0:
        return Attribution.SHORT if len(key) < LEAST_CHARACTERS else Attribution.EXACT, position + len(key)
    if len(key) < LEAST_CHARACTERS or start >= end:
        return Attribution.FAILED, 0
    if _partial_ratio(key, all_keys[start:end]) >= PARTIAL_RATIO:
        return Attribution.PARTIAL, end
    if _has_words(_words(passage), _words(text())):
        return Attribution.REORDERED, end
    return Attribution.FAILED, 0


def _find_paragraphs(
    passage: str, all_keys: str, start: int, end: int, text: Callable[[], str]
) -> tuple[Attribution, int]:
    """As `_find`, paragraph by paragraph: reordered where all are found and one of them is long enough to tell."""
    paragraphs = [(part, key) for part in passage.split("\n\n") if (key := lookup_key(part))]
    if len(paragraphs) < 2 or all(len(key) < LEAST_CHARACTERS for _, key in paragraphs):
        return Attribution.FAILED, 0
    places = [_find(part, key, all_keys, start, end, text) for part, key in paragraphs]
    if any(found is Attribution.FAILED for found, _ in places):
        return Attribution.FAILED, 0
    return Attribution.REORDERED, max(stop for _, stop in places)


def _has_words(wanted: list[str], there: list[str]) -> bool:
    """Whether 0.95 of the wanted words stand close together: in a window of three times their number and 40 more.

    A whole page, and all the more a whole document, may hold the words of a short passage by chance.
    """
    need = Counter(wanted)
    missing = len(wanted)
    allowed = len(wanted) - BAG_OF_WORDS * len(wanted)
    window = 3 * len(wanted) + _SPARE_WORDS
    for i, word in enumerate(there):
        if word in need:
            missing -= need[word] > 0
            need[word] -= 1
        if i >= window and (left := there[i - window]) in need:
            need[left] += 1
            missing += need[left] > 0
        if missing <= allowed:
            return True
    return False


def _partial_ratio(key: str, text: str) -> float:
    """rapidfuzz's partial ratio against the window of `text` that probes of the key point to; 0 without one.

    Every probe of the key that occurs in the text votes for where the key would begin. At a ratio of 95 some probe of
    24 characters among 12 is all but certain to be whole, and one window costs a page's length less than all of them.
    """
    votes: Counter[int] = Counter()
    step = max(1, (len(key) - _PROBE) // _PROBES)
    for offset in range(0, max(1, len(key) - _PROBE + 1), step):
        position = text.find(key[offset : offset + _PROBE])
        if position >= 0:
            votes[(position - offset) // 64] += 1
    if not votes:
        return 0.0
    slack = 64 + len(key) // 20
    begin = max(0, votes.most_common(1)[0][0] * 64 - slack)
    window = text[begin : begin + len(key) + 2 * slack + 64]
    return float(fuzz.partial_ratio(key, window, score_cutoff=PARTIAL_RATIO))


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
