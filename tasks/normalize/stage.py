"""Clean text: the kept elements, each in its plain form, with offsets that lead back to the parsed text."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from schemas.names import StageName
from schemas.stages import NORMALIZE
from tasks.documents.sniff import CSV, DOCX, EPUB, ODT, PPTX, RTF, TSV, XLSX
from tasks.errors import DocumentError
from tasks.installed import version
from tasks.normalize.characters import UNICODE_VERSION
from tasks.normalize.evaluator import evaluate
from tasks.normalize.hyphens import BREAK, WordForms, hyphenates
from tasks.normalize.mapped import Edit, MappedText
from tasks.normalize.settings import NormalizeSettings
from tasks.normalize.text import clean
from tasks.stage import Batch, DocumentRow, Resources, Stage, StageOutput, StageRows, documents_loop

SEPARATOR = "\n\n"
"""What stands between two elements of the clean text; it belongs to neither."""

AUTHORED_LINES = frozenset(
    {"text/html", "application/xhtml+xml", "text/markdown", DOCX, PPTX, XLSX, CSV, TSV, ODT, RTF, EPUB}
)
"""Media types whose hyphens are the author's: nobody breaks words at the ends of their lines."""


def run(batch: Batch, settings: NormalizeSettings, resources: Resources) -> StageOutput:
    """Normalizes the kept elements of each document.

    A document whose kept elements hold no text fails with `no_text`.
    """
    return documents_loop(batch, NORMALIZE, partial(_normalize, settings))


def _normalize(settings: NormalizeSettings, document: DocumentRow, rows: StageRows) -> DocumentRow:
    parsed, judged = rows[StageName.PARSE], rows[StageName.BOILERPLATE]
    kept = [element for element, keep in zip(parsed["elements"], judged["keep"], strict=True) if keep]
    soft_breaks = rows[StageName.FETCH]["media_type"] not in AUTHORED_LINES
    row = join(cleaned(kept, settings, cuts=judged["cuts"] or (), soft_breaks=soft_breaks))
    if not row["text"]:
        raise DocumentError(
            "no_text",
            f"none of the {len(kept)} kept elements of the document holds text",
            remedy="Look at the parsed elements: a scan needs text recognition, an empty file a better source.",
        )
    return row


def cleaned(
    elements: Iterable[Mapping[str, Any]],
    settings: NormalizeSettings,
    *,
    cuts: Iterable[Mapping[str, Any]] = (),
    soft_breaks: bool = True,
) -> Iterator[tuple[int, MappedText]]:
    """(element id, clean text with its way back) of each element, empty ones included.

    `cuts` are parts of elements that go first of all (`BOILERPLATE`).
    `soft_breaks` says that a hyphen at a line end may be the typesetter's, if he hyphenates at all.
    """
    elements = list(elements)
    edits: dict[int, list[Edit]] = {}
    for cut in cuts:
        edits.setdefault(cut["element_id"], []).append(Edit(cut["start"], cut["end"], ""))
    mapped = [MappedText(element["text"]) for element in elements]
    for element, text in zip(elements, mapped, strict=True):
        text.apply(edits.get(element["element_id"], ()))
    texts = [text.text for text in mapped]
    broken = settings.join_line_end_hyphens and any(BREAK.search(text) for text in texts)
    forms = WordForms.of(texts if broken else ())
    soft_breaks = soft_breaks and broken and hyphenates(texts)
    for element, text in zip(elements, mapped, strict=True):
        yield element["element_id"], clean(text, element["kind"], forms, settings, soft_breaks=soft_breaks)


def join(elements: Iterable[tuple[int, MappedText]]) -> DocumentRow:
    """The `NORMALIZE` columns of a document; elements without clean text leave no trace."""
    pieces: list[str] = []
    spans: list[dict[str, int]] = []
    offsets: list[dict[str, int]] = []
    start = 0
    for element_id, mapped in elements:
        if not mapped.text:
            continue
        pieces.append(mapped.text)
        end = start + len(mapped.text)
        spans.append({"element_id": element_id, "start": start, "end": end})
        offsets.extend(
            {
                "start": start + run.start,
                "end": start + run.end,
                "element_id": element_id,
                "source_start": run.source_start,
                "source_end": run.source_end,
            }
            for run in mapped.runs
        )
        start = end + len(SEPARATOR)
    return {"text": SEPARATOR.join(pieces), "elements": spans, "offsets": offsets}


def fingerprint(settings: NormalizeSettings) -> Mapping[str, str]:
    """The Unicode version of the interpreter, and ftfy where it is used."""
    versions = {"unicode": UNICODE_VERSION}
    if settings.repair_mojibake:
        versions |= {"ftfy": version("ftfy"), "rapidfuzz": version("rapidfuzz")}
    return versions


STAGE = Stage(
    name=StageName.NORMALIZE,
    version=2,
    reads=(StageName.FETCH, StageName.PARSE, StageName.BOILERPLATE),
    writes=NORMALIZE,
    settings=NormalizeSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=1,
    evaluate=evaluate,
)
