"""Settings of the gate: rules, what is expected to be quarantined, the pinned anchor."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from schemas.names import StageName
from tasks.globs import path_glob


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ExpectedQuarantine(_Part):
    """Documents whose failure is known and accepted; any other quarantined document counts as unexpected."""

    path: str = Field(description="Glob over the document's path in its source; `**` crosses folders.")
    source: str | None = Field(default=None, description="Name of a source; any source where absent.")
    stage: StageName = Field(description="The stage at which it fails.")
    error_class: str | None = Field(default=None, description="The error class; any where absent.")
    reason: str = Field(default="", description="Why this is accepted; for the reader of the verdict.")

    def covers(self, source: str, uri: str, stage: str, error_class: str) -> bool:
        """Whether a quarantined document is one of these."""
        return (
            (self.source is None or self.source == source)
            and self.stage == stage
            and (self.error_class is None or self.error_class == error_class)
            and path_glob(self.path).fullmatch(uri) is not None
        )


class Rule(_Part):
    """One rule of the gate. A rule of the same id in the configuration replaces the default one."""

    id: str = Field(pattern=r"^[a-z0-9_.-]+$", description="Name of the rule.")
    stage: StageName = Field(description="The stage whose measure is judged.")
    metric: str = Field(
        description="Id of a measure in the catalogue; for `drift`, of a feature "
        "or `drift_classifier_auc` (see `drift`)."
    )
    aggregation: str | None = Field(default=None, description="Which aggregate; the measure's first where absent.")
    kind: Literal["floor", "ceiling", "equal", "guard", "proof", "drift"] = Field(
        description="floor, ceiling: the figure may not be shown to lie below, above `threshold` (a census: may not "
        "lie there); equal: it must be `threshold`; guard: no demonstrated loss against the baseline beyond "
        "`max_loss`; proof: the whole interval must clear `threshold` or stay inside `max_loss`; drift: new and "
        "changed documents must not differ from the live ones of their class by an effect of `threshold` (0 to 1)."
    )
    threshold: float | None = Field(default=None, description="The bound, in the measure's unit.")
    max_loss: float | None = Field(default=None, ge=0, description="Allowed loss against the baseline, absolute.")
    slice: str = Field(default="all", description="`all`, `class`, `cohort`, or one of the measure's own slices.")
    severity: Literal["fail", "warn", "note"] = Field(
        default="fail",
        description="What a broken rule does to the verdict: fail blocks, warn makes it `warn`, note only says so.",
    )
    required: bool = Field(default=False, description="Whether missing data blocks as undetermined.")
    min_items: int = Field(default=1, ge=1, description="Fewer items than this: undetermined.")

    @property
    def limit(self) -> float:
        """The bound that the rule holds, whichever it has: `threshold` or `max_loss`."""
        return self.threshold if self.threshold is not None else self.max_loss or 0.0

    @model_validator(mode="after")
    def _has_its_bound(self) -> "Rule":
        bounds = {
            "guard": self.max_loss is not None and self.threshold is None,
            "proof": (self.max_loss is None) != (self.threshold is None),
        }.get(self.kind, self.threshold is not None and self.max_loss is None)
        if not bounds:
            needed = {"guard": "`max_loss` alone", "proof": "either `threshold` or `max_loss`"}
            raise ValueError(f"rule {self.id!r} of kind {self.kind} needs {needed.get(self.kind, '`threshold` alone')}")
        if self.kind == "drift" and self.slice != "class":
            raise ValueError(f"rule {self.id!r}: drift is judged by class; write `slice: class`")
        return self


class GateSettings(_Part):
    """How a run is judged."""

    rules: tuple[Rule, ...] = Field(default=(), description="Rules added to the defaults, or replacing one by its id.")
    disabled: tuple[str, ...] = Field(default=(), description="Ids of default rules that do not apply.")
    expected_quarantine: tuple[ExpectedQuarantine, ...] = Field(default=(), description="Accepted failures.")
    anchor: str | None = Field(default=None, description="Run id of a pinned baseline beside live; slow decay shows.")
