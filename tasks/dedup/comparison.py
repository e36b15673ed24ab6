"""What of a text is compared: its comparison text, and whether one text says all that another says.

The difference check is the second half of near-duplicate search. A high Jaccard similarity says that two texts
share most of their characters, which is just as true of two certificates that differ in nothing but the reading.
Dropping one of them is safe only if nothing it says is lost.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from rapidfuzz.distance import Indel

_TOKEN = re.compile(
    r"(?<!\w)[-\u2212+]?\d+(?:[.,:/\u2019'-]\d+)*\w*"  # numbers with sign and separators: -5, 10.02, 2027-03-01, 5kg
    r"|\w+(?:['\u2019.-]\w+)*"  # words, codes, addresses: don't, G-20917, v1.2
    r"|[^\w\s]"
)

_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those which who whom of in on at by for it its is are was were be been has have had "
        "and also so as",
    )
)
"""Words whose exchange or loss changes no fact. Not here on purpose: or, to, from, with, before, after, may, must."""

_NEGATIONS = frozenset(
    re.findall(
        r"\w+",
        "not no never none nor neither without cannot except unless fail fails failed void invalid "
        "nicht kein keine keinen keiner keinem keines nie niemals ohne weder "
        "ne pas non jamais sans aucun aucune ni nunca ningún ninguna sin tampoco "
        "não nem sem nenhum nenhuma niet geen nooit zonder mai senza nessun nessuna "
        "inte ej aldrig utan ikke aldri uden uten nie bez nigdy не нет без никогда",
    )
)
"""Words that turn a statement round when they are added; English and the larger European languages."""

_LEAST_MOVED = 4
"""Words from which on a passage that stands elsewhere in the kept text counts as moved, not as lost."""

_SYMBOLS = frozenset("%‰§")
"""Punctuation, by Unicode, that says something."""

_RULES = frozenset("|~=+")
"""Symbols, by Unicode, that draw tables, lines and bullets."""

_SHORT_PASSAGE = 12
"""Words up to which an added passage with a negation or a number may turn round or narrow what stands around it
("is no longer valid", "until 1 May only"); a longer one is taken for an addition in its own right."""

_LEAST_SLIP = 6
"""Letters from which on two words may be one word spelled two ways."""


def comparison_text(text: str) -> str:
    """The text that is compared: case folded, white space collapsed; digits and punctuation kept.

    >>> comparison_text("  Bay 31,\\n\\tNORTH ")
    'bay 31, north'
    """
    return " ".join(text.casefold().split())


def loses_facts(dropped: Sequence[str], kept: Sequence[str]) -> bool:
    """Whether something that `dropped` says would be lost if only `kept` were searched. Both are `tokens` of texts.

    >>> loses_facts(tokens("The gauge showed 10.02 bar."), tokens("The gauge showed 9.87 bar."))
    True
    >>> loses_facts(tokens("The gauge is approved."), tokens("The gauge is not approved."))
    True
    >>> loses_facts(tokens("The Gauge was tested"), tokens("The gauge was tested, and is clean."))
    False
    >>> loses_facts(tokens("We recieved a gauge."), tokens("We received the gauge!"))
    False
    """
    kept_line: str | None = None
    for gone, added in _differences(dropped, kept):
        if len(added) <= _SHORT_PASSAGE and any(_negates(word) or _is_figure(word) for word in added):
            return True
        # More words say more. In the place of a function word only another one may stand.
        if not gone or all(word in _FUNCTION_WORDS for word in (*gone, *added)):
            continue
        if _spelled_alike("".join(gone), "".join(added)):
            continue
        if len(gone) == len(added) and all(map(_same_word, gone, added)):
            continue
        if len(gone) >= _LEAST_MOVED:
            kept_line = kept_line or f" {' '.join(kept)} "
            if f" {' '.join(gone)} " in kept_line:
                continue
        return True
    return False


def _differences(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """What stands in `a` and in `b` between two passages that they share (longest common subsequence of tokens)."""
    gone: list[str] = []
    added: list[str] = []
    for step in Indel.opcodes(a, b):
        if step.tag == "equal":
            if gone or added:
                yield gone, added
            gone, added = [], []
        else:
            gone += a[step.src_start : step.src_end]
            added += b[step.dest_start : step.dest_end]
    if gone or added:
        yield gone, added


def tokens(text: str) -> list[str]:
    """What a text says, piece by piece: words, numbers with sign and separators, codes, symbols; case folded."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'").replace("\u2212", "-")
    return [token for token in _TOKEN.findall(folded) if _says_something(token)]


def _says_something(token: str) -> bool:
    """Words, numbers, and symbols (currency, comparison, per cent, check marks); not punctuation."""
    if len(token) > 1 or token.isalnum():
        return True
    return token in _SYMBOLS or (unicodedata.category(token) in {"Sm", "Sc", "So"} and token not in _RULES)


def _is_figure(token: str) -> bool:
    return any(c.isdigit() for c in token) or not token[0].isalnum()


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


def _same_word(a: str, b: str) -> bool:
    """Whether two words are one word spelled two ways: hyphen, accent, s for z, one letter too many, two swapped.

    An exchanged letter is another word (nitrate, nitrite), and so is a capitalised name; short words are too alike.

    >>> _same_word("organise", "organize"), _same_word("recieve", "receive"), _same_word("e-mail", "email")
    (True, True, True)
    >>> _same_word("nitrate", "nitrite"), _same_word("march", "may"), _same_word("g-20917", "g-20971")
    (False, False, False)
    """
    if a in _FUNCTION_WORDS and b in _FUNCTION_WORDS:
        return True
    if _spelled_alike(a, b):
        return True
    x, y = _letters(a), _letters(b)
    if min(len(x), len(y)) < _LEAST_SLIP or not (x.isalpha() and y.isalpha()) or x[0] != y[0]:
        return False
    if len(x) == len(y):
        at = [i for i in range(len(x)) if x[i] != y[i]]
        if len(at) == 1:
            return {x[at[0]], y[at[0]]} == {"s", "z"}
        return len(at) == 2 and at[1] == at[0] + 1 and x[at[0]] == y[at[1]] and x[at[1]] == y[at[0]]
    longer, shorter = (x, y) if len(x) > len(y) else (y, x)
    return len(longer) == len(shorter) + 1 and any(
        longer[:i] + longer[i + 1 :] == shorter for i in range(1, len(longer) - 1)
    )


def _spelled_alike(a: str, b: str) -> bool:
    """Whether two words without digits have the same letters, accents and hyphens aside."""
    x, y = _letters(a), _letters(b)
    return a == b or (x == y and x.isalpha() and not any(c.isdigit() for c in a + b))


def _letters(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word) if c.isalnum())
