"""Settings of the PII stage: which types are looked for, what is done with them, and from which score on."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, field_validator

from tasks.stage import StageSettings

Action: TypeAlias = Literal["mask", "hash", "drop", "keep"]

DEFAULT_POLICY: dict[str, Action] = {
    "PERSON": "mask",
    "EMAIL_ADDRESS": "mask",
    "PHONE_NUMBER": "mask",
    "CREDIT_CARD": "mask",
    "IBAN_CODE": "mask",
    "CRYPTO": "mask",
    "IP_ADDRESS": "mask",
    "MAC_ADDRESS": "mask",
    "US_SSN": "mask",
    "US_ITIN": "mask",
    "US_PASSPORT": "mask",
    "UK_NHS": "mask",
}

DEFAULT_THRESHOLDS: dict[str, float] = {
    "PHONE_NUMBER": 0.4,
    "US_SSN": 0.4,
    "US_PASSPORT": 0.4,
}


class PiiSettings(StageSettings):
    """What is personal data, and what becomes of it."""

    policy: dict[str, Action] = Field(
        default=DEFAULT_POLICY,
        description="Action per entity type (presidio's names): `mask` puts the type's name in brackets, `hash` a "
        "keyed hash that is equal for equal values, `drop` nothing, `keep` records the span and leaves the text. Types "
        "that are not named here keep their default.",
    )
    default_action: Action = Field(
        default="keep",
        description="Action for every type without one of its own. With `keep` such types are not looked for at all "
        "(dates, places, organizations, URLs would be).",
    )
    thresholds: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        default=DEFAULT_THRESHOLDS,
        description="Least score (0 to 1) per entity type; types that are not named here keep their default.",
    )
    default_threshold: float = Field(
        default=0.5, ge=0, le=1, description="Least score of a type that `thresholds` does not name."
    )
    check_plausibility: bool = Field(
        default=True,
        description="Reject finds that look like something else: names with digits or without a capital, telephone "
        "numbers that are dates, part numbers or bare digits without a word for telephone near, version numbers.",
    )
    authors: Literal["keep", "mask", "drop"] = Field(
        default="keep",
        description="What becomes of the authors that a file declares. They are persons too, but also attribution, so "
        "they are kept by default; addresses and numbers among them follow `policy` all the same.",
    )
    hash_key_variable: str = Field(
        default="CORPUSGATE_PII_KEY",
        description="Environment variable that holds the secret key of `hash`; without it `hash` is refused.",
    )
    phone_regions: tuple[str, ...] = Field(
        default=("US", "GB", "DE", "FR", "IL", "IN", "CA", "BR"),
        description="Countries whose national telephone numbers are recognized; international ones always are.",
    )

    @field_validator("policy", mode="after")
    @classmethod
    def _complete_policy(cls, given: dict[str, Action]) -> dict[str, Action]:
        return dict(sorted({**DEFAULT_POLICY, **given}.items()))

    @field_validator("thresholds", mode="after")
    @classmethod
    def _complete_thresholds(cls, given: dict[str, float]) -> dict[str, float]:
        wrong = [name for name, score in given.items() if not 0 <= score <= 1]
        if wrong:
            raise ValueError(f"a threshold lies between 0 and 1; not so for {', '.join(wrong)}")
        return dict(sorted({**DEFAULT_THRESHOLDS, **given}.items()))

    def action(self, entity_type: str) -> Action:
        """What is done with values of this type."""
        return self.policy.get(entity_type, self.default_action)

    def threshold(self, entity_type: str) -> float:
        """The least score of this type."""
        return self.thresholds.get(entity_type, self.default_threshold)

    def analyses(self, entity_type: str) -> bool:
        """Whether the stage looks for this type."""
        return entity_type in self.policy or self.default_action != "keep"
