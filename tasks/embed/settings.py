"""Settings of the embed stage."""

from pydantic import Field, model_validator

from tasks.embedding.settings import EmbeddingSettings
from tasks.stage import StageSettings


class EmbedSettings(StageSettings, EmbeddingSettings):
    """Which model embeds, and how much of a chunk it is trusted to read."""

    max_tokens: int = Field(
        512,
        ge=1,
        description="A chunk with more tokens than this is flagged as truncated. A model without a limit of its own "
        "(wordllama) still embeds all of it, but the mean of so many words says little about any part.",
    )
    cache_megabytes: int = Field(
        1024,
        ge=0,
        le=1_000_000,
        description="Largest size of the store of vectors in the lake, by text and model, from which equal texts are "
        "answered in later runs; 0: none. Models as fast as the store (wordllama) do without.",
        json_schema_extra={"shapes_output": False},
    )
    drift_documents: int = Field(
        500,
        ge=20,
        le=20_000,
        description="How many documents of a class, and of all classes, are looked at on either side when vectors are "
        "held against those of live and of the anchor: a chunk of each.",
        json_schema_extra={"shapes_output": False},
    )
    drift_permutations: int = Field(
        999,
        ge=99,
        le=100_000,
        description="Relabellings from which the p-value of that comparison is taken: it is never below one in this "
        "number and one.",
        json_schema_extra={"shapes_output": False},
    )
    token_vectors: bool = Field(
        False,
        description="Also keep a vector per different token of a chunk, for late interaction (MaxSim) in the index. "
        "Needs a model that gives them: wordllama. Takes about 1 kB per token.",
    )

    @model_validator(mode="after")
    def _given_by_the_model(self) -> "EmbedSettings":
        if self.token_vectors and self.model != "wordllama":
            raise ValueError(
                f"token_vectors needs a model that gives a vector per token: wordllama; {self.model} gives one per text"
            )
        return self
