"""Relations between the entities of one sentence, by rules on the words between them; English only.

Each rule names the types of the two entities and what may stand between them, all of it. The relations, with Wikidata's
properties of the same meaning:

- `located_in` (P131, P17, P276, P159): a place or organization and the place it is in ("Acme, Paris", "Acme is a firm
  based in Paris"); a list of places with commas is read as each in all that follow it.
- `born_on`, `born_in`, `died_on`, `died_in` (P569, P19, P570, P20): a person and a date or place.
- `works_for` (P108, P54, P463): a person and the organization he or she works or plays for or is a member of.
- `founded_by`, `founded_on` (P112, P571): an organization and its founder or the date.
- `published_on` (P577): a work and the date.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tasks.metadata.entities import Entity

LANGUAGES = frozenset({"en"})
"""Languages that the rules are written for."""

RELATION_TYPES = (
    "located_in",
    "born_on",
    "born_in",
    "died_on",
    "died_in",
    "works_for",
    "founded_by",
    "founded_on",
    "published_on",
)


class Relation(NamedTuple):
    """`type` holds from `head` to `tail`."""

    type: str
    head: Entity
    tail: Entity


class _Rule(NamedTuple):
    type: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    between: re.Pattern[str]
    turned: bool = False
    """Whether the second entity is the head."""


def _rule(type_: str, first: str, second: str, between: str, *, turned: bool = False) -> _Rule:
    return _Rule(type_, tuple(first.split()), tuple(second.split()), re.compile(between, re.IGNORECASE), turned)


_STEP = r"[^.;:()]{0,60}?"
"""Up to 60 characters of one clause."""

_WORDS = r"[^.;:(),]{0,60}?"

_ROLES = (
    r"(?:chief executive(?: officer)?|ceo|cfo|president|vice[- ]president|chairman|chairwoman|chair|director|manager|"
    r"head|coach|professor|editor|captain|guitarist|singer|drummer|bassist|vocalist|member|spokesman|spokeswoman|"
    r"spokesperson|secretary|leader|minister|founder|partner|lecturer|researcher|employee|goalkeeper|midfielder|"
    r"defender|forward|striker|pitcher|quarterback)"
)

_RULES = (
    _rule("located_in", "LOC ORG", "LOC", r"\s*,\s*|\s*\(\s*"),
    _rule("located_in", "LOC ORG", "LOC", r",?\s+(?:in|at|near)\s+(?:the\s+)?"),
    _rule(
        "located_in",
        "LOC ORG",
        "LOC",
        rf"\s*(?:,|\([^()]*\),?|\s(?:is|was|are|were))\s+{_WORDS}\b(?:based|headquartered|located|situated|city|town|village|"
        r"municipality|suburb|district|province|region|county|river|lake|university|school|college|station|airport|"
        rf"museum|company|club|island|commune|neighborhood|neighbourhood|community)\b{_WORDS}\s(?:in|of|at)\s+"
        r"(?:(?:the|north|south|east|west|northern|southern|eastern|western|central|province|state|county|of|in|part|"
        r"district|region|city)\s+)*",
    ),
    _rule("born_on", "PER", "TIME", r"\s*\(\s*(?:born|b\.)?\s*(?:on|in)?\s*"),
    _rule("born_on", "PER", "TIME", rf",?\s+(?:who\s+)?was\s+born\s+{_STEP}\b(?:on|in)\s+"),
    _rule("born_in", "PER", "LOC", rf"{_STEP}\bborn\b[^.;:]{{0,60}}?(?:\bin|\bat|,)\s+(?:the\s+)?"),
    _rule("died_on", "PER", "TIME", rf"{_STEP}\bdied\b{_STEP}(?:\b(?:on|in)\s+)?"),
    _rule("died_in", "PER", "LOC", rf"{_STEP}\bdied\b{_STEP}\b(?:in|at)\s+(?:the\s+)?"),
    _rule(
        "works_for",
        "PER",
        "ORG",
        rf",?\s+(?:who\s+)?(?:{_STEP}\b(?:join(?:ed|s)|work(?:s|ed)\s+(?:for|at)|play(?:s|ed)\s+{_STEP}(?:for|with)|"
        rf"signed\s+(?:with|for)|{_ROLES}\b{_STEP}\s(?:of|for|at|with|in)))\s+(?:the\s+)?",
    ),
    _rule("works_for", "ORG", "PER", rf"(?:['’]s)?\s+{_STEP}{_ROLES},?\s+", turned=True),
    _rule("founded_by", "ORG", "PER", rf"{_STEP}\b(?:founded|established|created|started|formed)\b{_STEP}\bby\s+"),
    _rule("founded_by", "PER", "ORG", r",?\s+(?:who\s+)?(?:co-?)?founded\s+(?:the\s+)?", turned=True),
    _rule(
        "founded_on",
        "ORG LOC",
        "TIME",
        rf"{_STEP}\b(?:founded|established|formed|incorporated|created|opened)\b{_STEP}(?:\b(?:on|in)\s+)?",
    ),
    _rule(
        "published_on",
        "MISC",
        "TIME",
        rf"{_STEP}\b(?:released|published|premiered|aired|issued)\b{_STEP}\b(?:on|in)\s+",
    ),
)

_SIDE_BY_SIDE = re.compile(r"\s*,\s*|\s*,?\s+(?:and|or|&)\s+(?:the\s+)?", re.IGNORECASE)
_TO = re.compile(r"\s*[–—-]\s*")
"""Between the first and the last day of a life."""

_LONGEST_LIST = 4
_LIST = re.compile(r"\s*,\s*")


def find_relations(text: str, entities: Sequence[Entity], sentences: Sequence[tuple[int, int]]) -> list[Relation]:
    """The relations that the rules find, in the order of their heads; each pair of entities has one at most.

    >>> text = "Acme is a company based in Lyon, France."
    >>> found = [Entity(0, 4, "ORG"), Entity(27, 31, "LOC"), Entity(33, 39, "LOC")]
    >>> [(r.type, text[r.head.start : r.head.end], text[r.tail.start : r.tail.end])
    ...     for r in find_relations(text, found, [(0, 40)])]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('located_in', 'Acme', 'Lyon'), ('located_in', 'Acme', 'France'), ('located_in', 'Lyon', 'France')]
    """
    relations: dict[tuple[Entity, Entity], Relation] = {}
    for start, end in sentences:
        inside = [entity for entity in entities if start <= entity.start and entity.end <= end]
        for relation in _in_sentence(text, inside):
            relations.setdefault((relation.head, relation.tail), relation)
    return sorted(relations.values(), key=lambda r: (r.head, r.tail))


def _in_sentence(text: str, entities: Sequence[Entity]) -> Iterator[Relation]:
    listed = _place_lists(text, entities)
    enumerated = _enumerated(text, entities)
    for i, first in enumerate(entities):
        for j in range(i + 1, len(entities)):
            second = entities[j]
            if first in enumerated and second in enumerated:
                continue
            if any(entity.type == second.type for entity in entities[i + 1 : j]):
                continue  # the nearer one of its type is meant
            between = text[first.end : second.start]
            rule = next((rule for rule in _RULES if _holds(rule, first, second, between)), None)
            if rule is None:
                continue
            yield Relation(rule.type, *((second, first) if rule.turned else (first, second)))
            if rule.type == "located_in":
                yield from (Relation("located_in", first, place) for place in listed.get(second, ()))
            after = entities[j + 1] if j + 1 < len(entities) else None
            if rule.type == "born_on" and after is not None and _is_last_day(text, second, after):
                yield Relation("died_on", first, after)


def _enumerated(text: str, entities: Sequence[Entity]) -> set[Entity]:
    """Places named side by side: four or more with commas between, or some with "and" or "or" before the last."""
    found: set[Entity] = set()
    run: list[Entity] = []
    for i, entity in enumerate(entities):
        run.append(entity)
        after = entities[i + 1] if i + 1 < len(entities) else None
        gap = text[entity.end : after.start] if after else ""
        if after is not None and entity.type == after.type and _SIDE_BY_SIDE.fullmatch(gap):
            if _LIST.fullmatch(gap) is None:
                found.update((*run, after))
            continue
        if len(run) >= _LONGEST_LIST:
            found.update(run)
        run = []
    return found


def _holds(rule: _Rule, first: Entity, second: Entity, between: str) -> bool:
    return first.type in rule.first and second.type in rule.second and rule.between.fullmatch(between) is not None


def _is_last_day(text: str, first_day: Entity, after: Entity) -> bool:
    return after.type == "TIME" and _TO.fullmatch(text[first_day.end : after.start]) is not None


def _place_lists(text: str, entities: Sequence[Entity]) -> dict[Entity, tuple[Entity, ...]]:
    """For each place those that follow it with nothing but commas between ("Lyon, Rhône, France")."""
    following: dict[Entity, tuple[Entity, ...]] = {}
    for before, after in reversed(list(pairwise(entities))):
        if before.type == after.type == "LOC" and _LIST.fullmatch(text[before.end : after.start]):
            following[before] = (after, *following.get(after, ()))
    return following
