"""Words that a line end broke: which hyphens belong to the word.

The document decides first: if the joined or the hyphenated form stands elsewhere in it, that form is used (the more
frequent one; on a tie the hyphen stays). Where neither does, rules on word forms decide; see `_by_form`.
"""

import itertools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tasks.normalize.mapped import Edit

HYPHENS = "\u00ad\u2010\u2011\ufffe-"
_WORD = r"[^\W_]"

BREAK = re.compile(rf"(?<={_WORD})(?P<hyphen>[{HYPHENS}])[ \t]*\n[ \t\n]*(?={_WORD})|(?<={_WORD})\ufffe(?={_WORD})")
"""A hyphen at a line end between two parts of a word; U+FFFE stands for one also where the line end is gone."""

_TOKEN = re.compile(rf"{_WORD}+(?:[-\u2010\u2011]{_WORD}+)*")
_BEFORE = re.compile(r"\S{1,80}\Z")
_AFTER = re.compile(rf"[\w{HYPHENS}]{{1,80}}")
_LAST_PART = re.compile(rf"[\w{HYPHENS}]*\Z")
_LONGEST_PART = 80

_CONJUNCTIONS = frozenset({"and", "or", "nor", "und", "oder", "bzw", "sowie", "och", "og", "eller", "resp"})
_NUMERALS = frozenset({"ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"})
# First parts that English writes with a hyphen, second parts that follow one, and first parts that are written closed.
_OPENERS = frozenset(
    {
        "self",
        "all",
        "well",
        "ill",
        "ex",
        "half",
        "cross",
        "long",
        "short",
        "high",
        "low",
        "full",
        "large",
        "small",
        "vice",
    }
)
_CLOSERS = frozenset(
    {
        "term",
        "based",
        "scale",
        "level",
        "range",
        "free",
        "class",
        "quality",
        "specific",
        "dependent",
        "related",
        "driven",
    }
    | {"oriented", "aware", "known", "called", "sized", "rate", "year", "friendly", "type", "sided", "the", "date"}
)
_CLOSED_OPENERS = frozenset({"over", "under", "back", "some", "every", "life", "down", "with"})
_LETTERS_KEPT = 3
_LINES_PER_BREAK = 30


@dataclass(frozen=True)
class WordForms:
    """Word forms that stand unbroken in a document, case folded, with their counts."""

    words: Counter[str]
    compounds: Counter[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "WordForms":
        """Counts words, hyphenated tokens and each pair of neighbours in one, outside words broken at a line end."""
        words: Counter[str] = Counter()
        compounds: Counter[str] = Counter()
        for text in texts:
            for token in _TOKEN.findall(_unbroken(text).replace("\u00ad", "").lower()):
                parts = re.split("[-\u2010\u2011]", token)
                words.update(parts)
                if len(parts) > 1:
                    compounds.update("-".join(pair) for pair in itertools.pairwise(parts))
                    if len(parts) > 2:
                        compounds["-".join(parts)] += 1
        return cls(words, compounds)

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.words)

    def has_inflection(self, word: str, at_least: int) -> bool:
        """Whether a form stands in the document that differs from `word` in the last letters only."""
        stem = word[: max(at_least, len(word) - _LETTERS_KEPT)]
        i = bisect_left(self._sorted, stem)
        return (
            i < len(self._sorted)
            and self._sorted[i].startswith(stem)
            and len(self._sorted[i]) <= len(word) + _LETTERS_KEPT
        )


def rejoined(text: str, forms: WordForms, *, soft_breaks: bool = True) -> Iterator[Edit]:
    """The edits that rejoin words broken at line ends.

    `soft_breaks` says that the lines of this text were broken by a program that hyphenates (`hyphenates`); without it
    a hyphen belongs to the word, unless the document shows the joined form or neither part as a word.

    >>> forms = WordForms.of(["a long-term store for n-hexanol, its temperature"])
    >>> def joined(text):
    ...     from tasks.normalize.mapped import MappedText
    ...     mapped = MappedText(text)
    ...     mapped.apply(rejoined(text, forms))
    ...     return mapped.text
    >>> joined("long-\\nterm, n-\\nhexanol, tempera-\\nture, Lade- und, Vor-\\nund Nachlauf")
    'long-term, n-hexanol, temperature, Lade- und, Vor- und Nachlauf'
    """
    if "\n" not in text and "\ufffe" not in text:
        return
    for match in BREAK.finditer(text):
        left, right = _parts(text, match)
        yield Edit(match.start(), match.end(), _decide(left, match[0][0], right, forms, soft_breaks))


