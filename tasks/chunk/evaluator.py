"""Measures of the chunk stage."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from statistics import median
from typing import Any

import pyarrow as pa

from schemas.names import MetricStatus, StageName, TextSource
from tasks.chunk.boundaries import boundary_rows
from tasks.chunk.coherence import Place, coherence_rows, sentences_at_boundaries
from tasks.chunk.cuts import HEADLINE, structure_cuts
from tasks.chunk.evidence import evidence_fit
from tasks.chunk.settings import ChunkSettings
from tasks.documents.archives import DEFAULT_LIMITS
from tasks.documents.attribution import VERIFIED, Attribution, Passage
from tasks.documents.cage import Cage, Job, JobResult
from tasks.documents.offsets import RedactionMap
from tasks.documents.quotes import locate
from tasks.documents.raw_text import PARSERS_READ_BY
from tasks.gold.kinds import QuestionsLabel
from tasks.gold.labels import Labels
from tasks.metrics.intervals import length, union
from tasks.metrics.rows import MetricRows
from tasks.stage import Evidence

_EVIDENCE = ("evidence_recall", "evidence_precision", "evidence_iou", "evidence_ceiling")
_ATTRIBUTION = "attribution_completeness"
_UNCHECKED = "attribution_unchecked"
_READ = {
    StageName.FETCH: ("media_type",),
    StageName.PARSE: (
        "parser",
        "pages",
        "encoding",
        "parts",
        *(f"elements.{name}" for name in ("element_id", "kind", "text", "section_path", "part", "source")),
    ),
    StageName.NORMALIZE: ("text", "elements"),
    StageName.PII: ("text", "spans"),
}
_CHECK = "tasks.documents.attribution:check_file"


def evaluate(evidence: Evidence, settings: ChunkSettings) -> pa.Table:
    """Metric rows of every document of the batch. The files are read again in the cage, all at once."""
    rows = MetricRows(StageName.CHUNK)
    jobs: list[Job] = []
    chunks: dict[str, int] = {}
    places: dict[str, list[Place]] = {}
    parsing = evidence.settings.get(StageName.PARSE)
    containers = (parsing.containers if parsing is not None else DEFAULT_LIMITS).model_dump()
    for (document, tables), made in zip(evidence.batch.rows(_READ), evidence.output.to_pylist(), strict=True):
        document_id = document["document_id"]
        chunks[document_id] = len(made["chunks"])
        headings = _Headings(tables[StageName.PARSE], tables[StageName.NORMALIZE], tables[StageName.PII])
        if made["chunks"] and tables[StageName.PARSE]["parser"] in PARSERS_READ_BY:
            rows.without_value(_ATTRIBUTION, document_id, MetricStatus.NOT_APPLICABLE)
            rows.ratio(_UNCHECKED, document_id, 0, len(made["chunks"]))
        elif made["chunks"]:
            passages = _passages(made["chunks"], tables[StageName.NORMALIZE]["text"], headings, tables[StageName.PARSE])
            path = str(evidence.raw.path(document["content_sha"]))
            jobs.append(_job(document_id, path, tables, passages, containers))
        else:
            rows.without_value(_ATTRIBUTION, document_id, MetricStatus.NOT_APPLICABLE)
            rows.ratio(_UNCHECKED, document_id, 0, 0)
        _structure(rows, document_id, tables, made, headings)
        _sizes(rows, document_id, tables[StageName.PARSE]["pages"], made["chunks"], settings)
        clean = tables[StageName.NORMALIZE]["text"]
        _evidence(rows, document_id, clean, made["chunks"], evidence.labels)
        boundary_rows(rows, document_id, clean, made["chunks"], evidence.labels)
        if settings.coherence_places:
            starts = [span["start"] for span in tables[StageName.NORMALIZE]["elements"]]
            places[document_id] = sentences_at_boundaries(clean, starts, made["chunks"], settings.coherence_places)
    if places:
        coherence_rows(rows, places)
    for result in Cage.shared(settings.limits).run(jobs) if jobs else ():
        _attribution(rows, result, chunks[result.key])
    return rows.table()


class _Headings:
    """The kept headings of a document, as parsed and as redacted."""

    def __init__(self, parsed: Mapping[str, Any], normalized: Mapping[str, Any], redacted: Mapping[str, Any]) -> None:
        self.elements = {element["element_id"]: element for element in parsed["elements"]}
        place = {span["element_id"]: span for span in normalized["elements"]}
        offsets = RedactionMap(redacted["spans"])
        self.clean_of: dict[str, str] = {}
        self._above: dict[int, list[tuple[int, str]]] = {}
        latest: dict[str, tuple[int, str] | None] = {}
        for element_id, element in self.elements.items():
            above = [
                known for text in element["section_path"] if (known := latest.get(" ".join(text.split()))) is not None
            ]
            if element["kind"] == "heading":
                title = None
                if span := place.get(element_id):
                    start, end = offsets.to_redacted(span["start"]), offsets.to_redacted(span["end"], end=True)
                    title = " ".join(redacted["text"][start:end].split()) or None
                    if title:
                        self.clean_of[title] = normalized["text"][span["start"] : span["end"]]
                        above = [*above, (element_id, title)]
                latest[" ".join(element["text"].split())] = (element_id, title) if title else None
            self._above[element_id] = above

    def shared(self, element_ids: Sequence[int]) -> list[str]:
        """Redacted texts of the kept headings above all of the elements; a heading is among those above itself.

        Headings among the elements count only where nothing else is there, and then only those with no other of them
        underneath: what follows a heading says it already.
        """
        paths = [self._above[i] for i in element_ids if self.elements[i]["kind"] != "heading"]
        if not paths:
            every = [self._above[i] for i in element_ids]
            paths = [path for path in every if not any(path == other[: len(path)] != other for other in every)]
        common = takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
        return [level[0][1] for level in common]


def _job(
    document_id: str,
    path: str,
    tables: Mapping[StageName, dict[str, Any]],
    passages: Sequence[Passage],
    containers: Mapping[str, int],
) -> Job:
    media_type, encoding = tables[StageName.FETCH]["media_type"], tables[StageName.PARSE]["encoding"]
    return Job(document_id, _CHECK, [path, media_type, encoding, passages, containers])


def _passages(
    chunks: Sequence[Mapping[str, Any]], clean: str, headings: _Headings, parsed: Mapping[str, Any]
) -> list[Passage]:
    begins = {part["name"]: part["first_page"] for part in parsed.get("parts") or ()}
    made = []
    for chunk in chunks:
        part = headings.elements[chunk["element_ids"][0]].get("part")
        first, last = chunk["page_first"], chunk["page_last"]
        if part is not None and first is not None and last is not None:
            first, last = first - begins[part] + 1, last - begins[part] + 1
        titles = [headings.clean_of.get(title, title) for title in chunk["section_path"]]
        recognized = any(headings.elements[i].get("source") == TextSource.OCR for i in chunk["element_ids"])
        text = clean[chunk["start"] : chunk["end"]]
        made.append(Passage(text, first, last, chunk["anchor"], titles, part, recognized))
    return made


def _attribution(rows: MetricRows, result: JobResult, chunks: int) -> None:
    """The rows of one document; where its file could not be read again, a slice says why (`timeout`, `crashed`, …)."""
    rows.ratio(_UNCHECKED, result.key, chunks if result.error else 0, chunks)
    if result.error:
        rows.without_value(_ATTRIBUTION, result.key, MetricStatus.INVALID)
        reason = ("attribution", result.error.error_class)
        rows.without_value(_ATTRIBUTION, result.key, MetricStatus.INVALID, slice_of=reason)
        return
    outcomes = Counter(map(Attribution, result.value or ()))
    silent = outcomes[Attribution.NO_LETTERS] + outcomes[Attribution.NO_TEXT_LAYER]
    checked = outcomes.total() - silent
    if not checked:
        rows.without_value(_ATTRIBUTION, result.key, MetricStatus.NOT_APPLICABLE)
        return
    rows.ratio(_ATTRIBUTION, result.key, sum(outcomes[outcome] for outcome in VERIFIED), checked)
    # Every outcome of every document, so that the shares of all documents add up to 1.
    for outcome in Attribution:
        share = outcomes[outcome], outcomes.total()
        rows.ratio(_ATTRIBUTION, result.key, *share, slice_of=("attribution", outcome.value))


def _structure(
    rows: MetricRows,
    document_id: str,
    tables: Mapping[StageName, dict[str, Any]],
    made: Mapping[str, Any],
    headings: _Headings,
) -> None:
    normalized, chunks = tables[StageName.NORMALIZE], made["chunks"]
    covered = union([(part["start"], part["end"]) for part in [*chunks, *made["dropped"]]])
    rows.ratio("conservation", document_id, length(covered), len(normalized["text"]))
    cut, total = structure_cuts(normalized["text"], headings.elements, normalized["elements"], chunks)
    if sum(total[kind] for kind in HEADLINE):
        rows.ratio(
            "structure_cuts", document_id, sum(cut[kind] for kind in HEADLINE), sum(total[kind] for kind in HEADLINE)
        )
    else:
        rows.without_value("structure_cuts", document_id, MetricStatus.NOT_APPLICABLE)
    for kind, count in total.items():
        rows.ratio("structure_cuts", document_id, cut[kind], count, slice_of=("structure", kind))
    right = sum(chunk["section_path"] == headings.shared(chunk["element_ids"]) for chunk in chunks)
    rows.ratio("hierarchy_preserved", document_id, right, len(chunks))


def _sizes(
    rows: MetricRows, document_id: str, pages: int, chunks: Sequence[Mapping[str, Any]], settings: ChunkSettings
) -> None:
    tokens = [chunk["tokens"] for chunk in chunks]
    rows.value("tokens", document_id, max(tokens, default=None))
    rows.value("tokens", document_id, median(tokens) if tokens else None, slice_of=("statistic", "p50"))
    rows.ratio("truncated", document_id, sum(n > settings.max_tokens for n in tokens), len(tokens))
    rows.ratio("chunks_per_page", document_id, len(tokens), pages)


def _evidence(
    rows: MetricRows, document_id: str, clean: str, chunks: Sequence[Mapping[str, Any]], labels: Labels
) -> None:
    if labels.is_stale(document_id, "questions"):
        for metric in _EVIDENCE:
            rows.without_value(metric, document_id, MetricStatus.STALE_LABEL)
    label = labels.of(document_id, QuestionsLabel, "questions")
    intervals = [(chunk["start"], chunk["end"]) for chunk in chunks]
    for question in label.questions if label else ():
        unit = question.question_id
        places = [locate(clean, quote) for quote in question.evidence]
        found = [place for place in places if place is not None]
        if not found:
            status = MetricStatus.LOST_UPSTREAM if question.evidence else MetricStatus.NOT_APPLICABLE
            for metric in _EVIDENCE:
                rows.without_value(metric, document_id, status, unit_id=unit)
            continue
        for n in (n for n, place in enumerate(places) if place is None):
            for metric in _EVIDENCE:
                rows.without_value(metric, document_id, MetricStatus.LOST_UPSTREAM, unit_id=f"{unit}#quote-{n}")
        fit = evidence_fit(found, intervals)
        rows.ratio("evidence_recall", document_id, fit.held, fit.evidence, unit_id=unit)
        rows.ratio("evidence_precision", document_id, fit.held, fit.chunks, unit_id=unit)
        rows.ratio("evidence_iou", document_id, fit.held, fit.evidence + fit.chunks - fit.held, unit_id=unit)
        rows.value("evidence_ceiling", document_id, fit.ceiling, unit_id=unit)
