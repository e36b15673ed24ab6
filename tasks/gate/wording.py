"""What a finding says to a reader. Never text of a document."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from schemas.verdict import Finding
from tasks.counted import counted
from tasks.figures.catalogue import Metric
from tasks.gate.evidence import Paired
from tasks.gate.settings import Rule

_REASONS = {
    "n_not_applicable": "{} not applicable",
    "n_stale_label": "{} labels were made for other bytes",
    "n_lost_upstream": "{} lost before this stage",
    "n_invalid": "{} not scorable",
    "n_missing": "{} outputs are missing",
}
_NAMED = 3
"""How many documents a finding names; the report and `worst_documents` have more."""
_SIDES = {"floor": "at least", "ceiling": "at most", "equal": "exactly"}


def number(value: float) -> str:
    """A figure with four significant digits.

    >>> number(0.123456), number(1234.5678), number(1.0)
    ('0.1235', '1235', '1')
    """
    # + 0.0 makes of a negative zero a plain one.
    return f"{value + 0.0:.0f}" if abs(value) >= 1000 else f"{value + 0.0:.4g}"


def nothing_to_judge(metric: Metric, figure: Mapping[str, Any]) -> str:
    """Why there is no figure."""
    known = [text.format(figure[name]) for name, text in _REASONS.items() if figure.get(name)]
    if known:
        return "nothing to judge: " + ", ".join(known)
    if figure:
        return "nothing to judge: these documents have nothing of the kind"
    if metric.needs == "gold":
        return f"nothing to judge: no labels of kind {' or '.join(metric.labels)}"
    return "nothing to judge: no document has this measure"


def bound(rule: Rule, metric: Metric, value: float, finding: Finding, figure: Mapping[str, Any]) -> str:
    """The figure against its bound."""
    side = _SIDES.get(rule.kind) or ("at least" if metric.direction == "higher" else "at most")
    text = number(value) + interval(finding.low, finding.high)
    of = f"{finding.items} items"
    if finding.aggregation == "micro":
        of = f"{number(figure['numerator'])} of {number(figure['denominator'])}"
    return f"{text} ({of}); must be {side} {number(rule.limit)}"


def documents(ids: Sequence[str]) -> str:
    """The first documents at fault and how many more; empty where none is.

    >>> documents(["doc-1"]), documents(["doc-1", "doc-2", "doc-3", "doc-4", "doc-5"]), documents([])
    ('; in document doc-1', '; in 5 documents: doc-1, doc-2, doc-3 and 2 more', '')
    """
    if len(ids) <= 1:
        return f"; in document {ids[0]}" if ids else ""
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"; in {len(ids)} documents: {', '.join(ids[:_NAMED])}{more}"


def loss(metric: Metric, finding: Finding, pairs: Paired, needed: int, *, shown: bool) -> str:
    """The loss against the baseline and, where none is shown, how small a one would have been seen."""
    change = "the same"
    if pairs.loss:
        change = f"{'worse' if pairs.loss > 0 else 'better'} by {number(abs(pairs.loss))}"
    paired = counted(finding.paired or 0, "document")
    text = (
        f"{number(pairs.value)} against {number(pairs.base_value)} in {finding.against} over {paired} "
        f"measured alike: {change}{interval(finding.loss_low, finding.loss_high)}"
        f"; allowed loss {number(finding.max_loss or 0.0)}"
    )
    if finding.unpaired:
        text += f"; {finding.unpaired} more have no counterpart"
    if metric.basis == "census" or shown:
        return text
    if finding.detectable is None:
        return f"{text}; {paired} cannot show a loss, it takes {needed} that lose"
    seen = f"{number(finding.detectable)}, in {counted(needed, 'document')}"
    return f"{text}; the smallest loss that could have been seen: {seen}"


def interval(low: float | None, high: float | None) -> str:
    """A 95 % interval as ` [low, high]`; empty where there is none."""
    return "" if low is None or high is None else f" [{number(low)}, {number(high)}]"


def items_to_prove(value: float, end: float, bound_at: float, items: int) -> int | str:
    """About how many items bring the interval's end to the bound; its width shrinks with the root of the number."""
    room = abs(value - bound_at)
    return ceil(items * ((value - end) / room) ** 2) if room else "any number more"
