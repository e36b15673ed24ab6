"""Whether a quoted passage stands in a text: word for word, else letter for letter, else aligned."""

import re
import unicodedata
from array import array
from collections import Counter
from functools import lru_cache

from rapidfuzz import fuzz

from tasks.dedup.comparison import loses_facts, tokens
from tasks.documents.quotes import Folded, fold, folded_text, locate
from tasks.gold.kinds import Quote

SIMILARITY = 90.0
"""Of 100, by rapidfuzz's partial ratio over letters and digits: from here on a passage that stands there otherwise than
it was quoted (a word misread, a mark lost) is taken for the one that was meant."""

LEAST_ALIGNED = 20
"""Letters and digits below which a passage is not aligned: something like a short one stands in every text."""

_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")


def find(text: str, quote: Quote) -> tuple[int, int] | None:
    """Where the quoted passage stands in the text as code points [start, end); null where it does not.

    Word for word after folding (`tasks.documents.quotes`); else the same letters and digits in the same order, whatever
    stands between them, from one end of a word to another; else the best alignment, if its similarity reaches
    `SIMILARITY` (its ends may be off by a few letters). But for the first way, every number of the quote must be there.

    >>> find("We pay within 30 days of the in-\\nvoice.", Quote(exact="within 30 days of the invoice"))
    (7, 38)
    >>> find("We pay within 60 days of the invoice.", Quote(exact="within 30 days of the invoice")) is None
    True
    """
    exact = locate(text, quote)
    if exact is not None:
        return exact
    return _lettered(text, quote.exact) or _aligned(text, quote.exact)


def find_in_copy(text: str, quote: Quote, own: str | None) -> tuple[int, int] | None:
    """`find` in a duplicate that was kept in a document's place. `own` is the passage as the document itself had it,
    null where that had lost it already.

    A copy may say the same in other words only as far as a near duplicate may be dropped for it: where a number, a
    negation or a word of weight differs, the passage is not there.

    >>> find_in_copy("The valve is not approved for steam.", Quote(exact="The valve is approved for steam."), None)
    """
    if own is not None and (place := locate(text, Quote(exact=own))) is not None:
        return place
    place = find(text, quote)
    if place is None or loses_facts(tokens(quote.exact), tokens(text[place[0] : place[1]])):
        return None
    return place


def holds(text: str, passage: str) -> bool:
    """Whether the passage stands in the text word for word, white space aside; an empty passage does.

    >>> holds("one\\n\\ntwo three", "one two"), holds("one two", "two one")
    (True, False)
    """
    return folded_text(passage).strip() in fold(text).text


def _lettered(text: str, quote: str) -> tuple[int, int] | None:
    wanted, letters = _letters(quote).text, _letters(text)
    start = letters.text.find(wanted) if wanted else -1
    while start >= 0:
        first, end = letters.span(start, start + len(wanted))
        whole = not text[first - 1 : first].isalnum() and not text[end : end + 1].isalnum()
        if whole and _numbers_agree(quote, text[first:end]):
            return first, end
        start = letters.text.find(wanted, start + 1)
    return None


def _aligned(text: str, quote: str) -> tuple[int, int] | None:
    wanted, letters = _letters(quote).text, _letters(text)
    if len(wanted) < LEAST_ALIGNED:
        return None
    # The shorter of the two would be slid along the other: a text shorter than the quote is compared as a whole.
    if len(letters.text) < len(wanted) and fuzz.ratio(wanted, letters.text) < SIMILARITY:
        return None
    found = fuzz.partial_ratio_alignment(wanted, letters.text, score_cutoff=SIMILARITY)
    if found is None or found.dest_start == found.dest_end:
        return None
    start, end = letters.span(found.dest_start, found.dest_end)
    return (start, end) if _numbers_agree(quote, text[start:end]) else None


def _numbers_agree(quote: str, passage: str) -> bool:
    """Whether every number of the quote stands in the passage as often."""
    return Counter(_NUMBER.findall(quote)) <= Counter(_NUMBER.findall(passage))


@lru_cache(maxsize=16)
def _letters(text: str) -> Folded:
    """Letters and digits alone, case folded, without accents, and where each one stood."""
    out: list[str] = []
    origins = array("q")
    for i, char in enumerate(text):
        if char.isascii():
            if char.isalnum():
                out.append(char.lower())
                origins.append(i)
            continue
        for part in unicodedata.normalize("NFKD", char).casefold():
            if part.isalnum():
                out.append(part)
                origins.append(i)
    return Folded("".join(out), origins)
