"""Finding personal data: presidio's recognizers, and a spaCy model for names, over many texts at once.

The spans are those that presidio's `analyze` gives for each text alone, and names and telephone numbers that their
surroundings announce. The work is less, because the model reads texts in batches, a recognizer runs only where a text
can match it, and words are lemmatized (for presidio's context rules) only where a pattern was found. The dependency
parser never runs: nothing here reads its output.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from types import MappingProxyType
from typing import Any

from tasks.errors import ConfigurationError
from tasks.installed import version
from tasks.language_models.pieces import pieces
from tasks.language_models.pool import Pool
from tasks.pii.names import PERSON, announced_names
from tasks.pii.settings import DEFAULT_POLICY, DEFAULT_THRESHOLDS, PiiSettings
from tasks.pii.telephone import PHONE, telephone_numbers

ENGLISH = "en"
"""The language whose words presidio's context rule knows."""

MODEL_TYPES = frozenset({"PERSON", "LOCATION", "ORGANIZATION", "NRP", "DATE_TIME"})
"""Entity types that the model finds."""


@dataclass(frozen=True, slots=True, order=True)
class Find:
    """Code points [start, end) of a text that hold a value of this type, with presidio's score."""

    start: int
    end: int
    type: str
    score: float


def _digits(least: int) -> Callable[[str], bool]:
    pattern = re.compile(rf"(?:\d\D*?){{{least}}}", re.DOTALL)
    return lambda text: pattern.search(text) is not None


def _matches(expression: str) -> Callable[[str], bool]:
    pattern = re.compile(expression, re.IGNORECASE)
    return lambda text: pattern.search(text) is not None


_CAN_MATCH: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "EMAIL_ADDRESS": lambda text: "@" in text,
        "PHONE_NUMBER": _digits(7),
        "CREDIT_CARD": _digits(12),
        "IBAN_CODE": _matches(r"[A-Z]{2}[ -]?\d{2}"),
        "IP_ADDRESS": _matches(r"\d\.\d|:[0-9a-f]*:"),
        "MAC_ADDRESS": _matches(r"[0-9a-f]{2}[:.-][0-9a-f]{2}"),
        "CRYPTO": _matches(r"[a-z0-9]{25}"),
        "US_SSN": _digits(9),
        "US_ITIN": _digits(9),
        "US_PASSPORT": _digits(8),
        "UK_NHS": _digits(10),
        "UUID": _matches(r"[0-9a-f]{8}-"),
        "URL": lambda text: "." in text,
    }
)
"""What a text must hold before a recognizer of a type is asked; cheap, and never stricter than the recognizer."""


class _Kit:
    """Recognizers and the models that were asked for so far; used by one thread at a time."""

    def __init__(self, settings: PiiSettings) -> None:
        self.recognizers = _load_recognizers(settings.phone_regions)
        self._names = settings.models
        self._models: dict[str, Any] = {}

    def model(self, language: str) -> Any:
        """The spaCy pipeline of a language that has one."""
        if language not in self._models:
            self._models[language] = _load_model(self._names[language] or "")
        return self._models[language]


_kits: Pool[_Kit] = Pool()


def _kit(settings: PiiSettings) -> AbstractContextManager[_Kit]:
    """Lends a kit for these settings."""
    key = (settings.phone_regions, tuple(settings.models.items()))
    return _kits.lend(key, lambda: _Kit(settings))


def model_versions(settings: PiiSettings) -> dict[str, str]:
    """The installed version of each model that the settings name.

    Raises:
        ConfigurationError: one of them is not installed.
    """
    found: dict[str, str] = {}
    for language, name in settings.models.items():
        if name is not None:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                raise ConfigurationError(
                    f"stages.pii.models.{language}: the spaCy model {name} is not installed",
                    remedy=f"install its package in this environment, or set stages.pii.models.{language} to null, so "
                    f"that documents in this language are searched by patterns only",
                ) from None
    return found


def _load_model(name: str) -> Any:
    import spacy

    nlp = spacy.load(name)
    if "ner" not in nlp.pipe_names:
        raise ConfigurationError(
            f"the spaCy model {name} finds no names: it has no component `ner`",
            remedy="name another model in stages.pii.models",
        )
    return nlp


