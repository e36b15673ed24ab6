"""The closed vocabularies of corpusgate: stages, statuses, cohorts, element kinds."""

from enum import StrEnum


class StageName(StrEnum):
    """The eleven ingestion stages, in the order in which a document passes them."""

    FETCH = "fetch"
    PARSE = "parse"
    BOILERPLATE = "boilerplate"
    NORMALIZE = "normalize"
    LANGUAGE = "language"
    DEDUP = "dedup"
    PII = "pii"
    CHUNK = "chunk"
    METADATA = "metadata"
    EMBED = "embed"
    INDEX = "index"


class Outcome(StrEnum):
    """What a stage made of a document; every document that enters a stage leaves with exactly one."""

    OK = "ok"
    DROPPED = "dropped"
    QUARANTINED = "quarantined"


class Cohort(StrEnum):
    """How a document of a run relates to the run that made the live generation."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    MOVED = "moved"
    DELETED = "deleted"
    RETAINED = "retained"
    """Gone from a source that keeps what it lost (`on_source_removed: retain`): in live as it was."""


class MetricStatus(StrEnum):
    """Why a metric row has, or has not, a value. Each is counted; none vanishes from a mean."""

    OK = "ok"
    MISSING = "missing"
    INVALID = "invalid"
    NOT_APPLICABLE = "not_applicable"
    STALE_LABEL = "stale_label"
    LOST_UPSTREAM = "lost_upstream"


class ElementKind(StrEnum):
    """The kinds of element that a parser reports."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"
    FORMULA = "formula"
    CAPTION = "caption"
    FOOTNOTE = "footnote"
    FIGURE = "figure"


class TextSource(StrEnum):
    """Where the text of an element on a page comes from."""

    TEXT = "text"
    OCR = "ocr"


class VerdictStatus(StrEnum):
    """The gate's answer."""

    PASS = "pass"  # noqa: S105
    WARN = "warn"
    FAIL = "fail"
    UNDETERMINED = "undetermined"
