"""Settings of the metadata stage."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from tasks.documents.cage import CageLimits
from tasks.documents.titles import TitleSource
from tasks.metadata.entities import EntityType
from tasks.stage import ClassSettings, StageSettings

AuthorSource: TypeAlias = Literal["meta", "byline", "below_title", "pattern"]


def _checked_pattern(value: str | None) -> str | None:
    try:
        re.compile(value or "")
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from None
    return value


Pattern: TypeAlias = Annotated[str | None, AfterValidator(_checked_pattern)]


class OfClass(ClassSettings):
    """What is different for one document class; what is not given is as for all."""

    title_from: tuple[TitleSource, ...] = Field(("meta", "heading"), min_length=1, description="As `title_from`.")
    title_pattern: Pattern = Field(None, description="As `title_pattern`.")
    author_from: tuple[AuthorSource, ...] = Field(("meta",), description="As `author_from`.")
    author_pattern: Pattern = Field(None, description="As `author_pattern`.")
    entities: bool = Field(False, description="As `entities`.")
    entity_types: tuple[EntityType, ...] = Field(("ORG", "LOC", "MISC"), description="As `entity_types`.")
    relations: bool = Field(True, description="As `relations`.")


class MetadataSettings(StageSettings):
    """How title, authors and dates are chosen, and whether entities are looked for."""

    title_from: tuple[TitleSource, ...] = Field(
        ("meta", "heading"),
        min_length=1,
        description="Where the title is taken from, the first that gives one: `meta` (what the file declares), "
        "`heading`, `opening` (the first line that reads like a title), `filename`, `pattern`.",
    )
    title_pattern: Pattern = Field(
        None,
        description="Regular expression for `pattern`, searched in the first 4,000 characters as redacted; its group "
        "`title`, else the first one, is the title. `^` and `$` are ends of lines.",
    )
    author_from: tuple[AuthorSource, ...] = Field(
        ("meta",),
        description="Where authors are taken from, the first that gives any: `meta`, `byline` (a line such as `By Ada "
        "Moor and Jon Reed`), `below_title` (a line of nothing but names right after the title), `pattern`. What the "
        "pii policy masks in the text is no author.",
    )
    author_pattern: Pattern = Field(
        None, description="Regular expression for `pattern`, as for titles; its group is `authors`."
    )
    entities: bool = Field(
        False,
        description="Look for named entities (spaCy) and keep them with the document. Off by default: it costs half as "
        "much as searching for personal data. English; other languages whose model is installed (`fr_core_news_sm`).",
    )
    entity_types: tuple[EntityType, ...] = Field(
        ("ORG", "LOC", "MISC"),
        min_length=1,
        description="Types that are kept: PER, ORG, LOC, MISC, TIME, NUM. A type whose values the pii policy masks is "
        "refused: PER asks for `stages.pii.policy: {PERSON: keep}`.",
    )
    relations: bool = Field(
        True, description="With entities, relations between those of one sentence too, by rules for English."
    )
    by_class: Mapping[str, OfClass] = Field(
        default_factory=dict,
        description="Other settings for a document class, such as `{paper: {title_from: [opening]}}`: any of "
        "title_from, title_pattern, author_from, author_pattern, entities, entity_types, relations.",
    )

    search_page_dates: bool = Field(
        True, description="Look for the date of publication on web pages that declare none (htmldate)."
    )
    trust_file_dates: bool = Field(
        False,
        description="Take the creation date inside PDF and Office files for the date of publication, where the first "
        "pages state none. It tells when a file was made, not when the text was published.",
    )
    latest_date: date = Field(
        date(2035, 12, 31),
        description="A date after this is taken for a mistake. Fixed, not today, so that results do not change by day.",
    )
    limits: CageLimits = Field(
        default_factory=lambda: CageLimits(),
        description="Time, memory and number of the worker processes that search web pages for dates. Where they equal "
        "those of parse, the workers are the same.",
        json_schema_extra={"shapes_output": False},
    )
