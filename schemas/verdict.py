"""The gate's answer: a status, the findings it rests on, where the fault lies, and what it was given for."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Literal

from schemas.names import VerdictStatus

FailOn = Literal["fail", "warn"]

EXIT_PASSED, EXIT_BLOCKED, EXIT_UNDETERMINED = 0, 1, 4


class FindingOutcome(StrEnum):
    """What one rule says of one slice."""

    OK = "ok"
    BROKEN = "broken"
    """A bound is not held; for a sample figure: shown beyond chance."""
    REGRESSED = "regressed"
    """A loss against the baseline beyond what is allowed; for documents that stand for others: beyond chance."""
    DRIFTED = "drifted"
    """New and changed documents are unlike those of their class that are live."""
    UNDETERMINED = "undetermined"
    """There are data, but too few to tell. Never counts as held."""
    NOT_APPLICABLE = "not_applicable"
    """There is nothing to judge: no labels, no such document. Never counts as held."""
    FIRST_RUN = "first_run"
    """There is no baseline to compare with."""


VIOLATIONS = frozenset({FindingOutcome.BROKEN, FindingOutcome.REGRESSED, FindingOutcome.DRIFTED})


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule applied to one slice.

    `slice_key` is null for all documents, `class`, `cohort`, or one of the measure's own slices. `value`, `low`,
    `high` are the run's figure with its 95 % interval (null bounds: a census). `threshold` and `max_loss` are the
    rule's. `baseline_value` is the baseline's figure over the `paired` documents that both runs measured alike, `loss`
    how much worse the run is on these (positive is worse, whatever the direction), `loss_low` and `loss_high` its
    95 % interval, `unpaired` how many of the run's documents could not be compared. `detectable` is the smallest loss
    that the rule could have seen. `against` is `live`, `anchor`, or empty where nothing is compared. `consequence`
    says that an earlier stage broke first for the same documents.
    """

    rule: str
    stage: str
    metric: str
    aggregation: str
    severity: Literal["fail", "warn", "note"]
    outcome: FindingOutcome
    message: str
    required: bool = False
    slice_key: str | None = None
    slice_value: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    items: int = 0
    threshold: float | None = None
    max_loss: float | None = None
    against: str = ""
    baseline_value: float | None = None
    loss: float | None = None
    loss_low: float | None = None
    loss_high: float | None = None
    paired: int = 0
    unpaired: int = 0
    p_value: float | None = None
    detectable: float | None = None
    consequence: bool = False

    @property
    def violated(self) -> bool:
        """Whether the rule is broken here."""
        return self.outcome in VIOLATIONS

    @property
    def blocks(self) -> bool:
        """Whether this finding alone keeps the candidate from going live."""
        if self.outcome in VIOLATIONS:
            return self.severity == "fail"
        return self.required and self.outcome in (FindingOutcome.UNDETERMINED, FindingOutcome.NOT_APPLICABLE)

    @property
    def where(self) -> str:
        """The slice in words."""
        return "all documents" if self.slice_key is None else f"{self.slice_key} {self.slice_value}"


@dataclass(frozen=True, slots=True)
class Blame:
    """The first stage that broke or regressed, for a class or for one document.

    Both `doc_class` and `document_id` are null for the corpus as a whole. `metric` is the measure that shows it,
    `loss` by how much (null where a bound is broken and nothing is compared); `consequences` are the stages after it
    that went wrong too.
    """

    stage: str
    metric: str
    loss: float | None
    consequences: tuple[str, ...] = ()
    doc_class: str | None = None
    document_id: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate decided about a run, bound by digests to what it was decided from.

    `candidate` is the generation that may go live (null: the run changed nothing). `baseline` and `anchor` are the
    runs compared with. `digests` names gold, rules, code, candidate and configuration. `created_at` is ISO 8601 and
    not part of `digest`, so that judging the same run again gives the same digest.
    """

    status: VerdictStatus
    run_id: str
    candidate: Mapping[str, Any] | None
    baseline: str | None
    anchor: str | None
    digests: Mapping[str, str | None]
    reasons: tuple[Finding, ...]
    blame: tuple[Blame, ...]
    created_at: str

    @property
    def digest(self) -> str:
        """SHA-256 of the verdict as canonical JSON, without its time."""
        content = self._content()
        del content["created_at"]
        data = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(data.encode()).hexdigest()

    @property
    def allows_promotion(self) -> bool:
        """Whether the candidate may go live."""
        return self.status in (VerdictStatus.PASS, VerdictStatus.WARN)

    def exit_code(self, fail_on: FailOn = "fail") -> int:
        """0 passed, 1 blocked, 4 blocked as undetermined, which `fail_on` never hides.

        Raises:
            ValueError: `fail_on` is neither `fail` nor `warn`.
        """
        if fail_on not in ("fail", "warn"):
            raise ValueError(f"fail_on is {fail_on!r}; it may be 'fail' or 'warn'")
        if self.status is VerdictStatus.UNDETERMINED:
            return EXIT_UNDETERMINED
        blocked = self.status is VerdictStatus.FAIL or (self.status is VerdictStatus.WARN and fail_on == "warn")
        return EXIT_BLOCKED if blocked else EXIT_PASSED

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `from_json` gives the same verdict back."""
        return self._content() | {"digest": self.digest}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Verdict":
        """A verdict as `to_json` wrote it.

        Raises:
            ValueError: the content does not have the digest that it states.
        """
        fields = {name: value for name, value in data.items() if name != "digest"}
        verdict = cls(
            **fields
            | {
                "status": VerdictStatus(data["status"]),
                "reasons": tuple(
                    Finding(**reason | {"outcome": FindingOutcome(reason["outcome"])}) for reason in data["reasons"]
                ),
                "blame": tuple(Blame(**b | {"consequences": tuple(b["consequences"])}) for b in data["blame"]),
            }
        )
        if data["digest"] != verdict.digest:
            raise ValueError(f"the verdict of run {verdict.run_id} was altered: its digest does not fit its content")
        return verdict

    def _content(self) -> dict[str, Any]:
        reasons, blame = map(_fields, self.reasons), map(_fields, self.blame)
        return _fields(self) | {
            "status": self.status.value,
            "candidate": None if self.candidate is None else dict(self.candidate),
            "digests": dict(self.digests),
            "reasons": [reason | {"outcome": reason["outcome"].value} for reason in reasons],
            "blame": [part | {"consequences": list(part["consequences"])} for part in blame],
        }


def _fields(record: "Finding | Blame | Verdict") -> dict[str, Any]:
    """A record's own fields; `dataclasses.asdict` copies each value too, which takes half a second of a verdict."""
    return {field.name: getattr(record, field.name) for field in fields(record)}
