"""parse: a file's bytes become elements in reading order. Every file is read in the cage."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from schemas.names import StageName
from schemas.stages import PARSE
from tasks.documents.cage import Cage, Job, JobResult
from tasks.errors import DocumentError
from tasks.parse.backends import OUTSIDE, Backend, backend_of, package_versions
from tasks.parse.evaluator import evaluate
from tasks.parse.gold import gold_rows
from tasks.parse.ocr import fingerprint as ocr_fingerprint
from tasks.parse.outside_files import outside_digest, outside_files
from tasks.parse.settings import ParseSettings
from tasks.stage import Batch, Cost, Failure, Resources, Stage, StageOutput


def run(batch: Batch, settings: ParseSettings, resources: Resources) -> StageOutput:
    """Parses each document in a worker process. A file without a single element is a failure, never an empty row."""
    shaping = settings.model_dump(mode="json", exclude={"limits"})
    failures: list[Failure] = []
    jobs: list[Job] = []
    for document, rows in batch.rows():
        fetched = rows[StageName.FETCH]
        try:
            backend = _parser_of(fetched, settings)
            made_elsewhere = _made_elsewhere(document, fetched, settings) if backend == OUTSIDE else {}
        except DocumentError as error:
            failures.append(_failure(document["document_id"], error))
        else:
            path = str(resources.raw.path(fetched["content_sha"]))
            arguments = [path, shaping | made_elsewhere, fetched["media_type_declared"]]
            jobs.append(Job(document["document_id"], backend.target, arguments))
    made: list[dict[str, Any]] = []
    costs: dict[str, Cost] = {failure.document_id: Cost(0.0) for failure in failures}
    partial: dict[str, str] = {}
    for result in Cage.shared(settings.limits).run(jobs) if jobs else ():
        costs[result.key] = Cost(result.seconds, result.peak_rss_bytes)
        problem = result.error or _emptiness(result) or _excess(result, settings)
        if problem:
            failures.append(_failure(result.key, problem))
        else:
            made.append({"document_id": result.key} | result.value)
            if result.skipped_pages:
                partial[result.key] = f"pages {list(result.skipped_pages)}"
    return StageOutput(pa.Table.from_pylist(made, schema=PARSE), tuple(failures), (), costs, partial)


def _parser_of(fetched: Mapping[str, Any], settings: ParseSettings) -> Backend:
    if fetched["size_bytes"] == 0:
        raise DocumentError("empty", "the file has no bytes", remedy="fetch it again, or take it out of the source")
    return backend_of(fetched["media_type"], settings.backends)


def _made_elsewhere(document: Mapping[str, Any], fetched: Mapping[str, Any], settings: ParseSettings) -> dict[str, Any]:
    """What the reader of another parser's output is told of it."""
    if settings.outside is None:  # which the settings refuse
        raise ValueError("stages.parse.outside is not set")
    found = outside_files(settings.outside, document["source"], document["uri"])
    files = [[page, str(file)] for page, file in found.files.items()]
    return {"outside": {"kind": found.kind, "files": files, "media_type": fetched["media_type"]}}


def _emptiness(result: JobResult) -> DocumentError | None:
    if result.value["elements"]:
        return None
    return DocumentError(
        "empty_parse",
        "the file has bytes, but the parser found no text in it",
        remedy="open it in a viewer: if it is blank, take it out of the source; if not, report it as a defect",
    )


def _excess(result: JobResult, settings: ParseSettings) -> DocumentError | None:
    characters = sum(len(element["text"]) for element in result.value["elements"])
    if characters <= settings.max_characters:
        return None
    return DocumentError(
        "too_long",
        f"the document has {characters:,} characters of text, more than max_characters = {settings.max_characters:,}",
        remedy="split the document, or raise max_characters in the settings of parse",
    )


def _failure(document_id: str, error: DocumentError) -> Failure:
    return Failure(document_id, error.error_class, str(error), error.remedy, error.transient)


def fingerprint(settings: ParseSettings) -> Mapping[str, str]:
    """The versions of the parsers that these settings choose, and of the OCR engine."""
    return {**package_versions(settings.backends), **ocr_fingerprint(settings.ocr)}


def attachments(document: Mapping[str, Any], settings: ParseSettings) -> Mapping[str, str]:
    """What another parser made of a document, where its output is taken."""
    if settings.outside is None:
        return {}
    return {"outside": outside_digest(settings.outside, document["source"], document["uri"])}


STAGE = Stage(
    name=StageName.PARSE,
    version=6,
    reads=(StageName.FETCH,),
    writes=PARSE,
    settings=ParseSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=5,
    evaluate=evaluate,
    labels=("text", "tables", "structure", "page_assertions"),
    attachments=attachments,
    gold=gold_rows,
)
