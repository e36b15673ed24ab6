"""From finds to spans that do not overlap, and from spans to redacted text."""

import hashlib
import os
import unicodedata
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import Any

from tasks.errors import ConfigurationError
from tasks.pii.detection import Find
from tasks.pii.settings import Action, PiiSettings, PlaceOfText
from tasks.pii.visible import visible


def resolve(text: str, finds: Iterable[Find], settings: PiiSettings, place: PlaceOfText = "text") -> list[Find]:
    """Spans that do not overlap, sorted.

    Finds of one type that overlap are one. Of different types the higher score wins, then the longer, then the first.
    What a loser covers beyond the winner stays its own, so that no letter of a find becomes readable; a find of a kept
    type gives way as a whole.

    >>> resolve("Ann Lee ann@x.org", [Find(0, 17, "PERSON", 0.85), Find(8, 17, "EMAIL_ADDRESS", 1.0)], PiiSettings())
    ... # doctest: +NORMALIZE_WHITESPACE
    [Find(start=0, end=7, type='PERSON', score=0.85), Find(start=8, end=17, type='EMAIL_ADDRESS', score=1.0)]
    """

    def rank(find: Find) -> tuple[bool, float, int, int, str]:
        return settings.action(find.type, place) == "keep", -find.score, find.start - find.end, find.start, find.type

    taken: list[Find] = []  # in the order of the text, so that only neighbours need be looked at
    for find in sorted(_joined(finds), key=rank):
        free = _free(find, taken)
        if settings.action(find.type, place) == "keep" and free != [(find.start, find.end)]:
            continue
        for start, end in free:
            # The rest of a loser is trimmed to its words; a find that lost nothing stays as it is.
            while free != [(find.start, find.end)] and start < end and not text[start].isalnum():
                start += 1
            while free != [(find.start, find.end)] and start < end and not text[end - 1].isalnum():
                end -= 1
            if start < end:
                insort(taken, Find(start, end, find.type, find.score))
    return taken


def _free(find: Find, taken: Sequence[Find]) -> list[tuple[int, int]]:
    """What of a find is covered by none of the sorted spans, which do not overlap."""
    first = bisect_left(taken, find.start, key=lambda other: other.start)
    at, free = find.start, []
    for place in range(max(0, first - 1), len(taken)):
        other = taken[place]
        if other.start >= find.end:
            break
        if at < other.start:
            free.append((at, other.start))
        at = max(at, other.end)
    if at < find.end:
        free.append((at, find.end))
    return free


def _joined(finds: Iterable[Find]) -> list[Find]:
    joined: list[Find] = []
    for find in sorted(finds, key=lambda find: (find.type, find.start, find.end)):
        last = joined[-1] if joined else None
        if last is not None and last.type == find.type and find.start < last.end:
            joined[-1] = Find(last.start, max(last.end, find.end), find.type, max(last.score, find.score))
        else:
            joined.append(find)
    return joined


class Redactor:
    """Applies the policy to text.

    Raises:
        ConfigurationError: the policy hashes, and the environment holds no key.
    """

    def __init__(self, settings: PiiSettings) -> None:
        self._settings = settings
        self._key = hash_key(settings)

    def replacement(self, entity_type: str, value: str, action: Action) -> str:
        """What stands in the place of a value."""
        if action == "keep":
            return value
        if action == "drop":
            return ""
        if action == "mask":
            return f"[{entity_type}]"
        plain = " ".join(unicodedata.normalize("NFKC", visible(value).text).casefold().split())
        digest = hashlib.blake2b(plain.encode(), key=self._key, digest_size=8, person=entity_type.encode()[:16])
        return f"[{entity_type}:{digest.hexdigest()}]"

    def redact(self, text: str, finds: Sequence[Find], place: PlaceOfText = "text") -> tuple[str, list[dict[str, Any]]]:
        """The redacted text and the `PII_SPAN` rows of sorted spans that do not overlap."""
        parts: list[str] = []
        spans: list[dict[str, Any]] = []
        at = length = 0
        for find in finds:
            action = self._settings.action(find.type, place)
            new = self.replacement(find.type, text[find.start : find.end], action)
            parts += (text[at : find.start], new)
            length += find.start - at
            spans.append(
                {
                    "start": find.start,
                    "end": find.end,
                    "type": find.type,
                    "score": round(find.score, 4),
                    "action": action,
                    "redacted_start": length,
                    "redacted_end": length + len(new),
                }
            )
            at, length = find.end, length + len(new)
        return "".join((*parts, text[at:])), spans


def hash_key(settings: PiiSettings) -> bytes:
    """The secret key of `hash`, at most 64 bytes; empty where no type is hashed.

    Raises:
        ConfigurationError: it is needed and not there.
    """
    if "hash" not in settings.actions():
        return b""
    key = os.environ.get(settings.hash_key_variable, "")
    if len(key) < 16:
        raise ConfigurationError(
            f"the PII policy hashes values, but {settings.hash_key_variable} holds no key of at least 16 characters",
            remedy=f"set {settings.hash_key_variable} to a long random secret, or use mask instead of hash",
        )
    return hashlib.sha512(key.encode()).digest()
