"""Other names, numbers and dates for every further copy of the corpus, consistent within a copy."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache

from tasks.demo.authored import Assertion, Entity, Question, Relation, Source, read_yaml

_STRUCTURED = r"\[\[(?:EMAIL_ADDRESS|PHONE_NUMBER|IBAN_CODE|CREDIT_CARD|US_SSN|IP_ADDRESS):[^\]]+\]\]"
_ISO_DATE = r"\b20\d\d-\d\d-\d\d\b"
_TIME = r"\b\d\d:\d\d\b"
_NUMBER = r"\d{2,}"


@lru_cache(maxsize=1)
def _vocabulary() -> dict[str, str]:
    """Authored proper name → its kind."""
    words = read_yaml("vocabulary.yaml")
    return {name: kind for kind in ("people", "ships", "ports") for name in words[kind]}


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    names = "|".join(sorted(map(re.escape, _vocabulary()), key=len, reverse=True))
    return re.compile(rf"{_STRUCTURED}|\b(?:{names})\b|{_ISO_DATE}|{_TIME}|{_NUMBER}")


class Variation:
    """Replaces names, numbers and dates, the same one always by the same other one.

    Copy 1 of seed 1 holds the texts as they were written.
    """

    def __init__(self, seed: int, copy: int) -> None:
        self._authored = (seed, copy) == (1, 1)
        self._random = random.Random(f"{seed}/{copy}")  # noqa: S311 (varied texts, no secret)
        self._made: dict[str, str] = {}

    def source(self, source: Source) -> Source:
        """The source with other facts; path, time and language stay."""
        if self._authored:
            return source
        return replace(
            source,
            title=self.text(source.title),
            body=self.text(source.body),
            authors=tuple(map(self.text, source.authors)),
            published=self.text(source.published) if source.published else None,
            file_title=self.text(source.file_title) if source.file_title else None,
            description=self.text(source.description),
            keep=tuple(map(self.text, source.keep)),
            questions=tuple(Question(self.text(q.question), self.text(q.evidence)) for q in source.questions),
            entities=tuple(Entity(e.type, tuple(map(self.text, e.names))) for e in source.entities),
            relations=tuple(Relation(r.type, self.text(r.head), self.text(r.tail)) for r in source.relations),
            assertions=tuple(
                Assertion(a.kind, a.page, tuple((key, self.text(passage)) for key, passage in a.passages))
                for a in source.assertions
            ),
        )

    def text(self, text: str) -> str:
        """The text with other facts; equal words always become equal words."""
        return text if self._authored else _pattern().sub(self._replace, text)

    def _replace(self, match: re.Match[str]) -> str:
        word = match.group()
        made = self._made.get(word)
        if made is None:
            made = self._made[word] = self._make(word)
        return made

    def _make(self, word: str) -> str:
        rng = self._random
        if word.startswith("[["):
            kind = word[2 : word.index(":")]
            return f"[[{kind}:{_MAKERS[kind](rng, word)}]]"
        if kind := _vocabulary().get(word, ""):
            words = read_vocabulary()[kind + "_parts"]
            return f"{rng.choice(words[0])} {rng.choice(words[1])}"
        if "-" in word:
            return (date.fromisoformat(word) - timedelta(days=rng.randrange(400))).isoformat()
        if ":" in word:
            return f"{word[0]}{rng.randrange(4) if word[0] == '2' else rng.randrange(10)}:{rng.randrange(0, 60, 5):02}"
        if len(word) == 4 and word.startswith("20"):
            return str(2012 + rng.randrange(13))
        if len(word) == 2 and word.startswith("3"):
            return word
        return word[0] + "".join(str(rng.randrange(10)) for _ in word[1:])


@lru_cache(maxsize=1)
def read_vocabulary() -> dict[str, list[list[str]]]:
    """The parts of which other names are made: `<kind>_parts` → two lists."""
    return {key: value for key, value in read_yaml("vocabulary.yaml").items() if key.endswith("_parts")}


def _email(rng: random.Random, _: str) -> str:
    first, last = (rng.choice(words).lower() for words in read_vocabulary()["people_parts"])
    return f"{first}.{last}{rng.randrange(10, 99)}@example.org"


def _phone(rng: random.Random, word: str) -> str:
    # Ranges kept for fiction by NANPA (555-01xx) and Ofcom (01632 960xxx).
    return f"(202) 555-01{rng.randrange(100):02}" if "555" in word else f"01632 960{rng.randrange(1000):03}"


def _iban(rng: random.Random, _: str) -> str:
    account = "WEST" + "".join(str(rng.randrange(10)) for _ in range(14))
    digits = "".join(str(int(c, 36)) for c in account + "GB00")
    whole = f"GB{98 - int(digits) % 97:02}{account}"
    return " ".join(whole[i : i + 4] for i in range(0, len(whole), 4))


def _card(rng: random.Random, _: str) -> str:
    digits = [4, 1, 1, 1, 1, 1] + [rng.randrange(10) for _ in range(9)]
    total = sum(d if i % 2 else d * 2 - 9 * (d > 4) for i, d in enumerate(digits))
    whole = "".join(map(str, digits)) + str(-total % 10)
    return " ".join(whole[i : i + 4] for i in range(0, 16, 4))


def _ssn(rng: random.Random, _: str) -> str:
    return f"987-65-43{rng.randrange(20, 30)}"


def _address(rng: random.Random, _: str) -> str:
    return f"203.0.113.{rng.randrange(1, 255)}"


_MAKERS: dict[str, Callable[[random.Random, str], str]] = {
    "EMAIL_ADDRESS": _email,
    "PHONE_NUMBER": _phone,
    "IBAN_CODE": _iban,
    "CREDIT_CARD": _card,
    "US_SSN": _ssn,
    "IP_ADDRESS": _address,
}
