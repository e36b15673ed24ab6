"""Metadata: title, authors, dates, sections, entities, language and access of a document, after redaction.

Web pages that declare no date are searched for one in the cage; a search that fails leaves the date open.
"""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from schemas.names import StageName
from schemas.stages import METADATA
from tasks.documents.cage import Cage, Job, JobResult
from tasks.documents.gold_elements import lacks_structure
from tasks.documents.offsets import RedactionMap
from tasks.documents.titles import choose_title, title_by
from tasks.installed import version
from tasks.metadata.annotate import annotate
from tasks.metadata.authors import BYLINE, authors_below, declared_authors, named_authors
from tasks.metadata.dates import declared_date, stated_date
from tasks.metadata.entities import installed_models
from tasks.metadata.evaluator import evaluate
from tasks.metadata.settings import MetadataSettings
from tasks.stage import Batch, Cost, DocumentRow, RawBytes, Resources, Stage, StageOutput, StageRows, documents_loop

_HTML = ("text/html", "application/xhtml+xml")
_DATED_FILES = ("application/pdf", "application/vnd.", "application/msword", "application/rtf")
"""Media types whose declared date tells when the file was made."""
_OPENING = 4000
"""Characters at the beginning in which a document states its own date of publication."""


def run(batch: Batch, settings: MetadataSettings, resources: Resources) -> StageOutput:
    """The metadata of every document of the batch."""
    jobs = list(_jobs(batch, settings, resources.raw))
    started = time.perf_counter()
    annotated = annotate(batch.rows(), settings) if _asks_for_entities(settings) else {}
    reading = (time.perf_counter() - started) / max(1, len(annotated))
    searched = {result.key: result for result in Cage.shared(settings.limits).run(jobs)} if jobs else {}

    def transform(document: DocumentRow, rows: StageRows) -> DocumentRow:
        own = settings.for_class(document["doc_class"])
        parsed, normalized, redacted = rows[StageName.PARSE], rows[StageName.NORMALIZE], rows[StageName.PII]
        sections = _sections(parsed, normalized, redacted)
        fields: dict[str, list[str]] = {}
        for field in redacted["fields"]:
            fields.setdefault(field["name"], []).append(field["value"])
        title = _title(own, parsed, redacted, fields, sections)
        published = _published(rows, settings, searched.get(document["document_id"]))
        modified = declared_date(parsed["meta_modified"], settings.latest_date)
        return {
            "title": title,
            "authors": _authors(own, redacted, fields.get("author", []), title),
            "published": published,
            "modified": modified if not (modified and published and modified < published) else None,
            "sections": sections,
            "language": rows[StageName.LANGUAGE]["language"],
            "uri": fields["uri"][0],
            "tenant": document["tenant"],
            "groups": document["groups"],
            "date_search": _said(searched.get(document["document_id"])),
            **annotated.get(document["document_id"], {}),
        }

    output = documents_loop(batch, METADATA, transform)
    costs = {
        key: Cost(cost.seconds + (reading if key in annotated else 0.0), cost.peak_rss_bytes)
        for key, cost in output.costs.items()
    }
    for key, result in searched.items():
        costs[key] = Cost(costs[key].seconds + result.seconds, result.peak_rss_bytes)
    # A page that took too long this time may not the next.
    partial = {key: "date" for key, result in searched.items() if result.error and result.error.transient}
    return replace(output, costs=costs, partial=partial)


def _said(searched: JobResult | None) -> str | None:
    if searched is None:
        return None
    return searched.error.error_class if searched.error else "done"


def _jobs(batch: Batch, settings: MetadataSettings, raw: RawBytes) -> Iterator[Job]:
    """A job for each web page that declares no date."""
    latest = settings.latest_date
    for document, rows in batch.rows():
        web = settings.search_page_dates and rows[StageName.FETCH]["media_type"] in _HTML
        if web and not declared_date(rows[StageName.PARSE]["meta_published"], latest):
            path = str(raw.path(document["content_sha"]))
            yield Job(document["document_id"], "tasks.metadata.dates:search_page", [path, latest.isoformat()])


