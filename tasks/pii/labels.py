"""Labelled personal data, placed in the clean text."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from tasks.documents.quotes import locate
from tasks.gold.kinds import PiiLabel, Quote
from tasks.metrics.spans import Span

_TYPE_NAMES = MappingProxyType(
    {
        "EMAIL": "EMAIL_ADDRESS",
        "PHONE": "PHONE_NUMBER",
        "TELEPHONE": "PHONE_NUMBER",
        "NAME": "PERSON",
        "PER": "PERSON",
        "IBAN": "IBAN_CODE",
        "SSN": "US_SSN",
        "NHS": "UK_NHS",
        "IP": "IP_ADDRESS",
        "MAC": "MAC_ADDRESS",
        "GPE": "LOCATION",
        "ORG": "ORGANIZATION",
    }
)


def entity_type(name: str) -> str:
    """Presidio's name of a labelled type.

    >>> entity_type("EMAIL"), entity_type("PERSON")
    ('EMAIL_ADDRESS', 'PERSON')
    """
    return _TYPE_NAMES.get(name.upper(), name.upper())


@dataclass(frozen=True, slots=True)
class LabelledValue:
    """One labelled value: its type with a number that stands for it in rows, its words, its place (null: lost)."""

    unit_id: str
    type: str
    value: str
    span: Span | None


def labelled_values(label: PiiLabel, text: str | None) -> Iterator[LabelledValue]:
    """The labelled values; each stands at a place of its own, in the order of the label. No text: no places."""
    taken: set[tuple[int, int]] = set()
    counts: dict[str, int] = {}
    for labelled in label.spans:
        kind = entity_type(labelled.type)
        counts[kind] = counts.get(kind, 0) + 1
        place = _free_place(text, labelled.quote, taken) if text is not None else None
        if place is not None:
            taken.add(place)
        yield LabelledValue(
            f"{kind}-{counts[kind]}", kind, labelled.quote.exact, Span(*place, kind) if place is not None else None
        )


def _free_place(text: str, quote: Quote, taken: set[tuple[int, int]]) -> tuple[int, int] | None:
    place = locate(text, quote)
    if quote.prefix or quote.suffix:
        return place
    while place is not None and place in taken:
        # Equal quotes without surroundings mean one occurrence after the other.
        rest = locate(text[place[1] :], quote)
        place = (place[1] + rest[0], place[1] + rest[1]) if rest is not None else None
    return place
