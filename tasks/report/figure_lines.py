"""Figures as a report shows them: cells beside live's value, in lines by measure, by stage, and as curves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.names import StageName
from schemas.verdict import Finding, FindingOutcome, Verdict
from tasks.figures.catalogue import Catalogue, Metric
from tasks.report.values import shown_difference, shown_interval, shown_value

_SINCE_LIVE = ("drift_classifier_auc", "drift_mmd_p", "neighbour_stability")
"""Measures that hold a run against live, of which those of a class stand in a slice of their own."""

_BY_CLASS = "class_since_live"

HEADLINES: Mapping[StageName, tuple[str, ...]] = {
    StageName.FETCH: ("success_rate", "media_type_mismatch"),
    StageName.PARSE: ("cer", "teds", "page_completeness", "garbage_ratio"),
    StageName.BOILERPLATE: ("content_f1", "must_keep_recall", "kept_ratio"),
    StageName.NORMALIZE: ("idempotence", "mojibake_rate", "invisible_characters"),
    StageName.LANGUAGE: ("language_accuracy", "unknown_rate"),
    StageName.DEDUP: ("pair_f1", "false_merge_rate", "duplicate_rate"),
    StageName.PII: ("pii_recall", "pii_precision", "residual_pii", "unsupported_language"),
    StageName.CHUNK: ("attribution_completeness", "conservation", "evidence_recall", "structure_cuts"),
    StageName.METADATA: ("title_exact", "author_f1", "date_accuracy"),
    StageName.EMBED: ("coverage", "truncated_rate", *_SINCE_LIVE),
    StageName.INDEX: ("reconciliation", "completeness", "access_violations", "freshness_lag_seconds"),
}
"""Measures that stand for a stage in the overview; those whose rule is broken are added to them."""

SURVIVAL = "evidence_survival"

_BOOKKEEPING = frozenset(
    {"rows_in", "rows_out", "seconds", "quarantined", "unexpected_quarantine", "dropped", SURVIVAL}
)
JUDGEMENTS = ("", "held", "undetermined", "warning", "drifted", "regressed", "broken")
"""What rules say of a figure, from mildest to gravest; empty where no rule could judge it."""

_COUNTS = ("missing", "invalid", "not_applicable", "stale_label", "lost_upstream")


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure as it is shown. `outcome` is what the rules say of it, empty where none judges it."""

    value: str
    interval: str
    items: int
    baseline: str
    difference: str
    outcome: str
    counts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A measure and its cells, one per column of a table (null: nothing to show)."""

    stage: str
    metric: Metric
    label: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """How much evidence of a class is left after each stage; `points` are a line for a drawing 100 wide and high."""

    name: str
    cells: tuple[Cell | None, ...]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class StageFigures:
    """All figures of a stage: the headline of each measure, and its parts (class, cohort, own slice)."""

    stage: str
    headlines: tuple[Line, ...]
    parts: tuple[tuple[str, Line], ...]
    metrics: tuple[Metric, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """Makes cells: the catalogue, live's values and what the rules say, both by `place_of`."""

    catalogue: Catalogue
    baseline: Mapping[tuple[Any, ...], float | None]
    outcomes: Mapping[tuple[Any, ...], str]

    def of(self, figure: dict[str, Any] | None) -> Cell | None:
        """The cell of a `FIGURES` row; null where there is none or it counts nothing."""
        if figure is None or not (figure["items"] or any(figure[f"n_{name}"] for name in _COUNTS)):
            return None
        unit = self.catalogue.get(figure["stage"], figure["metric"]).unit
        before = self.baseline.get(place_of(figure))
        return Cell(
            value=shown_value(figure["value"], unit),
            interval=shown_interval(figure["low"], figure["high"], unit),
            items=figure["items"],
            baseline="" if before is None else shown_value(before, unit),
            difference=shown_difference(figure["value"], before, unit),
            outcome=self.outcomes.get(place_of(figure), ""),
            counts=tuple((name.replace("_", " "), figure[f"n_{name}"]) for name in _COUNTS if figure[f"n_{name}"]),
        )


def place_of(figure: dict[str, Any]) -> tuple[Any, ...]:
    """Where a figure stands, as findings name it: the slice is a class, a cohort or one of the measure's own."""
    if figure["doc_class"] is not None and figure["slice_key"] is None:
        sliced = ("class", figure["doc_class"])
    elif figure["cohort"] is not None and figure["slice_key"] is None:
        sliced = ("cohort", figure["cohort"])
    else:
        sliced = (figure["slice_key"], figure["slice_value"])
    return figure["stage"], figure["metric"], figure["aggregation"], *sliced, figure["doc_class"], figure["cohort"]