def _published(rows: StageRows, settings: MetadataSettings, searched: JobResult | None) -> date | None:
    """The date of publication by the first rule that gives one; `searched` is what the search of a page gave.

    A web page: declared, else found on the page. PDF and Office files declare when the file was made, which is no
    publication: stated at the beginning of the text, else (if the settings trust it) declared. Others: declared, else
    stated. A page whose search failed has none.
    """
    media_type, latest = rows[StageName.FETCH]["media_type"], settings.latest_date
    declared = declared_date(rows[StageName.PARSE]["meta_published"], latest)
    if media_type in _HTML:
        if searched is None:
            return declared
        return None if searched.error else declared_date(searched.value, latest)
    stated = stated_date(rows[StageName.NORMALIZE]["text"][:_OPENING], latest)
    if media_type.startswith(_DATED_FILES):
        return stated or (declared if settings.trust_file_dates else None)
    return declared or stated


def _title(
    settings: MetadataSettings,
    parsed: Mapping[str, Any],
    redacted: Mapping[str, Any],
    fields: Mapping[str, list[str]],
    sections: list[dict[str, Any]],
) -> str | None:
    """The title by the sources of the settings. The redacted field is the declared title, or a heading without one."""
    field = next(iter(fields.get("title", [])), None)
    is_declared = bool((parsed["meta_title"] or "").strip())
    first = sections[0]["title"] if sections else None
    return title_by(
        settings.title_from,
        declared=field if is_declared else None,
        heading=first if is_declared else choose_title(field, first),
        opening=redacted["text"][:_OPENING],
        uri=fields["uri"][0],
        pattern=settings.title_pattern,
    )


def _authors(
    settings: MetadataSettings, redacted: Mapping[str, Any], declared: list[str], title: str | None
) -> list[str]:
    replaced = [(s["redacted_start"], s["redacted_end"]) for s in redacted["spans"] if s["action"] != "keep"]
    opening = redacted["text"][:_OPENING]
    for source in settings.author_from:
        if source == "meta":
            found = declared_authors(declared)
        elif source == "below_title":
            found = authors_below(title or "", opening, replaced)
        else:
            pattern = BYLINE if source == "byline" else re.compile(settings.author_pattern or r"(?!)", re.MULTILINE)
            found = named_authors(opening, pattern, replaced)
        if found:
            return found
    return []


def _sections(
    parsed: Mapping[str, Any], normalized: Mapping[str, Any], redacted: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The kept headings in order, as redacted; one that redaction left empty is left out."""
    offsets = RedactionMap(redacted["spans"])
    elements = {element["element_id"]: element for element in parsed["elements"]}
    made = []
    for span in normalized["elements"]:
        element = elements[span["element_id"]]
        if element["kind"] != "heading":
            continue
        start, end = offsets.to_redacted(span["start"]), offsets.to_redacted(span["end"], end=True)
        if title := " ".join(redacted["text"][start:end].split()):
            made.append({"level": element["level"] or 1, "title": title, "page": element["page"]})
    return made


def _asks_for_entities(settings: MetadataSettings) -> bool:
    return any(settings.for_class(name).entities for name in ("", *settings.by_class))


def fingerprint(settings: MetadataSettings) -> Mapping[str, str]:
    """What shapes the output beside settings."""
    versions = {name: version(name) for name in ("htmldate", "trafilatura")} if settings.search_page_dates else {}
    if _asks_for_entities(settings):
        versions |= {"spacy": version("spacy")} | installed_models()
    return versions


def unfit_alone(
    document: Mapping[str, Any], rows: Mapping[StageName, dict[str, Any]], settings: MetadataSettings
) -> str | None:
    """Headings are what this stage goes by."""
    return lacks_structure(rows[StageName.PARSE])


STAGE = Stage(
    name=StageName.METADATA,
    version=3,
    reads=(StageName.FETCH, StageName.PARSE, StageName.NORMALIZE, StageName.LANGUAGE, StageName.PII),
    writes=METADATA,
    settings=MetadataSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=3,
    evaluate=evaluate,
    context=("tenant", "groups"),
    labels=("metadata", "entities"),
    unfit_alone=unfit_alone,
)
