"""What the model found in the passages of a document, stored with it, so that a later version is read where it is new.

A model's finds follow from the passage alone. They are stored by place, without the text: whoever has no clean text of
the earlier version any more (`run.redact_only`) can make nothing of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from schemas.names import StageName
from tasks.installed import version
from tasks.pii.detection import MODEL_TYPES, Find
from tasks.pii.document import Document
from tasks.pii.settings import PiiSettings
from tasks.pii.visible import visible

Readings: TypeAlias = dict[str, dict[str, list[Find]]]
"""By language, and by text as a reader sees it: the names that the language's model found in it."""


def readers(settings: PiiSettings, stage_version: int) -> dict[str, str]:
    """By language, what reads its texts: the model, the libraries around it, the entity types that are asked for."""
    types = ",".join(sorted(entity for entity in MODEL_TYPES if settings.analyses(entity)))
    libraries = " ".join(f"{name}@{version(name)}" for name in ("spacy", "presidio-analyzer"))
    return {
        language: f"{model}@{version(model)} {libraries} {types} {stage_version}"
        for language, model in settings.models.items()
        if model is not None and types
    }


def read_before(former: Mapping[StageName, pa.Table], readers: Mapping[str, str]) -> Readings:
    """What these readers found in earlier versions of documents: their `PII` and `NORMALIZE` rows, in one order."""
    found: Readings = {language: {} for language in readers}
    if not former:
        return found
    language_of = {reader: language for language, reader in readers.items()}
    texts = former[StageName.NORMALIZE].column("text").to_pylist()
    pii = former[StageName.PII]
    rows = zip(texts, pii.column("read_by").to_pylist(), pii.column("passages").to_pylist(), strict=True)
    for text, reader, passages in rows:
        if reader in language_of:
            known = found[language_of[reader]]
            for passage in passages:
                names = [Find(name["start"], name["end"], name["type"], name["score"]) for name in passage["names"]]
                known[visible(text[passage["start"] : passage["end"]]).text] = names
    return found


def as_columns(document: Document, readings: Readings, readers: Mapping[str, str]) -> dict[str, Any]:
    """The columns `read_by` and `passages` of a document's row; null where no model read it."""
    reader = readers.get(document.language or "")
    if reader is None or document.language is None:
        return {"read_by": None, "passages": None}
    read = readings[document.language]
    passages = [
        {
            "start": passage.offset,
            "end": passage.offset + passage.seen.source(0, len(passage.seen.text))[1],
            "names": _names(read[passage.seen.text]),
        }
        for passage in document.elements
        if passage.language is not None and passage.seen.text
    ]
    return {"read_by": reader, "passages": passages}


def _names(finds: Sequence[Find]) -> list[dict[str, Any]]:
    return [{"start": find.start, "end": find.end, "type": find.type, "score": find.score} for find in finds]