def judgement(finding: Finding) -> str:
    """One of `JUDGEMENTS`."""
    if finding.violated:
        return finding.outcome.value if finding.severity == "fail" else "warning"
    return {FindingOutcome.OK: "held", FindingOutcome.UNDETERMINED: "undetermined"}.get(finding.outcome, "")


def outcomes_of(findings: Iterable[Finding]) -> dict[tuple[Any, ...], str]:
    """The gravest judgement of the rules over each figure."""
    gravest: dict[tuple[Any, ...], str] = {}
    for finding in findings:
        doc_class = finding.slice_value if finding.slice_key == "class" else None
        cohort = finding.slice_value if finding.slice_key == "cohort" else None
        sliced = (finding.slice_key, finding.slice_value)
        place = (finding.stage, finding.metric, finding.aggregation, *sliced, doc_class, cohort)
        gravest[place] = max(gravest.get(place, ""), judgement(finding), key=JUDGEMENTS.index)
    return gravest


def headline_lines(
    figures: list[dict[str, Any]], classes: tuple[str, ...], cells: Cells, catalogue: Catalogue, verdict: Verdict
) -> Iterable[Line]:
    """The measures that stand for each stage, over all documents and by class."""
    by_place = {(f["stage"], f["metric"], f["aggregation"], f["doc_class"]): f for f in figures if _plain(f)}
    by_place |= {
        (f["stage"], f["metric"], f["aggregation"], f["slice_value"]): f
        for f in figures
        if f["slice_key"] == _BY_CLASS and f["doc_class"] is None and f["cohort"] is None
    }
    broken = {(f.stage, f.metric) for f in verdict.reasons if f.violated}
    for stage in StageName:
        measured = [m for m in catalogue.of_stage(stage) if (stage, m.id, m.aggregation[0], None) in by_place]
        wanted = [m for m in measured if m.id in HEADLINES[stage] or (stage, m.id) in broken]
        wanted = wanted or [m for m in measured if m.id not in _BOOKKEEPING][:2]
        wanted.sort(key=lambda m: HEADLINES[stage].index(m.id) if m.id in HEADLINES[stage] else len(HEADLINES[stage]))
        for metric in wanted:
            row = [by_place.get((stage, metric.id, metric.aggregation[0], c)) for c in (None, *classes)]
            yield Line(str(stage), metric, _label(metric, metric.aggregation[0]), tuple(cells.of(f) for f in row))


def stage_figures(figures: list[dict[str, Any]], cells: Cells, catalogue: Catalogue) -> Iterable[StageFigures]:
    """Every figure that counts anything, stage by stage."""
    for stage in StageName:
        here = [f for f in figures if f["stage"] == stage]
        headlines, parts = [], []
        for figure in here:
            cell = cells.of(figure)
            if cell is None:
                continue
            metric = catalogue.get(stage, figure["metric"])
            line = Line(str(stage), metric, _label(metric, figure["aggregation"]), (cell,))
            where = _where(figure)
            if where:
                parts.append((where, line))
            else:
                headlines.append(line)
        used = {line.metric.id for line in headlines}
        metrics = tuple(metric for metric in catalogue.of_stage(stage) if metric.id in used)
        yield StageFigures(str(stage), tuple(headlines), tuple(parts), metrics)


def survival_curves(
    figures: list[dict[str, Any]], classes: tuple[str, ...], cells: Cells
) -> tuple[tuple[str, ...], tuple[Curve, ...]]:
    """The stages at which the survival of evidence was measured, and a curve over them for each class."""
    found = {(f["stage"], f["doc_class"]): f for f in figures if f["metric"] == SURVIVAL and _plain(f) and f["items"]}
    stages = tuple(str(stage) for stage in StageName if (stage, None) in found)
    curves = []
    for name in (None, *classes):
        row = [found.get((stage, name)) for stage in stages]
        shares = [figure["value"] if figure else None for figure in row]
        step = 100 / max(1, len(stages) - 1)
        points = [(round(i * step, 1), round(100 - 100 * v, 1)) for i, v in enumerate(shares) if v is not None]
        if points:
            curves.append(Curve(name or "all documents", tuple(cells.of(figure) for figure in row), tuple(points)))
    return stages, tuple(curves)


def _plain(figure: dict[str, Any]) -> bool:
    return figure["cohort"] is None and figure["slice_key"] is None


def _label(metric: Metric, aggregation: str) -> str:
    return metric.title if len(metric.aggregation) == 1 else f"{metric.title} ({aggregation})"


def _where(figure: dict[str, Any]) -> str:
    parts = [
        f"class {figure['doc_class']}" if figure["doc_class"] is not None else "",
        f"cohort {figure['cohort']}" if figure["cohort"] is not None else "",
        f"{figure['slice_key']} {figure['slice_value']}" if figure["slice_key"] is not None else "",
    ]
    return ", ".join(part for part in parts if part)
