"""Entities and relations of a batch of documents, read off their redacted text."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.names import ElementKind, StageName
from tasks.documents.offsets import RedactionMap
from tasks.metadata.entities import Entity, ReadText, find_entities, installed_models, without_redacted
from tasks.metadata.relations import LANGUAGES, find_relations
from tasks.metadata.settings import MetadataSettings
from tasks.stage import DocumentRow, StageRows

_NO_SENTENCES = frozenset({ElementKind.CODE, ElementKind.FORMULA, ElementKind.TABLE, ElementKind.FIGURE})
UNKNOWN = "und"


@dataclass(frozen=True, slots=True)
class _Piece:
    """An element's redacted text: where it begins there, and the language it is in."""

    document: int
    start: int
    text: str
    language: str


def annotate(
    documents: Sequence[tuple[DocumentRow, StageRows]], settings: MetadataSettings
) -> dict[str, dict[str, Any]]:
    """The `entities`, `relations` and `entity_coverage` of each document that asks for them, by document id.

    Elements of all documents go through a model together. Their language is that of their section, else that of the
    document. Tables, code, formulas and figures hold no sentences and are not read.
    """
    of_class = [(i, settings.for_class(document["doc_class"])) for i, (document, _) in enumerate(documents)]
    asked = [(i, own) for i, own in of_class if own.entities]
    pieces = [piece for i, _ in asked for piece in _pieces(i, documents[i][1])]
    models = installed_models()
    read: dict[int, list[tuple[_Piece, ReadText]]] = defaultdict(list)
    for language in sorted({piece.language for piece in pieces} & set(models)):
        group = [piece for piece in pieces if piece.language == language]
        for piece, found in zip(group, find_entities([piece.text for piece in group], language), strict=True):
            read[piece.document].append((piece, found))
    made = {}
    for i, own in asked:
        document, rows = documents[i]
        languages = {piece.language for piece in pieces if piece.document == i}
        known = languages & set(models)
        coverage = "unsupported_language" if not known else "model" if known == languages else "partial"
        ordered = sorted(read[i], key=lambda item: item[0].start)
        made[document["document_id"]] = _columns(ordered, rows, own) | {"entity_coverage": coverage}
    return made


def _pieces(document: int, rows: StageRows) -> Iterator[_Piece]:
    redacted, language = rows[StageName.PII], rows[StageName.LANGUAGE]
    kinds = {element["element_id"]: element["kind"] for element in rows[StageName.PARSE]["elements"]}
    offsets = RedactionMap(redacted["spans"])
    sections = list(language["sections"] or ())
    for span in rows[StageName.NORMALIZE]["elements"]:
        if kinds[span["element_id"]] in _NO_SENTENCES:
            continue
        start, end = offsets.to_redacted(span["start"]), offsets.to_redacted(span["end"], end=True)
        if text := redacted["text"][start:end]:
            own = _language_at(sections, span["start"])
            yield _Piece(document, start, text, language["language"] if own == UNKNOWN else own)


def _language_at(sections: Sequence[Mapping[str, Any]], position: int) -> str:
    return next((s["language"] for s in sections if s["start"] <= position < s["end"]), UNKNOWN)


def _columns(read: Sequence[tuple[_Piece, ReadText]], rows: StageRows, settings: MetadataSettings) -> dict[str, Any]:
    """`entities` and `relations`; positions are turned into those of the clean text."""
    redacted = rows[StageName.PII]
    offsets = RedactionMap(redacted["spans"])
    replaced = [(s["redacted_start"], s["redacted_end"]) for s in redacted["spans"] if s["action"] != "keep"]
    entities: list[Entity] = []
    relations: list[tuple[str, Entity, Entity]] = []
    for piece, found in read:
        inside = [(start - piece.start, end - piece.start) for start, end in replaced]
        own = [e for e in without_redacted(found.entities, inside) if e.type in settings.entity_types]
        entities += [_moved(entity, piece.start) for entity in own]
        if settings.relations and piece.language in LANGUAGES:
            relations += [
                (r.type, _moved(r.head, piece.start), _moved(r.tail, piece.start))
                for r in find_relations(piece.text, own, found.sentences)
            ]
    places = {entity: i for i, entity in enumerate(entities)}
    ruled = settings.relations and any(piece.language in LANGUAGES for piece, _ in read)
    return {
        "entities": [
            {
                "type": entity.type,
                "text": redacted["text"][entity.start : entity.end],
                "start": offsets.to_clean(entity.start),
                "end": offsets.to_clean(entity.end, end=True),
            }
            for entity in entities
        ],
        "relations": [{"type": kind, "head": places[head], "tail": places[tail]} for kind, head, tail in relations]
        if ruled
        else None,
    }


def _moved(entity: Entity, by: int) -> Entity:
    return Entity(entity.start + by, entity.end + by, entity.type)
