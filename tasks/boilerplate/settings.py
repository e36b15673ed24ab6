"""Settings of the boilerplate stage."""

from typing import Literal

from pydantic import Field

from tasks.documents.cage import CageLimits
from tasks.stage import StageSettings


class BoilerplateSettings(StageSettings):
    """What is taken out of a document before its text is used."""

    web: bool = Field(True, description="Separate the main text of web pages from navigation, banners and footers.")
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
    limits: CageLimits = Field(
        default_factory=lambda: CageLimits(),
        description="Time, memory and number of the worker processes that judge web pages. Where they equal those of "
        "parse, the workers are the same.",
        json_schema_extra={"shapes_output": False},
    )
