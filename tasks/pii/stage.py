"""The PII stage: finds personal data in the clean text and the fields beside it, and applies the policy.

The unit of analysis is the element: the same passage gives the same spans wherever it stands. Code and formulas are
searched by patterns only; the model takes identifiers for names. What was found once is then looked for in the whole
document, so that a name is not masked in a sentence and left in a heading, the title or the path.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from schemas.names import ElementKind, StageName
from schemas.stages import PII
from tasks.errors import DocumentError
from tasks.pii.detection import Find, find_all, model_versions
from tasks.pii.evaluator import evaluate, facts
from tasks.pii.fields import URI_TYPES, Segment, authors_of, segments, title_of
from tasks.pii.own import OwnRecognizers
from tasks.pii.plausibility import settle
from tasks.pii.redaction import Redactor, hash_key, resolve
from tasks.pii.repeated import LEAST_REPEATED, Repeated
from tasks.pii.settings import PiiSettings, PlaceOfText
from tasks.pii.visible import Visible, visible
from tasks.stage import Batch, Cost, Failure, Resources, Stage, StageOutput

_PATTERNS_ONLY = frozenset({ElementKind.CODE, ElementKind.FORMULA})


@dataclass(slots=True)
class _Passage:
    """A text that is searched as a unit; `offset` is where it starts in what it belongs to.

    `language` is that of the model which reads it (none: patterns only); `own` are the finds of the configuration's
    own recognizers.
    """

    seen: Visible
    place: PlaceOfText
    language: str | None = None
    offset: int = 0
    own: list[Find] = field(default_factory=list)
    finds: list[Find] = field(default_factory=list)


@dataclass(slots=True)
class _Document:
    """A document on its way through the stage."""

    row: Mapping[str, Any]
    text: str
    language: str | None
    elements: list[_Passage]
    title: _Passage | None
    authors: list[_Passage]
    uri: list[tuple[Segment, _Passage]]

    def passages(self) -> Iterator[_Passage]:
        yield from self.elements
        if self.title is not None:
            yield self.title
        yield from self.authors

    def everything(self) -> Iterator[_Passage]:
        yield from self.passages()
        yield from (passage for _, passage in self.uri)

    def characters(self) -> int:
        return 1 + sum(len(passage.seen.text) for passage in self.passages())


def run(batch: Batch, settings: PiiSettings, resources: Resources) -> StageOutput:
    """Searches all passages of a batch together, then redacts document by document (`PII` rows)."""
    started = time.perf_counter()
    redactor = Redactor(settings)
    own = OwnRecognizers(settings)
    documents: list[_Document] = []
    failures: list[Failure] = []
    for row, stages in batch.rows():
        document = _read(row, stages, settings)
        try:
            for passage in document.everything():
                passage.own = own.finds(passage.seen.text)
        except DocumentError as error:
            failures.append(Failure(row["document_id"], error.error_class, str(error), error.remedy, error.transient))
        else:
            documents.append(document)
    passages = [passage for document in documents for passage in document.passages()]
    for language in (*settings.models, None):
        _search([passage for passage in passages if passage.language == language], settings, own, language=language)
    paths = [passage for document in documents for _, passage in document.uri]
    _search(paths, settings, own, language=None, only=URI_TYPES)
    rows = []
    for document in documents:
        _repeat(document, settings)
        rows.append(_redacted(document, settings, redactor))
    seconds = (time.perf_counter() - started) / max(1, sum(document.characters() for document in documents))
    costs = {document.row["document_id"]: Cost(seconds * document.characters()) for document in documents}
    return StageOutput(pa.Table.from_pylist(rows, schema=PII), tuple(failures), costs=costs)


def _read(row: Mapping[str, Any], stages: Mapping[StageName, Mapping[str, Any]], settings: PiiSettings) -> _Document:
    parsed, clean = stages[StageName.PARSE], stages[StageName.NORMALIZE]
    spoken = stages[StageName.LANGUAGE]["language"]
    language = spoken if settings.model(spoken) is not None else None
    kinds = {element["element_id"]: element["kind"] for element in parsed["elements"]}
    elements = [
        _Passage(
            visible(clean["text"][span["start"] : span["end"]]),
            "text",
            language if kinds.get(span["element_id"]) not in _PATTERNS_ONLY else None,
            span["start"],
        )
        for span in clean["elements"]
        if span["start"] < span["end"]
    ]
    title = title_of(parsed, clean)
    return _Document(
        row,
        clean["text"],
        language,
        elements,
        _Passage(visible(title), "title", language) if title is not None else None,
        [_Passage(visible(author), "authors") for author in authors_of(parsed)],
        [(segment, _Passage(Visible(segment.text, None), "uri")) for segment in segments(row["uri"])],
    )


def _search(
    passages: Sequence[_Passage],
    settings: PiiSettings,
    own: OwnRecognizers,
    *,
    language: str | None,
    only: frozenset[str] | None = None,
) -> None:
    if not passages:
        return
    texts = [passage.seen.text for passage in passages]
    for passage, finds in zip(passages, find_all(texts, settings, language=language, only=only), strict=True):
        text = passage.seen.text
        if settings.check_plausibility:
            finds = [settled for find in finds for settled in settle(text, find)]
        # What the configuration itself says is not weighed again.
        passage.finds = resolve(text, own.without_allowed(text, finds + passage.own), settings, passage.place)


def _repeat(document: _Document, settings: PiiSettings) -> None:
    """Looks for every value that was found once in the whole document; of names only those of several words."""
    values: dict[str, Find] = {}
    for passage in document.passages():
        for find in passage.finds:
            value = passage.seen.text[find.start : find.end]
            single = find.type == "PERSON" and len(value.split()) < 2
            if settings.redacts(find.type) and len(value) >= LEAST_REPEATED and not single:
                values.setdefault(value, find)
    if not values:
        return
    found = Repeated(values)
    for passage in document.passages():
        known = {(find.start, find.end) for find in passage.finds}
        again = [find for find in found.exactly(passage.seen.text) if (find.start, find.end) not in known]
        if again:
            passage.finds = resolve(passage.seen.text, passage.finds + again, settings, passage.place)
    for segment, passage in document.uri:
        passage.finds = resolve(segment.text, passage.finds + list(found.loosely(segment.text)), settings, "uri")


def _redacted(document: _Document, settings: PiiSettings, redactor: Redactor) -> dict[str, Any]:
    finds = [
        Find(passage.offset + start, passage.offset + end, find.type, find.score)
        for passage in document.elements
        for find in passage.finds
        for start, end in [passage.seen.source(find.start, find.end)]
    ]
    text, spans = redactor.redact(document.text, finds)
    return {
        "document_id": document.row["document_id"],
        "coverage": "model" if document.language is not None else "unsupported_language",
        "spans": spans,
        "text": text,
        "fields": list(_fields(document, settings, redactor)),
    }


def _fields(document: _Document, settings: PiiSettings, redactor: Redactor) -> Iterator[dict[str, Any]]:
    def made(name: str, place: PlaceOfText, value: str, finds: Sequence[Find]) -> dict[str, Any]:
        types = sorted({find.type for find in finds if settings.action(find.type, place) != "keep"})
        return {"name": name, "value": redactor.redact(value, finds, place)[0], "types": types}

    if document.title is not None:
        yield made("title", "title", document.title.seen.text, document.title.finds)
    for author in document.authors:
        text = author.seen.text
        if settings.authors == "keep":
            yield made("author", "authors", text, [find for find in author.finds if find.type != "PERSON"])
        elif settings.authors != "drop":
            # The whole value is the name of a person, whether or not a model knows it.
            value = redactor.replacement("PERSON", text, settings.authors)
            yield {"name": "author", "value": value, "types": ["PERSON"]}
    uri_finds = [
        Find(*segment.source(find.start, find.end), find.type, find.score)
        for segment, passage in document.uri
        for find in passage.finds
    ]
    yield made("uri", "uri", document.row["uri"], uri_finds)


def fingerprint(settings: PiiSettings) -> Mapping[str, str]:
    """The libraries and models that shape the spans, and which key the hashes were made with."""
    import hashlib

    key = hash_key(settings)
    libraries = ("phonenumbers", "presidio-analyzer", "spacy", *(["regex"] if settings.recognizers else []))
    return (
        {name: version(name) for name in libraries}
        | model_versions(settings)
        | {
            "hash_key": hashlib.blake2b(key, digest_size=8, person=b"which key").hexdigest() if key else "",
        }
    )


STAGE = Stage(
    name=StageName.PII,
    version=5,
    reads=(StageName.PARSE, StageName.NORMALIZE, StageName.LANGUAGE),
    writes=PII,
    settings=PiiSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=3,
    evaluate=evaluate,
    context=("uri",),
    labels=("pii", "questions"),
    facts=facts,
    reads_index=True,
)
