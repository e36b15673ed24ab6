"""What is content and what is not: a flag and a reason for each parsed element. Web pages are judged in the cage."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from typing import Any, get_args

from schemas.names import StageName
from schemas.stages import BOILERPLATE
from tasks.boilerplate.cuts import without
from tasks.boilerplate.evaluator import evaluate
from tasks.boilerplate.gold import gold_rows, unfit_alone
from tasks.boilerplate.line_numbers import LINE_NUMBER, line_number_cuts
from tasks.boilerplate.running import running_reasons
from tasks.boilerplate.settings import BoilerplateSettings, Extractor
from tasks.documents.cage import Cage, Job, JobResult
from tasks.errors import DocumentError
from tasks.installed import version
from tasks.stage import Batch, Cost, DocumentRow, RawBytes, Resources, Stage, StageOutput, StageRows, documents_loop

_WEB = frozenset({"text/html", "application/xhtml+xml"})
_WEB_REASON = "boilerplate_web"
_RULES_VERSION = "1"


def run(batch: Batch, settings: BoilerplateSettings, resources: Resources) -> StageOutput:
    """Judges the elements of each document by its kind: web page, paged document, or neither (all is kept).

    A document of which nothing would be kept fails with `no_content`.
    """
    jobs = list(_jobs(batch, settings, resources.raw))
    judged = {result.key: result for result in Cage.shared(settings.limits).run(jobs)} if jobs else {}
    output = documents_loop(batch, BOILERPLATE, partial(_judge, settings, judged))
    costs = {key: Cost(result.seconds, result.peak_rss_bytes) for key, result in judged.items()}
    return replace(output, costs={**output.costs, **costs})


def _jobs(batch: Batch, settings: BoilerplateSettings, raw: RawBytes) -> Iterator[Job]:
    """A job for each web page with text."""
    for document, rows in batch.rows():
        fetched, parsed = rows[StageName.FETCH], rows[StageName.PARSE]
        own = settings.for_class(document["doc_class"])
        if not own.web or fetched["media_type"] not in _WEB or not _has_text(parsed):
            continue
        elements = [{name: element[name] for name in ("kind", "level", "text")} for element in parsed["elements"]]
        path = str(raw.path(fetched["content_sha"]))
        shaping = own.model_dump(mode="json", exclude={"limits"})
        yield Job(document["document_id"], "tasks.boilerplate.web:judge", [path, parsed["encoding"], elements, shaping])


def _judge(
    settings: BoilerplateSettings, judged: Mapping[str, JobResult], document: DocumentRow, rows: StageRows
) -> DocumentRow:
    parsed = rows[StageName.PARSE]
    own = settings.for_class(document["doc_class"])
    if not _has_text(parsed):
        raise DocumentError(
            "no_content",
            "the parsed document holds no text",
            remedy="Look at what the parse stage made of it: a scan needs text recognition.",
        )
    if page := judged.get(document["document_id"]):
        if page.error:
            raise page.error
        extractor, keep = page.value
        return _row(extractor, _extractor_version(extractor), ["" if flag else _WEB_REASON for flag in keep])
    if (own.running or own.line_numbers) and parsed["pages"] > 1:
        return _paged(parsed["elements"], own)
    return _row("none", _RULES_VERSION, [""] * len(parsed["elements"]))


def _paged(elements: Sequence[Mapping[str, Any]], settings: BoilerplateSettings) -> DocumentRow:
    """Running lines and line numbers; an element that would be cut to nothing goes as a whole."""
    reasons = running_reasons(elements, settings) if settings.running else [""] * len(elements)
    cuts = line_number_cuts(elements, reasons) if settings.line_numbers else []
    for i, group in groupby(cuts, key=lambda cut: cut.element):
        if not without(elements[i]["text"], ((cut.start, cut.end) for cut in group)).strip():
            reasons[i] = LINE_NUMBER
    row = _row("running-lines", _RULES_VERSION, reasons)
    made = [
        {"element_id": elements[c.element]["element_id"], "start": c.start, "end": c.end, "reason": LINE_NUMBER}
        for c in cuts
        if not reasons[c.element]
    ]
    return row | ({"cuts": made} if made else {})


def _has_text(parsed: Mapping[str, Any]) -> bool:
    return any(element["text"].strip() for element in parsed["elements"])


def _row(extractor: str, extractor_version: str, reasons: Sequence[str]) -> dict[str, Any]:
    return {
        "extractor": extractor,
        "extractor_version": extractor_version,
        "keep": [not reason for reason in reasons],
        "reasons": list(reasons),
    }


@lru_cache
def _extractor_version(extractor: str) -> str:
    return version(extractor) if extractor in get_args(Extractor) else _RULES_VERSION


def fingerprint(settings: BoilerplateSettings) -> Mapping[str, str]:
    """Versions of what decides about web pages; the other rules are part of the stage's version.

    trafilatura is always among them: it reads the page, whatever extracts the text.
    """
    variants = [settings.for_class(name) for name in ("", *settings.by_class)]
    extractors = {variant.extractor for variant in variants if variant.web}
    return {name: version(name) for name in {"lxml", "rapidfuzz", "trafilatura"} | extractors} if extractors else {}


STAGE = Stage(
    name=StageName.BOILERPLATE,
    version=2,
    reads=(StageName.FETCH, StageName.PARSE),
    writes=BOILERPLATE,
    settings=BoilerplateSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=1,
    evaluate=evaluate,
    labels=("content", "structure"),
    gold=gold_rows,
    unfit_alone=unfit_alone,
)
