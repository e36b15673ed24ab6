"""The PII stage: finds personal data in the clean text and the fields beside it, and applies the policy.

The unit of analysis is the element: the same passage gives the same spans wherever it stands. Code and formulas are
searched by patterns only; the model takes identifiers for names. What was found once is then looked for in the whole
document, so that a name is not masked in a sentence and left in a heading, the title or the path.

The model costs more than all other stages together. What it found in a passage of an earlier version of the document
stands: it reads the passages that are new.
"""

import time
from collections.abc import Mapping, Sequence

import pyarrow as pa

from schemas.names import StageName
from schemas.stages import PII
from tasks.errors import DocumentError
from tasks.installed import version
from tasks.pii.detection import Find, find_all, model_versions
from tasks.pii.document import Document, Passage, read, redacted, repeat
from tasks.pii.evaluator import evaluate, facts
from tasks.pii.fields import URI_TYPES
from tasks.pii.gold import gold_rows
from tasks.pii.own import OwnRecognizers
from tasks.pii.plausibility import settle
from tasks.pii.readings import as_columns, read_before, readers
from tasks.pii.redaction import Redactor, hash_key, resolve
from tasks.pii.settings import PiiSettings
from tasks.stage import Batch, Cost, Failure, Resources, Stage, StageOutput

_VERSION = 7


def run(batch: Batch, settings: PiiSettings, resources: Resources) -> StageOutput:
    """Searches all passages of a batch together, then redacts document by document (`PII` rows)."""
    started = time.perf_counter()
    redactor = Redactor(settings)
    own = OwnRecognizers(settings)
    documents: list[Document] = []
    failures: list[Failure] = []
    for row, stages in batch.rows():
        document = read(row, stages, settings)
        try:
            for passage in document.everything():
                passage.own = own.finds(passage.seen.text)
        except DocumentError as error:
            failures.append(Failure(row["document_id"], error.error_class, str(error), error.remedy, error.transient))
        else:
            documents.append(document)
    passages = [passage for document in documents for passage in document.passages()]
    models = readers(settings, _VERSION)
    readings = read_before(batch.former, models)
    for language in (*settings.models, None):
        asked = [passage for passage in passages if passage.language == language]
        _search(asked, settings, own, language=language, read=readings.get(models.get(language or "", "")))
    paths = [passage for document in documents for _, passage in document.uri]
    _search(paths, settings, own, language=None, only=URI_TYPES)
    rows = []
    for document in documents:
        repeat(document, settings)
        rows.append(redacted(document, settings, redactor) | as_columns(document, readings, models))
    seconds = (time.perf_counter() - started) / max(1, sum(document.characters() for document in documents))
    costs = {document.row["document_id"]: Cost(seconds * document.characters()) for document in documents}
    return StageOutput(pa.Table.from_pylist(rows, schema=PII), tuple(failures), costs=costs)


def _search(
    passages: Sequence[Passage],
    settings: PiiSettings,
    own: OwnRecognizers,
    *,
    language: str | None,
    only: frozenset[str] | None = None,
    read: dict[str, list[Find]] | None = None,
) -> None:
    if not passages:
        return
    texts = [passage.seen.text for passage in passages]
    found = find_all(texts, settings, language=language, only=only, read=read)
    for passage, finds in zip(passages, found, strict=True):
        text = passage.seen.text
        if settings.check_plausibility:
            finds = [settled for find in finds for settled in settle(text, find)]
        # What the configuration itself says is not weighed again.
        passage.finds = resolve(text, own.without_allowed(text, finds + passage.own), settings, passage.place)


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
    version=_VERSION,
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
    gold=gold_rows,
    remembers={StageName.NORMALIZE: ("text",), StageName.PII: ("read_by", "passages")},
)
