"""Settings of the embed stage."""

from pydantic import Field, field_validator

from tasks.embed.models import MODELS
from tasks.stage import StageSettings


class EmbedSettings(StageSettings):
    """Which model embeds, and how much of a chunk it is trusted to read."""

    model: str = Field("wordllama", description="Name of a registered embedding model.")
    max_tokens: int = Field(
        512,
        ge=1,
        description="A chunk with more tokens than this is flagged as truncated. A model without a limit of its own "
        "(wordllama) still embeds all of it, but the mean of so many words says little about any part.",
    )

    @field_validator("model")
    @classmethod
    def _registered(cls, name: str) -> str:
        if name not in MODELS:
            raise ValueError(f"unknown embedding model {name!r}; there are: {', '.join(sorted(MODELS))}")
        return name