def hyphenates(texts: Iterable[str]) -> bool:
    """Whether the program that broke these lines hyphenates: at least one line in thirty ends inside a word.

    Word processors rarely do by default; then the few hyphens at line ends are the author's.
    """
    lines = breaks = 0
    for text in texts:
        lines += text.count("\n") + text.count("\ufffe")
        breaks += sum(1 for _ in BREAK.finditer(text))
    return breaks * _LINES_PER_BREAK >= lines


def _parts(text: str, match: re.Match[str]) -> tuple[str, str]:
    """What stands before the hyphen back to the last space, and the word after the line end."""
    left = _BEFORE.search(text[max(0, match.start() - _LONGEST_PART) : match.start()])
    right = _AFTER.match(text, match.end())
    return left[0] if left else "", right[0] if right else ""


def _unbroken(text: str) -> str:
    """The text without the words that a line end broke."""
    if "\n" not in text and "\ufffe" not in text:
        return text
    pieces = []
    done = 0
    for match in BREAK.finditer(text):
        left, right = _parts(text, match)
        pieces.append(text[done : max(done, match.start() - len(left))])
        done = match.end() + len(right)
    pieces.append(text[done:])
    return " ".join(pieces)


def _decide(left_token: str, hyphen: str, right_token: str, forms: WordForms, soft_breaks: bool) -> str:
    """What stands between the two parts: nothing, a hyphen, or a hyphen and a space."""
    if "/" in left_token or "@" in left_token or "www." in left_token:
        return "-"
    found = _LAST_PART.search(left_token)
    left = re.sub(f"[{HYPHENS}]", "-", found[0] if found else "").strip("-_")
    right = re.sub(f"[{HYPHENS}]", "-", right_token).strip("-_")
    last, first = left.rsplit("-", 1)[-1], right.split("-", 1)[0]
    shown = _by_document(left.lower(), right.lower(), last.lower(), first.lower(), forms)
    if shown is not None:
        return shown
    if first in _CONJUNCTIONS or (first == "bis" and (last.lower() in _NUMERALS or last.isdigit())):
        return "- "
    if hyphen == "\u00ad":
        return ""
    if hyphen == "\u2011":
        return "-"
    if not soft_breaks and (forms.words[last.lower()] or forms.words[first.lower()]):
        return "-"
    return _by_form(left, last, first, forms)


def _by_document(left: str, right: str, last: str, first: str, forms: WordForms) -> str | None:
    whole = forms.compounds[f"{left}-{right}"] + forms.compounds[f"{left}-{first}"]
    joined = forms.words[last + first]
    hyphenated = whole or forms.compounds[f"{last}-{first}"]
    if joined or hyphenated:
        return "" if joined > hyphenated else "-"
    return None


def _by_form(left: str, last: str, first: str, forms: WordForms) -> str:
    """The rules for a word that stands nowhere else in the document.

    The hyphen stays beside a digit (2-methyl-5-hexenal, COVID-19), before a capital letter that follows a small one
    (Anglo-Saxon), after a single letter (n-hexanol, X-ray), after a compound whose last part is itself a word of the
    document or that ends in a short word (state-of-the-art), and in common open compounds (long-term, rule-based).
    An inflected form of the joined word in the document, and everything else, joins the parts.
    """
    small_last, small_first = last.lower(), first.lower()
    if first[0].isdigit() or last[-1].isdigit() or len(last) == 1 or (first[0].isupper() and last[-1].islower()):
        return "-"
    if forms.has_inflection(small_last + small_first, len(last) + 2):
        return ""
    if "-" in left and (len(last) <= _LETTERS_KEPT or (forms.words[small_last] and forms.words[small_first])):
        return "-"
    if small_last in _OPENERS and len(first) > _LETTERS_KEPT:
        return "-"
    if small_first in _CLOSERS and len(last) > _LETTERS_KEPT and small_last not in _CLOSED_OPENERS:
        return "-" if forms.words[small_last] or len(first) > _LETTERS_KEPT else ""
    return ""
