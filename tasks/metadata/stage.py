"""Metadata: title, authors, dates, sections, language and access of a document, after redaction.

Web pages that declare no date are searched for one in the cage; a search that fails leaves the date open.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from typing import Any

from schemas.names import StageName
from schemas.stages import METADATA
from tasks.documents.cage import Cage, Job, JobResult
from tasks.documents.offsets import RedactionMap
from tasks.documents.titles import choose_title
from tasks.metadata.dates import declared_date, stated_date
from tasks.metadata.evaluator import evaluate
from tasks.metadata.settings import MetadataSettings
from tasks.stage import Batch, Cost, DocumentRow, RawBytes, Resources, Stage, StageOutput, StageRows, documents_loop

_HTML = ("text/html", "application/xhtml+xml")
_DATED_FILES = ("application/pdf", "application/vnd.", "application/msword", "application/rtf")
"""Media types whose declared date tells when the file was made."""
_OPENING = 4000
"""Characters at the beginning in which a document states its own date of publication."""
_NOBODY = frozenset(("admin", "administrator", "author", "unknown", "user", "owner", "anonymous", "root", "n/a"))


def run(batch: Batch, settings: MetadataSettings, resources: Resources) -> StageOutput:
    """The metadata of every document of the batch."""
    jobs = list(_jobs(batch, settings, resources.raw))
    searched = {result.key: result for result in Cage.shared(settings.limits).run(jobs)} if jobs else {}

    def transform(document: DocumentRow, rows: StageRows) -> DocumentRow:
        parsed, normalized, redacted = rows[StageName.PARSE], rows[StageName.NORMALIZE], rows[StageName.PII]
        sections = _sections(parsed, normalized, redacted)
        fields: dict[str, list[str]] = {}
        for field in redacted["fields"]:
            fields.setdefault(field["name"], []).append(field["value"])
        published = _published(rows, settings, searched.get(document["document_id"]))
        modified = declared_date(parsed["meta_modified"], settings.latest_date)
        return {
            "title": choose_title(
                next(iter(fields.get("title", [])), None), sections[0]["title"] if sections else None
            ),
            "authors": _authors(fields.get("author", [])),
            "published": published,
            "modified": modified if not (modified and published and modified < published) else None,
            "sections": sections,
            "language": rows[StageName.LANGUAGE]["language"],
            "uri": fields["uri"][0],
            "tenant": document["tenant"],
            "groups": document["groups"],
            "date_search": _said(searched.get(document["document_id"])),
        }

    output = documents_loop(batch, METADATA, transform)
    costs = dict(output.costs)
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


def _authors(values: list[str]) -> list[str]:
    names = (" ".join(value.split()) for value in values)
    return list(dict.fromkeys(name for name in names if name and name.casefold() not in _NOBODY))


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


def fingerprint(settings: MetadataSettings) -> Mapping[str, str]:
    """What shapes the output beside settings."""
    return {name: version(name) for name in ("htmldate", "trafilatura")} if settings.search_page_dates else {}


STAGE = Stage(
    name=StageName.METADATA,
    version=2,
    reads=(StageName.FETCH, StageName.PARSE, StageName.NORMALIZE, StageName.LANGUAGE, StageName.PII),
    writes=METADATA,
    settings=MetadataSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=2,
    evaluate=evaluate,
    context=("tenant", "groups"),
    labels=("metadata",),
)
