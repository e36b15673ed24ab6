"""A document on its way through the stage: the passages that are searched as units, and what becomes of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.names import ElementKind, StageName
from tasks.pii.detection import Find
from tasks.pii.fields import Segment, authors_of, segments, title_of
from tasks.pii.redaction import Redactor, resolve
from tasks.pii.repeated import LEAST_REPEATED, Repeated
from tasks.pii.settings import PiiSettings, PlaceOfText
from tasks.pii.visible import Visible, visible

_PATTERNS_ONLY = frozenset({ElementKind.CODE, ElementKind.FORMULA})


@dataclass(slots=True)
class Passage:
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
class Document:
    """A document on its way through the stage."""

    row: Mapping[str, Any]
    text: str
    language: str | None
    elements: list[Passage]
    title: Passage | None
    authors: list[Passage]
    uri: list[tuple[Segment, Passage]]

    def passages(self) -> Iterator[Passage]:
        """All that a model reads: the text, then title and authors."""
        yield from self.elements
        yield from self.fields()

    def fields(self) -> Iterator[Passage]:
        """Title and authors."""
        if self.title is not None:
            yield self.title
        yield from self.authors

    def everything(self) -> Iterator[Passage]:
        """The passages, and the segments of the path."""
        yield from self.passages()
        yield from (passage for _, passage in self.uri)

    def characters(self) -> int:
        """How much there is to read."""
        return 1 + sum(len(passage.seen.text) for passage in self.passages())


def read(row: Mapping[str, Any], stages: Mapping[StageName, Mapping[str, Any]], settings: PiiSettings) -> Document:
    """A document with its passages, nothing found in them yet."""
    parsed, clean = stages[StageName.PARSE], stages[StageName.NORMALIZE]
    spoken = stages[StageName.LANGUAGE]["language"]
    language = spoken if settings.model(spoken) is not None else None
    kinds = {element["element_id"]: element["kind"] for element in parsed["elements"]}
    elements = [
        Passage(
            visible(clean["text"][span["start"] : span["end"]]),
            "text",
            language if kinds.get(span["element_id"]) not in _PATTERNS_ONLY else None,
            span["start"],
        )
        for span in clean["elements"]
        if span["start"] < span["end"]
    ]
    title = title_of(parsed, clean)
    return Document(
        row,
        clean["text"],
        language,
        elements,
        Passage(visible(title), "title", language) if title is not None else None,
        [Passage(visible(author), "authors") for author in authors_of(parsed)],
        [(segment, Passage(Visible(segment.text, None), "uri")) for segment in segments(row["uri"])],
    )


def repeat(document: Document, settings: PiiSettings, *, fields_only: bool = False) -> None:
    """Looks for every value that was found once in the whole document; of names only those of several words.

    With `fields_only` in title, authors and path: the text has what it should have.
    """
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
    for passage in document.fields() if fields_only else document.passages():
        known = {(find.start, find.end) for find in passage.finds}
        again = [find for find in found.exactly(passage.seen.text) if (find.start, find.end) not in known]
        if again:
            passage.finds = resolve(passage.seen.text, passage.finds + again, settings, passage.place)
    for segment, passage in document.uri:
        passage.finds = resolve(segment.text, passage.finds + list(found.loosely(segment.text)), settings, "uri")


def redacted(document: Document, settings: PiiSettings, redactor: Redactor) -> dict[str, Any]:
    """The stage's row: the policy applied to what was found."""
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


def _fields(document: Document, settings: PiiSettings, redactor: Redactor) -> Iterator[dict[str, Any]]:
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
