"""Settings of the dedup stage."""

from typing import Literal, TypeAlias

from pydantic import Field, model_validator

from tasks.stage import StageSettings

Keeper: TypeAlias = Literal["longest", "first_seen", "newest", "path"]

_LEAST_FOUND = 0.5


def chance_of_meeting(similarity: float, hashes: int, bands: int) -> float:
    """Probability that two texts of this Jaccard similarity agree in a band: 1 - (1 - s^(hashes/bands))^bands.

    The S-curve of locality-sensitive hashing (J. Leskovec, A. Rajaraman, J. Ullman, "Mining of Massive Datasets",
    section 3.4).

    >>> [round(chance_of_meeting(s, 128, 16), 3) for s in (0.5, 0.7, 0.8, 0.85, 0.9)]
    [0.061, 0.613, 0.947, 0.994, 1.0]
    """
    return float(1 - (1 - similarity ** (hashes / bands)) ** bands)


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
        "Two texts of Jaccard similarity s meet with probability 1 - (1 - s^(hashes/bands))^bands: with the defaults "
        "0.06 at 0.5, 0.61 at 0.7, 0.95 at 0.8, 0.994 at 0.85. More bands find less similar pairs and cost more "
        "comparisons. Must divide the number of hashes, and the probability at `threshold` must be 0.5 or more.",
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
    keeper: Keeper = Field(
        default="longest",
        description="Which of several copies stays: `longest` the longest text, `first_seen` the one that an earlier "
        "run saw first, `newest` the one committed last, `path` the first by source and path. Ties go to the longest "
        "text, then the least document id. Exact copies are of one length. With `protect_facts` a longer "
        "document that says more is kept beside it.",
    )
    on_containment: Literal["keep", "drop", "flag"] = Field(
        default="flag",
        description="What becomes of a document that stands inside a longer one (an excerpt, or the body of a document "
        "with an appendix): `flag` keeps both and notes `contained_in` with its measure, `drop` keeps the longer one "
        "(with `protect_facts`: if it says everything), `keep` does not look for it.",
    )
    containment: float = Field(
        default=0.9,
        ge=0.5,
        le=1.0,
        description="Least share of a document's distinct shingles that stand in a longer one, at which it counts as "
        "contained. Two documents whose Jaccard similarity reaches `threshold` are near duplicates instead.",
    )
    containment_min_length: int = Field(
        default=500,
        ge=100,
        description="Characters of comparison text below which a document is not looked for inside others: short texts "
        "stand in many. Candidates share sampled runs of 20 characters, one in 64: of a passage of 500 characters none "
        "is sampled in 6 of 10,000.",
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
    def _find_what_they_ask_for(self) -> "DedupSettings":
        if self.hashes % self.bands:
            raise ValueError(f"bands ({self.bands}) must divide hashes ({self.hashes})")
        chance = chance_of_meeting(self.threshold, self.hashes, self.bands)
        if self.near_duplicates and chance < _LEAST_FOUND:
            raise ValueError(
                f"with {self.hashes} hashes in {self.bands} bands, two texts as alike as the threshold "
                f"({self.threshold:g}) are compared with a probability of {chance:.2g} only; use more bands or "
                f"a higher threshold"
            )
        return self
