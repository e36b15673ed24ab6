"""What is content and what is not: a flag and a reason for each parsed element."""

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

from schemas.names import StageName
from schemas.stages import BOILERPLATE
from tasks.boilerplate.evaluator import evaluate
from tasks.boilerplate.running import running_reasons
from tasks.boilerplate.settings import BoilerplateSettings
from tasks.errors import DocumentError
from tasks.stage import Batch, DocumentRow, RawBytes, Resources, Stage, StageOutput, StageRows, documents_loop

_WEB = frozenset({"text/html", "application/xhtml+xml"})
_RULES_VERSION = "1"


def run(batch: Batch, settings: BoilerplateSettings, resources: Resources) -> StageOutput:
    """Judges the elements of each document by its kind: web page, paged document, or neither (all is kept).

    A document of which nothing would be kept fails with `no_content`.
    """
    return documents_loop(batch, BOILERPLATE, partial(_judge, settings, resources.raw))


def _judge(settings: BoilerplateSettings, raw: RawBytes, document: DocumentRow, rows: StageRows) -> DocumentRow:
    parsed = rows[StageName.PARSE]
    elements = parsed["elements"]
    if not any(element["text"].strip() for element in elements):
        raise DocumentError(
            "no_content",
            "the parsed document holds no text",
            remedy="Look at what the parse stage made of it: a scan needs text recognition.",
        )
    if settings.web and rows[StageName.FETCH]["media_type"] in _WEB:
        from tasks.boilerplate.web import REASON, main_text

        data = raw.read(rows[StageName.FETCH]["content_sha"])
        decision = main_text(_decoded(data, parsed["encoding"]), elements, settings)
        reasons = ["" if keep else REASON for keep in decision.keep]
        return _row(decision.extractor, _extractor_version(decision.extractor), reasons)
    if settings.running and parsed["pages"] > 1:
        return _row("running-lines", _RULES_VERSION, running_reasons(elements, settings))
    return _row("none", _RULES_VERSION, [""] * len(elements))


def _row(extractor: str, extractor_version: str, reasons: Sequence[str]) -> dict[str, Any]:
    return {
        "extractor": extractor,
        "extractor_version": extractor_version,
        "keep": [not reason for reason in reasons],
        "reasons": list(reasons),
    }


def _extractor_version(extractor: str) -> str:
    return version("trafilatura") if extractor == "trafilatura" else _RULES_VERSION


def _decoded(data: bytes, encoding: str | None) -> str:
    """The page's text in the encoding that the parser found, so that both see the same words."""
    try:
        text = data.decode(encoding or "utf-8", errors="replace")
    except LookupError:
        text = data.decode("utf-8", errors="replace")
    return text.removeprefix("\ufeff").replace("\0", "")


def fingerprint(settings: BoilerplateSettings) -> Mapping[str, str]:
    """Versions of what decides about web pages; the other rules are part of the stage's version."""
    return {name: version(name) for name in ("lxml", "rapidfuzz", "trafilatura")} if settings.web else {}


STAGE = Stage(
    name=StageName.BOILERPLATE,
    version=1,
    reads=(StageName.FETCH, StageName.PARSE),
    writes=BOILERPLATE,
    settings=BoilerplateSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=1,
    evaluate=evaluate,
    labels=("content", "structure"),
)
