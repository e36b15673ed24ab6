"""Settings of the dedup stage."""

from pydantic import Field, model_validator

from tasks.stage import StageSettings


class DedupSettings(StageSettings):
    """How duplicates are found, and which of them are dropped."""

    shingle_size: int = Field(
        default=5, ge=2, le=20, description="Characters in a shingle, the unit of which similarity is made."
    )
    hashes: int = Field(
        default=128, ge=16, le=1024, description="MinHash values per document; more find similar documents more surely."
    )
    bands: int = Field(
        default=16,
        ge=1,
        le=256,
        description="Bands the hashes are cut into; documents that agree on all hashes of a band are compared. "
        "More bands find less similar pairs and cost more comparisons. Must divide the number of hashes.",
    )
    threshold: float = Field(
        default=0.85,
        ge=0.3,
        le=1.0,
        description="Least Jaccard similarity of the shingle sets at which a document may be a near duplicate.",
    )
    near_duplicates: bool = Field(
        default=True, description="Whether near duplicates are looked for; without it only exact copies are dropped."
    )
    protect_facts: bool = Field(
        default=True,
        description="Drop a near duplicate only if the kept document says everything that it says: each of its words, "
        "numbers and symbols stands in the kept one in the same order (moved passages of four words or more count), "
        "up to case, punctuation, white space, spelling slips and function words, and adds no negation "
        "or number in passing. "
        "Documents made from one template that differ in a number, date, name, unit or any other word are then all "
        "kept.",
    )
    neighbours: int = Field(
        default=8,
        ge=1,
        le=1000,
        description="How many neighbours, in each band and in all, a document is compared with. It bounds the work "
        "where thousands of documents share a template (at the price of a few pairs among them); neighbours are those "
        "that agree on most of the following bands.",
    )
    memory_limit_mb: int = Field(
        default=512,
        ge=64,
        json_schema_extra={"shapes_output": False},
        description="Memory of the search for candidates, in MB; above it the search spills to disk.",
    )

    @model_validator(mode="after")
    def _bands_divide_hashes(self) -> "DedupSettings":
        if self.hashes % self.bands:
            raise ValueError(f"bands ({self.bands}) must divide hashes ({self.hashes})")
        return self
