"""Settings of the message that a run sends when it is over."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Outcome: TypeAlias = Literal["pass", "warn", "fail", "undetermined", "error"]
"""A verdict's status, or `error` where a run ended without a verdict."""


class NotifySettings(BaseModel):
    """A webhook that is told of a run's outcome.

    A JSON object is posted: run, status, exit code, blame, what blocks, where the report is. It holds no text of
    documents. A message that cannot be delivered is told and recorded, and changes no verdict.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    url_env: str = Field(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Environment variable that holds the webhook's URL, which is a secret.",
    )
    outcomes: tuple[Outcome, ...] = Field(
        ("fail", "undetermined", "error"),
        min_length=1,
        description="Outcomes that are told; `error` is a run that ended without a verdict.",
    )
    limit_seconds: float = Field(
        30.0, gt=0, le=600, description="After this long, retries included, the delivery is given up."
    )
