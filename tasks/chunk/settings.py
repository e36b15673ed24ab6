"""Settings of the chunk stage."""

from pydantic import Field, model_validator

from tasks.documents.cage import CageLimits
from tasks.stage import StageSettings


class ChunkSettings(StageSettings):
    """How a document is cut into chunks."""

    max_tokens: int = Field(
        384, ge=32, le=8192, description="No chunk has more tokens than this, repeated prefix included."
    )
    min_tokens: int | None = Field(
        None,
        ge=0,
        description="A chunk under this size takes in the beginning of the next element of its section, cut at a "
        "sentence, row or line, rather than stand alone. A sixth of max_tokens where it is not given.",
    )
    overlap_tokens: int = Field(
        0, ge=0, description="Up to this many tokens of the chunk before, of the same section, are repeated."
    )
    table_header_rows: int = Field(
        1,
        ge=0,
        le=10,
        description="Leading rows repeated before each further part of a long table that marks no header cells itself.",
    )
    limits: CageLimits = Field(
        default_factory=lambda: CageLimits(),
        description="Time, memory and number of the worker processes that read the files a second time, to check "
        "where chunks say they come from. Where they equal those of parse, the workers are the same.",
        json_schema_extra={"shapes_output": False},
    )

    @model_validator(mode="after")
    def _sizes_fit(self) -> "ChunkSettings":
        if self.least_tokens + self.overlap_tokens > self.max_tokens // 2:
            raise ValueError("min_tokens + overlap_tokens must not exceed half of max_tokens")
        return self

    @property
    def least_tokens(self) -> int:
        """`min_tokens`, or what it follows from."""
        return self.max_tokens // 6 if self.min_tokens is None else self.min_tokens
