"""What the model found in the passages of a document, stored with it, so that a later version is read where it is new.

A model's finds follow from the passage alone. They are stored by place, without the text, and serve only who has the
clean text of the earlier version: nobody under `run.redact_only`.
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
"""By what read it (`readers`), and by text as a reader sees it: the names that were found in it."""


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
    """What these readers found in earlier versions of documents; `former` holds what the stage remembers of their `PII`
    and `NORMALIZE` rows, in one order."""
    found: Readings = {reader: {} for reader in readers.values()}
    if not former:
        return found
    texts, pii = former[StageName.NORMALIZE].column("text").to_pylist(), former[StageName.PII]
    rows = zip(texts, pii.column("read_by").to_pylist(), pii.column("passages").to_pylist(), strict=True)
    for text, reader, passages in rows:
        for passage in passages if reader in found else ():
            names = [Find(name["start"], name["end"], name["type"], name["score"]) for name in passage["names"]]
            found[reader][visible(text[passage["start"] : passage["end"]]).text] = names
    return found


def as_columns(document: Document, readings: Readings, readers: Mapping[str, str]) -> dict[str, Any]:
    """The columns `read_by` and `passages` of a document's row; null where no model read it."""
    reader = readers.get(document.language or "")
    if reader is None:
        return {"read_by": None, "passages": None}
    read = readings[reader]
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
