"""What the configuration itself says of personal data: recognizers, values that always are some, values that never are.

Patterns come from a person, so each is held to a time limit. The text is the visible one, as for every recognizer.
"""

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any

from tasks.errors import DocumentError
from tasks.pii.detection import Find
from tasks.pii.settings import PatternSettings, PiiSettings, RecognizerSettings

_BEFORE = 5
"""Words before a match that may be context."""

_RAISED_BY = 0.35
_RAISED_TO = 0.4
"""As presidio's context rule has it."""

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


class OwnRecognizers:
    """The recognizers, deny list and allow list of the settings, ready to be asked."""

    def __init__(self, settings: PiiSettings) -> None:
        self._settings = settings
        denied: dict[str, list[str]] = {}
        for recognizer in settings.recognizers:
            denied.setdefault(recognizer.name, []).extend(recognizer.deny_list)
        for kind, values in settings.deny_list.items():
            denied.setdefault(kind, []).extend(values)
        self._denied = {kind: _whole_words(values) for kind, values in sorted(denied.items()) if any(values)}
        self._allowed = frozenset(map(_folded, settings.allow_list))

    @cached_property
    def _patterns(self) -> list[tuple[RecognizerSettings, int, PatternSettings, Any]]:
        import regex  # type: ignore[import-untyped]

        return [
            (recognizer, number, pattern, regex.compile(pattern.regex, regex.MULTILINE))
            for recognizer in self._settings.recognizers
            for number, pattern in enumerate(recognizer.patterns)
        ]

    def finds(self, text: str) -> list[Find]:
        """Matches that reach the threshold of their type, and values of the deny list.

        Raises:
            DocumentError: a pattern took longer than `regex_seconds`.
        """
        found = [
            Find(m.start(), m.end(), kind, 1.0) for kind, words in self._denied.items() for m in words.finditer(text)
        ]
        for recognizer, number, pattern, compiled in self._patterns:
            threshold = self._settings.threshold(recognizer.name)
            try:
                for match in compiled.finditer(text, timeout=self._settings.regex_seconds):
                    start, end = match.span()
                    score = _in_context(text, start, pattern.score, recognizer.context)
                    if start < end and score >= threshold:
                        found.append(Find(start, end, recognizer.name, score))
            except TimeoutError:
                raise DocumentError(
                    "timeout",
                    f"pattern {number} of the recognizer {recognizer.name} took longer than "
                    f"{self._settings.regex_seconds:g} s over one passage",
                    remedy=f"rewrite stages.pii.recognizers ({recognizer.name}, pattern {number}) without nested "
                    f"repetition, or raise stages.pii.regex_seconds",
                ) from None
        return found

    def without_allowed(self, text: str, finds: Iterable[Find]) -> list[Find]:
        """The finds whose value the allow list does not name."""
        if not self._allowed:
            return list(finds)
        return [find for find in finds if _folded(text[find.start : find.end]) not in self._allowed]


@lru_cache(maxsize=8)
def _lowered(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word.casefold() for word in words)


def _in_context(text: str, start: int, score: float, context: tuple[str, ...]) -> float:
    if not context:
        return score
    before = [match.group().casefold() for match in _WORD.finditer(text, max(0, start - 200), start)][-_BEFORE:]
    if _lowered(context).isdisjoint(before):
        return score
    return min(1.0, max(score + _RAISED_BY, _RAISED_TO))


def _whole_words(values: Iterable[str]) -> re.Pattern[str]:
    """The longest first, white space as it comes."""
    spelled = sorted({" ".join(value.split()) for value in values} - {""}, key=lambda value: (-len(value), value))
    either = "|".join(r"\s+".join(map(re.escape, value.split())) for value in spelled)
    return re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE)


def _folded(value: str) -> str:
    return " ".join(value.casefold().split())
