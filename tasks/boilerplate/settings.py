"""Settings of the boilerplate stage."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import Field

from tasks.documents.cage import CageLimits
from tasks.stage import ClassSettings, StageSettings

Extractor: TypeAlias = Literal["trafilatura", "resiliparse", "justext"]


class OfClass(ClassSettings):
    """What is different for one document class; what is not given is as for all."""

    web: bool = Field(True, description="As `web`.")
    extractor: Extractor = Field("trafilatura", description="As `extractor`.")
    favor: Literal["balance", "precision", "recall"] = Field("balance", description="As `favor`.")
    include_comments: bool = Field(False, description="As `include_comments`.")
    include_tables: bool = Field(True, description="As `include_tables`.")
    running: bool = Field(True, description="As `running`.")
    line_numbers: bool = Field(True, description="As `line_numbers`.")


class BoilerplateSettings(StageSettings):
    """What is taken out of a document before its text is used."""

    web: bool = Field(True, description="Separate the main text of web pages from navigation, banners and footers.")
    extractor: Extractor = Field(
        "trafilatura",
        description="What finds the main text of web pages. `resiliparse` is quicker and keeps more, `justext` "
        "judges paragraphs by frequent words; docs/real-data.md has their figures.",
    )
    by_class: Mapping[str, OfClass] = Field(
        default_factory=dict,
        description="Other settings for a document class, such as `{forum: {extractor: resiliparse}}`: any of web, "
        "extractor, favor, include_comments, include_tables, running, line_numbers.",
    )
    fast: bool = Field(True, description="trafilatura without its comparison with other extractors.")
    favor: Literal["balance", "precision", "recall"] = Field("balance", description="trafilatura's leaning.")
    include_comments: bool = Field(False, description="Keep the readers' comments below an article.")
    include_tables: bool = Field(True, description="Keep tables of the main text.")
    min_covered: float = Field(
        0.5, gt=0, le=1, description="Share of an element's words that the extractor must have kept for it to stay."
    )
    rescue: bool = Field(
        True, description="Give back what the extractor is known to lose inside the main text (see the rescue rules)."
    )
    running: bool = Field(True, description="Take out running headers, footers and page numbers of paged documents.")
    running_share: float = Field(
        0.3, gt=0, le=1, description="Share of the pages on which a line must repeat to be a running header or footer."
    )
    running_min_pages: int = Field(3, ge=2, description="Fewest pages on which it must repeat, whatever the share.")
    running_band: float = Field(
        0.15, gt=0, le=0.5, description="Share of the page's height, at its top and bottom, where such lines stand."
    )
    line_numbers: bool = Field(
        True, description="Take out the numbers that a document prints beside its lines (pleadings, drafts, bills)."
    )
    limits: CageLimits = Field(
        default_factory=lambda: CageLimits(),
        description="Time, memory and number of the worker processes that judge web pages. Where they equal those of "
        "parse, the workers are the same.",
        json_schema_extra={"shapes_output": False},
    )
