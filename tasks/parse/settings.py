"""Settings of parse."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from tasks.documents.archives import ContainerLimits
from tasks.documents.cage import CageLimits
from tasks.parse.backends import FORMATS, OUTSIDE, chosen_backends
from tasks.parse.ocr_settings import OcrSettings
from tasks.parse.outside_files import OutsideSettings
from tasks.stage import StageSettings


def _backends_described() -> str:
    known = "; ".join(f"{name}: {', '.join(kind.backends)}" for name, kind in FORMATS.items())
    return f"The parser of each format; those left out keep the default, which stands first here. {known}."


class ParseSettings(StageSettings):
    """How files become elements, and what a parser may use."""

    backends: dict[str, str] = Field(
        default=chosen_backends({}),
        description=_backends_described(),
        json_schema_extra={
            "propertyNames": {"enum": list(FORMATS)},
            "properties": {name: {"enum": list(kind.backends)} for name, kind in FORMATS.items()},
        },
    )
    tables: Literal["auto", "ruled", "layout", "none"] = Field(
        default="auto",
        description="How tables in PDFs are found: by drawn rules, by the layout model (about 1 s a page), "
        "by the model only on pages that show signs of a table without rules, or not at all. It is for the PDF backend "
        "`pymupdf`: the others have ways of their own, and with them only `auto` may stand here.",
    )
    max_pages: int = Field(default=5000, ge=1, description="A PDF with more pages is quarantined.")
    max_characters: int = Field(
        default=20_000_000,
        ge=1,
        description="A document with more text is quarantined: the stages that follow hold a document's text whole, "
        "and a language model takes minutes for ten million characters.",
    )
    containers: ContainerLimits = Field(
        default_factory=lambda: ContainerLimits(), description="What files that hold other files may hold."
    )
    ocr: OcrSettings = Field(
        default_factory=lambda: OcrSettings(), description="How images and scanned pages are read."
    )
    outside: OutsideSettings | None = Field(
        default=None,
        description="Where the output of another parser lies, for the formats whose backend is `outside`.",
    )
    limits: CageLimits = Field(
        default_factory=lambda: CageLimits(),
        description="Time, memory and number of the worker processes.",
        json_schema_extra={"shapes_output": False},
    )

    @field_validator("backends")
    @classmethod
    def _complete(cls, choices: dict[str, str]) -> dict[str, str]:
        return chosen_backends(choices)

    @model_validator(mode="after")
    def _tables_are_found_as_asked(self) -> "ParseSettings":
        if self.tables != "auto" and self.backends["pdf"] != "pymupdf":
            raise ValueError(
                f"tables: {self.tables} is for the PDF backend pymupdf; {self.backends['pdf']} does not heed it: "
                "leave tables out"
            )
        return self

    @model_validator(mode="after")
    def _outside_has_a_folder(self) -> "ParseSettings":
        wanted = [name for name, choice in self.backends.items() if FORMATS[name].backends[choice] == OUTSIDE]
        if wanted and self.outside is None:
            raise ValueError(f"{', '.join(wanted)} is to be taken from outside, but outside.folder is not set")
        if self.outside is not None and not wanted:
            raise ValueError("outside is set, but no format has the backend `outside`")
        return self