def _load_recognizers(phone_regions: tuple[str, ...]) -> tuple[Any, ...]:
    import tldextract.tldextract
    from presidio_analyzer import RecognizerRegistry
    from presidio_analyzer.predefined_recognizers import PhoneRecognizer

    # Without this the e-mail recognizer fetches the list of public suffixes from the network.
    offline = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    tldextract.tldextract.TLD_EXTRACTOR = offline
    vars(tldextract)["extract"] = offline
    # It warns of each of its own recognizers that is not for English.
    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)
    registry: Any = RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"])
    others = [r for r in registry.recognizers if r.name not in {"PhoneRecognizer", "SpacyRecognizer"}]
    return (*others, PhoneRecognizer(supported_regions=phone_regions))


def check_policy(settings: PiiSettings) -> None:
    """Looks up the entity types and countries that the settings name; recognizers are loaded only for foreign types.

    Raises:
        ConfigurationError: one of them is none that is ever found.
    """
    from phonenumbers import SUPPORTED_REGIONS

    unknown = sorted(set(settings.phone_regions) - set(SUPPORTED_REGIONS))
    if unknown:
        raise ConfigurationError(
            f"stages.pii.phone_regions names no country: {', '.join(unknown)}",
            remedy="use codes of ISO 3166 in capitals, such as US, DE or GB (not UK)",
        )
    model_versions(settings)
    named = frozenset().union(*settings.named_types().values())
    if named <= {*DEFAULT_POLICY, *DEFAULT_THRESHOLDS} | settings.own_types():
        return
    with _kit(settings) as kit:
        _known_types(settings, kit)


def _known_types(settings: PiiSettings, kit: _Kit) -> set[str]:
    known = {entity for r in kit.recognizers for entity in r.supported_entities} | MODEL_TYPES | settings.own_types()
    for name, types in settings.named_types().items():
        unknown = sorted(types - known)
        if unknown:
            raise ConfigurationError(
                f"stages.pii.{name} names unknown entity types: {', '.join(unknown)}",
                remedy=f"use types among: {', '.join(sorted(known))}",
            )
    return known


def find_all(
    texts: Sequence[str],
    settings: PiiSettings,
    *,
    language: str | None,
    only: frozenset[str] | None = None,
    read: dict[str, list[Find]] | None = None,
) -> list[list[Find]]:
    """Finds in each text, sorted; overlapping ones included.

    Args:
        texts: any number of texts, each searched as a unit.
        settings: types and thresholds.
        language: the language of the texts, one that has a model; none: patterns only.
        only: look for these types only.
        read: what the model has found in texts before; what it finds now is added. Only the others are read by it.

    Raises:
        ConfigurationError: the policy names a type that no recognizer finds.
    """
    distinct = list(dict.fromkeys(texts))
    with _kit(settings) as kit:
        known = _known_types(settings, kit)
        wanted = {entity for entity in known if settings.analyses(entity) and (only is None or entity in only)}
        found = _patterns(kit, distinct, wanted, lemmas=language == ENGLISH)
        if language is not None and wanted & MODEL_TYPES:
            read = {} if read is None else read
            if new := [text for text in distinct if text not in read]:
                read.update(zip(new, _names(kit.model(language), new, wanted & MODEL_TYPES), strict=True))
            for text, finds in zip(distinct, found, strict=True):
                finds.extend(read[text])
    by_text = {
        text: sorted({find for find in finds if find.score >= settings.threshold(find.type)})
        for text, finds in zip(distinct, found, strict=True)
    }
    return [by_text[text] for text in texts]


