"""Settings of parse."""

from typing import Literal

from pydantic import Field

from tasks.documents.cage import CageLimits
from tasks.stage import StageSettings


class ParseSettings(StageSettings):
    """How files become elements, and what a parser may use."""

    tables: Literal["auto", "ruled", "layout", "none"] = Field(
        default="auto",
        description="How tables in PDFs are found: by drawn rules, by the layout model (about 1 s a page), "
        "by the model only on pages that show signs of a table without rules, or not at all.",
    )
    max_pages: int = Field(default=5000, ge=1, description="A PDF with more pages is quarantined.")
    max_characters: int = Field(
        default=20_000_000,
        ge=1,
        description="A document with more text is quarantined: the stages that follow hold a document's text whole, "
        "and a language model takes minutes for ten million characters.",
    )
    limits: CageLimits = Field(
        default_factory=lambda: CageLimits(),
        description="Time, memory and number of the worker processes.",
        json_schema_extra={"shapes_output": False},
    )
