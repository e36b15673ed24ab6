"""Rules and figures → findings → status. Pure: what was measured goes in, what follows from it comes out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import pyarrow as pa

from schemas.names import Cohort, VerdictStatus
from schemas.verdict import Finding, FindingOutcome
from tasks.counted import counted
from tasks.figures.catalogue import Catalogue, Metric
from tasks.figures.figures import seed_of
from tasks.gate import wording
from tasks.gate.evidence import ALPHA, Demonstration, Floats, Paired, adjusted, bound_test, documents_needed
from tasks.gate.settings import Rule

_EQUAL = 1e-9
_RESAMPLED = ("micro", "macro")


@dataclass(frozen=True, slots=True)
class Measured:
    """A run's figures (`FIGURES`) and each document's part in them (`document_samples`)."""

    figures: pa.Table
    samples: pa.Table


@dataclass(frozen=True, slots=True)
class _Slice:
    """What one rule sees of one slice."""

    finding: Finding
    figure: Mapping[str, Any]
    samples: pl.DataFrame


def decide(
    rules: Sequence[Rule], catalogue: Catalogue, run: Measured, baselines: Mapping[str, Measured | None]
) -> list[Finding]:
    """One finding for each rule, slice and baseline; drift rules are judged apart (`tasks.gate.drift`).

    `baselines` holds `live` (null on a first run) and, where one is pinned, `anchor`.
    """
    figures = run.figures.to_pylist()
    samples = pl.DataFrame(run.samples)
    frames = {name: pl.DataFrame(base.samples) if base else None for name, base in baselines.items()}
    findings: list[Finding] = []
    for rule in rules:
        if rule.kind == "drift":
            continue
        metric = catalogue.get(rule.stage, rule.metric)
        slices = _slices(rule, metric, figures, samples)
        if rule.max_loss is not None:
            for name, frame in frames.items():
                findings += _losses(rule, metric, slices, name, frame)
        elif rule.kind == "proof":
            findings += [_proof(rule, metric, part) for part in slices]
        else:
            findings += _bounds(rule, metric, slices)
    return findings


def status_of(findings: Iterable[Finding]) -> VerdictStatus:
    """`fail` where a rule of that severity is broken, else `undetermined` where data are required and absent, else
    `warn` where anything is broken or could not be told, else `pass`. Rules of severity `note` change nothing.

    >>> status_of([])
    <VerdictStatus.PASS: 'pass'>
    """
    status = VerdictStatus.PASS
    for finding in findings:
        if finding.violated and finding.severity == "fail":
            return VerdictStatus.FAIL
        if finding.blocks:
            status = VerdictStatus.UNDETERMINED
        elif finding.severity != "note" and (finding.violated or finding.outcome is FindingOutcome.UNDETERMINED):
            status = VerdictStatus.WARN if status is VerdictStatus.PASS else status
    return status


def blank(rule: Rule, aggregation: str) -> Finding:
    """A finding of a rule about all documents, with nothing found yet."""
    return Finding(
        rule=rule.id,
        stage=rule.stage.value,
        metric=rule.metric,
        aggregation=aggregation,
        severity=rule.severity,
        outcome=FindingOutcome.NOT_APPLICABLE,
        message="",
        required=rule.required,
        threshold=rule.threshold,
        max_loss=rule.max_loss,
    )


def _slices(rule: Rule, metric: Metric, figures: list[dict[str, Any]], samples: pl.DataFrame) -> list[_Slice]:
    """The slices that a rule judges, each with its figure; one without a figure where there is none at all."""
    aggregation = rule.aggregation or metric.aggregation[0]
    own_key = rule.slice if rule.slice not in ("all", "class", "cohort") else None
    of_metric = samples.filter((pl.col("stage") == rule.stage.value) & (pl.col("metric") == rule.metric))
    of_metric = of_metric.filter(pl.col("slice_key").eq_missing(own_key))
    column = {"class": "doc_class", "cohort": "cohort"}.get(rule.slice, "slice_value")
    found = []
    for figure in figures:
        if (figure["stage"], figure["metric"], figure["aggregation"]) != (rule.stage, rule.metric, aggregation):
            continue
        wanted = {
            "doc_class": rule.slice == "class",
            "cohort": rule.slice == "cohort",
            "slice_key": own_key is not None,
        }
        if any((figure[name] is not None) != there for name, there in wanted.items()):
            continue
        if figure["slice_key"] != own_key or figure["cohort"] == Cohort.DELETED:
            continue
        value = figure[column] if rule.slice != "all" else None
        finding = replace(
            blank(rule, aggregation),
            slice_key=None if rule.slice == "all" else rule.slice,
            slice_value=value,
            value=figure["value"],
            low=figure["low"],
            high=figure["high"],
            items=figure["items"],
        )
        part = of_metric if rule.slice == "all" else of_metric.filter(pl.col(column) == value)
        found.append(_Slice(finding, figure, part))
    return found or [_Slice(blank(rule, aggregation), {}, of_metric.clear())]


def _without_data(rule: Rule, metric: Metric, part: _Slice) -> Finding | None:
    """The finding where there is nothing, or too little, to judge."""
    finding = part.finding
    if finding.value is None:
        return replace(finding, message=wording.nothing_to_judge(metric, part.figure))
    if finding.items < rule.min_items:
        message = f"{finding.items} items; the rule asks for {rule.min_items}"
        return replace(finding, outcome=FindingOutcome.UNDETERMINED, message=message)
    return None


def _value(part: _Slice) -> float:
    """The figure of a slice that has one; `_without_data` took the others."""
    value = part.finding.value
    if value is None:
        raise ValueError(f"rule {part.finding.rule}: no figure of {part.finding.where}")
    return value


def _bounds(rule: Rule, metric: Metric, slices: list[_Slice]) -> list[Finding]:
    """Floors, ceilings and equalities."""
    findings: list[Finding] = []
    pending: list[tuple[int, Demonstration]] = []
    for part in slices:
        finding = _without_data(rule, metric, part)
        if finding is None:
            finding = replace(
                part.finding, message=wording.bound(rule, metric, _value(part), part.finding, part.figure)
            )
            value = _value(part)
            sign = 1 if rule.kind == "floor" else -1
            beyond = sign * (rule.limit - value) if rule.kind != "equal" else abs(rule.limit - value)
            if beyond <= _EQUAL:
                finding = replace(finding, outcome=FindingOutcome.OK)
            elif _is_point(rule, metric, part):
                named = wording.documents(_at_fault(rule, metric, part.samples))
                finding = replace(finding, outcome=FindingOutcome.BROKEN, message=finding.message + named)
            else:
                amounts, weights = _floats(part.samples, "amount"), _floats(part.samples, "weight")
                test = bound_test(amounts, weights, rule.limit, sign, seed_of(metric))
                pending.append((len(findings), test))
        findings.append(finding)
    for (i, _), p_value in zip(pending, adjusted([test for _, test in pending])[0], strict=True):
        shown = p_value < ALPHA
        findings[i] = replace(
            findings[i],
            outcome=FindingOutcome.BROKEN if shown else FindingOutcome.UNDETERMINED,
            p_value=p_value,
            message=findings[i].message + ("" if shown else f"; not shown beyond chance (p = {p_value:.2g})"),
        )
    return findings


def _is_point(rule: Rule, metric: Metric, part: _Slice) -> bool:
    """Whether one case decides: a census, an equality, a bound at the end of the range, a figure of no documents."""
    return (
        metric.basis == "census"
        or rule.kind == "equal"
        or rule.threshold in metric.range
        or part.finding.aggregation not in _RESAMPLED
        or part.samples.is_empty()
    )


def _at_fault(rule: Rule, metric: Metric, samples: pl.DataFrame) -> list[str]:
    """The documents of which a census says that the bound does not hold, where one of them is enough to break it: the
    bound is an end of the range, as with `must be at most 0`."""
    if metric.basis != "census" or rule.limit not in metric.range:
        return []
    wrong = samples.filter((pl.col("amount") - rule.limit * pl.col("weight")).abs() > _EQUAL)
    return sorted(wrong.get_column("document_id").to_list())


def _proof(rule: Rule, metric: Metric, part: _Slice) -> Finding:
    """The whole interval must clear the bound; a census has no interval but its value."""
    missing = _without_data(rule, metric, part)
    if missing is not None:
        return missing
    finding, value, threshold = part.finding, _value(part), rule.limit
    sign = 1 if metric.direction == "higher" else -1
    bound = finding.low if sign > 0 else finding.high
    bound = value if bound is None else bound
    message = wording.bound(rule, metric, value, finding, part.figure)
    if sign * (bound - threshold) >= -_EQUAL:
        return replace(finding, outcome=FindingOutcome.OK, message=message)
    if sign * (value - threshold) < -_EQUAL:
        return replace(finding, outcome=FindingOutcome.BROKEN, message=message)
    needed = wording.items_to_prove(value, bound, threshold, finding.items)
    return replace(
        finding,
        outcome=FindingOutcome.UNDETERMINED,
        required=rule.severity == "fail",
        message=f"{message}; not proven with {finding.items} items, it takes about {needed}",
    )


def _losses(
    rule: Rule, metric: Metric, slices: list[_Slice], against: str, baseline: pl.DataFrame | None
) -> list[Finding]:
    """Guards and proofs against a baseline, paired by document."""
    if baseline is None:
        first = replace(blank(rule, slices[0].finding.aggregation), against=against, required=False)
        return [replace(first, outcome=FindingOutcome.FIRST_RUN, message="there is no baseline yet")]
    max_loss = rule.limit
    findings: list[Finding] = []
    tests: list[tuple[int, Paired, Demonstration]] = []
    for part in slices:
        finding = replace(part.finding, against=against)
        missing = _without_data(rule, metric, replace(part, finding=finding))
        if missing is not None:
            findings.append(missing)
            continue
        pairs = paired(metric, part.samples, baseline)
        unpaired = part.samples.height - (len(pairs.amounts) if pairs else 0)
        finding = replace(finding, unpaired=unpaired)
        if pairs is None:
            findings.append(_without_pairs(finding, part.samples, baseline))
            continue
        interval = pairs.interval(seed_of(metric)) if metric.basis == "sample" else None
        finding = replace(
            finding,
            paired=len(pairs.amounts),
            baseline_value=pairs.base_value,
            loss=pairs.loss,
            loss_low=interval.low if interval else None,
            loss_high=interval.high if interval else None,
        )
        tests.append((len(findings), pairs, pairs.test(max_loss, seed_of(metric))))
        findings.append(finding)
    p_values, level = adjusted([test for _, _, test in tests])
    for (i, pairs, _), p_value in zip(tests, p_values, strict=True):
        findings[i] = _judge_loss(rule, metric, findings[i], pairs, p_value, level)
    return findings


def _without_pairs(finding: Finding, run: pl.DataFrame, baseline: pl.DataFrame) -> Finding:
    """Nothing to compare: undetermined where the baseline knows the documents but scored them otherwise."""
    known = run.join(baseline, on=["stage", "metric", "document_id"], how="semi").height
    if known:
        message = (
            f"{counted(known, 'document')} scored otherwise in {finding.against} (other labels, or another scorer)"
        )
        return replace(finding, outcome=FindingOutcome.UNDETERMINED, message=message)
    return replace(finding, message=f"none of the {run.height} documents has this figure in {finding.against}")


def _judge_loss(rule: Rule, metric: Metric, finding: Finding, pairs: Paired, p_value: float, level: float) -> Finding:
    max_loss = rule.limit
    census = metric.basis == "census"
    beyond = pairs.loss > max_loss + _EQUAL
    if not census:
        finding = replace(finding, p_value=p_value, detectable=pairs.detectable(max_loss, level))
    outcome, note, required = FindingOutcome.OK, "", rule.required
    if beyond and (census or rule.kind == "proof" or p_value < ALPHA):
        outcome = FindingOutcome.REGRESSED
    elif beyond:
        outcome, note = FindingOutcome.UNDETERMINED, f"; not shown beyond chance (p = {p_value:.2g})"
    elif rule.kind == "proof" and finding.loss_high is not None and finding.loss_high > max_loss + _EQUAL:
        outcome, required = FindingOutcome.UNDETERMINED, rule.severity == "fail"
        needed = wording.items_to_prove(pairs.loss, finding.loss_high, max_loss, finding.paired)
        note = f"; not proven with {counted(finding.paired, 'document')}, it takes about {needed}"
    shown = outcome is FindingOutcome.REGRESSED
    message = wording.loss(metric, finding, pairs, documents_needed(level), shown=shown) + note
    return replace(finding, outcome=outcome, message=message, required=required)


def paired(metric: Metric, run: pl.DataFrame, baseline: pl.DataFrame) -> Paired | None:
    """The documents that both runs measured alike; null where there are none. See `alike`."""
    both = alike(run.with_columns(gold=pl.lit(metric.needs == "gold")), baseline).sort("document_id")
    if both.is_empty():
        return None
    sign = 1 if metric.direction == "higher" else -1
    amounts, weights = _floats(both, "amount"), _floats(both, "weight")
    return Paired(amounts, weights, _floats(both, "amount_base"), _floats(both, "weight_base"), sign)


def alike(run: pl.DataFrame, baseline: pl.DataFrame) -> pl.DataFrame:
    """Samples of two runs side by side, where a difference says something about the pipeline or the document.

    That needs the same version of the measure, and for a gold measure (column `gold`) the same labels; a document
    whose bytes changed has labels of its own for the new bytes. Otherwise it is the scorer or the gold set that
    differs, and the document is left out.
    """
    keys = ["stage", "metric", "slice_key", "slice_value", "document_id", "metric_version"]
    both = run.join(baseline, on=keys, how="inner", suffix="_base", nulls_equal=True)
    same_labels = pl.col("label_hash").eq_missing(pl.col("label_hash_base"))
    other_bytes = pl.col("content_hash").ne_missing(pl.col("content_hash_base"))
    return both.filter(~pl.col("gold") | same_labels | other_bytes)


def _floats(frame: pl.DataFrame, column: str) -> Floats:
    values: Floats = frame.get_column(column).cast(pl.Float64).to_numpy()
    return values