def _patterns(kit: _Kit, texts: Sequence[str], wanted: set[str], *, lemmas: bool) -> list[list[Find]]:
    recognizers = [
        (r, entities, _CAN_MATCH.get(entities[0], bool) if len(entities) == 1 else bool)
        for r in kit.recognizers
        if (entities := [entity for entity in r.supported_entities if entity in wanted])
    ]
    raw = [
        [
            result
            for recognizer, entities, can_match in recognizers
            if can_match(text)
            for result in recognizer.analyze(text, entities, None) or []
        ]
        for text in texts
    ]
    if lemmas:
        raw = _with_context(kit, texts, raw)
    found = [[Find(r.start, r.end, r.entity_type, float(r.score)) for r in results] for results in raw]
    for text, finds in zip(texts, found, strict=True):
        if PHONE in wanted and _CAN_MATCH[PHONE](text):
            finds += [Find(start, end, PHONE, score) for start, end, score in telephone_numbers(text)]
        if PERSON in wanted:
            finds += [Find(start, end, PERSON, score) for start, end, score in announced_names(text)]
    return found


def _with_context(kit: _Kit, texts: Sequence[str], raw: list[list[Any]]) -> list[list[Any]]:
    """Presidio's context rule: a word such as "phone" before a find raises its score.

    A long text is looked at piece by piece (the model refuses more than a million characters at once, and the rule
    goes through all words for each find); a find on a seam keeps its score.
    """
    from presidio_analyzer.context_aware_enhancers import LemmaContextAwareEnhancer
    from presidio_analyzer.nlp_engine import NlpArtifacts, SpacyNlpEngine

    cut = [
        (i, offset, piece, inside)
        for i, results in enumerate(raw)
        if any(result.score < 1 for result in results)
        for offset, piece in pieces(texts[i])
        if (inside := [r for r in results if offset <= r.start and r.end <= offset + len(piece)])
    ]
    if not cut:
        return raw
    enhancer = LemmaContextAwareEnhancer()
    nlp = kit.model(ENGLISH)
    engine: Any = SpacyNlpEngine()
    engine.nlp = {ENGLISH: nlp}
    raised = [list(results) for results in raw]
    quiet = [name for name in nlp.pipe_names if name in {"parser", "ner"}]
    documents = nlp.pipe([piece for _, _, piece, _ in cut], disable=quiet, batch_size=64)
    for (i, offset, piece, inside), document in zip(cut, documents, strict=True):
        artifacts = NlpArtifacts(
            entities=[],
            tokens=document,
            tokens_indices=[token.idx for token in document],
            lemmas=[token.lemma_ for token in document],
            nlp_engine=engine,
            language=ENGLISH,
            scores=[],
        )
        here = [_shifted(result, -offset) for result in inside]
        enhanced = enhancer.enhance_using_context(piece, here, artifacts, list(kit.recognizers))
        known = {id(result) for result in inside}
        raised[i] = [r for r in raised[i] if id(r) not in known] + [_shifted(r, offset) for r in enhanced]
    return raised


def _shifted(result: Any, by: int) -> Any:
    moved = copy(result)
    moved.start, moved.end = result.start + by, result.end + by
    return moved


def _names(nlp: Any, texts: Sequence[str], wanted: set[str]) -> Iterator[list[Find]]:
    from presidio_analyzer.nlp_engine import NerModelConfiguration

    configuration: Any = NerModelConfiguration()
    mapping, score = configuration.model_to_presidio_entity_mapping, float(configuration.default_score)
    cut = [(i, offset, piece) for i, text in enumerate(texts) for offset, piece in pieces(text)]
    found: list[list[Find]] = [[] for _ in texts]
    quiet = [name for name in nlp.pipe_names if name not in _feeding_names(nlp)]
    documents = nlp.pipe((piece for _, _, piece in cut), disable=quiet, batch_size=128)
    for (i, offset, _), document in zip(cut, documents, strict=True):
        for entity in document.ents:
            kind = mapping.get(entity.label_)
            if kind in wanted:
                found[i].append(Find(offset + entity.start_char, offset + entity.end_char, kind, score))
    return iter(found)


def _feeding_names(nlp: Any) -> set[str]:
    """The components that names come from: the shared vectors only where the recognizer of names listens to them."""
    listens = any("listener" in part.name for part in nlp.get_pipe("ner").model.walk())
    return {"ner", "entity_ruler"} | ({"tok2vec", "transformer"} if listens else set())
