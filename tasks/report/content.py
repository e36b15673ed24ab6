"""What a report says, as plain data: made once from the lake, then set as HTML and as Markdown."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from schemas.names import Cohort, StageName
from schemas.verdict import Finding, FindingOutcome, Verdict
from tasks.figures.catalogue import Catalogue, Metric
from tasks.figures.stored import read_figures
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.report.queries import connect, run_query
from tasks.report.terminal import ANSWERS, blame_lines, counts_line, finding_line, next_command, sorted_findings
from tasks.report.values import NOTHING, shown_difference, shown_interval, shown_time, shown_value

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
    StageName.EMBED: ("coverage", "truncated_rate"),
    StageName.INDEX: ("reconciliation", "completeness", "access_violations", "freshness_lag_seconds"),
}
"""Measures that stand for a stage in the overview; those whose rule is broken are added to them."""

SURVIVAL = "evidence_survival"

_BOOKKEEPING = frozenset(
    {"rows_in", "rows_out", "seconds", "quarantined", "unexpected_quarantine", "dropped", SURVIVAL}
)
_JUDGEMENTS = ("", "held", "undetermined", "warning", "drifted", "regressed", "broken")
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
class Content:
    """Everything that a report shows."""

    run_id: str
    answer: str
    meaning: str
    status: str
    counts: str
    next_command: str
    findings: tuple[tuple[str, tuple[tuple[Finding, str], ...]], ...]
    blame: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    classes: tuple[str, ...]
    passage: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    headlines: tuple[Line, ...]
    survival: tuple[Curve, ...]
    survival_stages: tuple[str, ...]
    stages: tuple[StageFigures, ...]
    quarantine: tuple[dict[str, Any], ...]
    worst: tuple[tuple[Metric, tuple[dict[str, Any], ...]], ...]
    costs: tuple[dict[str, Any], ...]
    provenance: tuple[tuple[str, str], ...]


def read_content(lake: Lake, run_id: str, catalogue: Catalogue) -> Content:
    """Collects a judged run's report from the lake.

    Raises:
        ConfigurationError: the run did not get as far as the gate.
    """
    runs = Runs(lake)
    manifest = runs.manifest(run_id)
    with connect(lake, run_id, catalogue) as connection:
        verdict = read_verdict(lake, run_id)
        figures = _figures(connection)
        live = manifest.get("baseline_run")
        baseline = _baseline_figures(lake, runs.measured_as(run_id, live) if live else None, catalogue)
        outcomes = _outcomes(verdict.reasons)
        cells = _Cells(catalogue, baseline, outcomes)
        classes = tuple(sorted({f["doc_class"] for f in figures if f["doc_class"] is not None}))
        word, meaning, _ = ANSWERS[verdict.status]
        survival_stages, survival = _survival(figures, classes, cells)
        return Content(
            run_id=run_id,
            answer=word,
            meaning=meaning,
            status=verdict.status.value,
            counts=counts_line(verdict.reasons),
            next_command=next_command(verdict),
            findings=tuple(
                (heading, tuple((finding, finding_line(finding)) for finding in found))
                for heading, found in sorted_findings(verdict)
            ),
            blame=tuple(blame_lines(verdict.blame)),
            facts=tuple(_facts(connection, manifest, verdict)),
            classes=classes,
            passage=tuple(_passage(connection, classes, verdict.reasons)),
            headlines=tuple(_headline_lines(figures, classes, cells, catalogue, verdict)),
            survival=survival,
            survival_stages=survival_stages,
            stages=tuple(_stage_figures(figures, cells, catalogue)),
            quarantine=tuple(run_query(connection, "quarantine").to_pylist()),
            worst=tuple(_worst(connection, catalogue)),
            costs=tuple(run_query(connection, "cost").to_pylist()),
            provenance=tuple(_provenance(connection, manifest, verdict)),
        )


def read_verdict(lake: Lake, run_id: str) -> Verdict:
    """The verdict of a run as it was stored.

    Raises:
        ConfigurationError: the run was not judged, or its verdict was altered.
    """
    from tasks.errors import ConfigurationError

    path = lake.run(run_id) / "verdict.json"
    if not path.exists():
        raise ConfigurationError(f"run {run_id} was not judged yet", remedy=f"judge it: corpusgate gate {run_id}")
    try:
        return Verdict.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} cannot be read as a verdict: {error}", remedy=f"judge the run again: corpusgate gate {run_id}"
        ) from error


@dataclass(frozen=True, slots=True)
class _Cells:
    catalogue: Catalogue
    baseline: Mapping[tuple[Any, ...], float | None]
    outcomes: Mapping[tuple[Any, ...], str]

    def of(self, figure: dict[str, Any] | None) -> Cell | None:
        if figure is None or not (figure["items"] or any(figure[f"n_{name}"] for name in _COUNTS)):
            return None
        unit = self.catalogue.get(figure["stage"], figure["metric"]).unit
        before = self.baseline.get(_place(figure))
        return Cell(
            value=shown_value(figure["value"], unit),
            interval=shown_interval(figure["low"], figure["high"], unit),
            items=figure["items"],
            baseline="" if before is None else shown_value(before, unit),
            difference=shown_difference(figure["value"], before, unit),
            outcome=self.outcomes.get(_place(figure), ""),
            counts=tuple((name.replace("_", " "), figure[f"n_{name}"]) for name in _COUNTS if figure[f"n_{name}"]),
        )


def _figures(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        connection.sql("SELECT * FROM figures ORDER BY stage_order(stage), metric, aggregation, doc_class NULLS FIRST")
        .to_arrow_table()
        .to_pylist()
    )
    return rows


def _baseline_figures(lake: Lake, run_id: str | None, catalogue: Catalogue) -> dict[tuple[Any, ...], float | None]:
    if run_id is None or not (lake.run(run_id) / "locations.parquet").exists():
        return {}
    return {_place(figure): figure["value"] for figure in read_figures(lake, run_id, catalogue).to_pylist()}


def _place(figure: dict[str, Any]) -> tuple[Any, ...]:
    """Where a figure stands, as findings name it: the slice is a class, a cohort or one of the measure's own."""
    if figure["doc_class"] is not None and figure["slice_key"] is None:
        sliced = ("class", figure["doc_class"])
    elif figure["cohort"] is not None and figure["slice_key"] is None:
        sliced = ("cohort", figure["cohort"])
    else:
        sliced = (figure["slice_key"], figure["slice_value"])
    return figure["stage"], figure["metric"], figure["aggregation"], *sliced, figure["doc_class"], figure["cohort"]


def _judgement(finding: Finding) -> str:
    if finding.violated:
        return finding.outcome.value if finding.severity == "fail" else "warning"
    return {FindingOutcome.OK: "held", FindingOutcome.UNDETERMINED: "undetermined"}.get(finding.outcome, "")


def _outcomes(findings: Iterable[Finding]) -> dict[tuple[Any, ...], str]:
    """The gravest judgement of the rules over each figure."""
    gravest: dict[tuple[Any, ...], str] = {}
    for finding in findings:
        doc_class = finding.slice_value if finding.slice_key == "class" else None
        cohort = finding.slice_value if finding.slice_key == "cohort" else None
        sliced = (finding.slice_key, finding.slice_value)
        place = (finding.stage, finding.metric, finding.aggregation, *sliced, doc_class, cohort)
        gravest[place] = max(gravest.get(place, ""), _judgement(finding), key=_JUDGEMENTS.index)
    return gravest


def _headline_lines(
    figures: list[dict[str, Any]], classes: tuple[str, ...], cells: _Cells, catalogue: Catalogue, verdict: Verdict
) -> Iterable[Line]:
    by_place = {(f["stage"], f["metric"], f["aggregation"], f["doc_class"]): f for f in figures if _plain(f)}
    broken = {(f.stage, f.metric) for f in verdict.reasons if f.violated}
    for stage in StageName:
        measured = [m for m in catalogue.of_stage(stage) if (stage, m.id, m.aggregation[0], None) in by_place]
        wanted = [m for m in measured if m.id in HEADLINES[stage] or (stage, m.id) in broken]
        wanted = wanted or [m for m in measured if m.id not in _BOOKKEEPING][:2]
        wanted.sort(key=lambda m: HEADLINES[stage].index(m.id) if m.id in HEADLINES[stage] else len(HEADLINES[stage]))
        for metric in wanted:
            row = [by_place.get((stage, metric.id, metric.aggregation[0], c)) for c in (None, *classes)]
            yield Line(str(stage), metric, _label(metric, metric.aggregation[0]), tuple(cells.of(f) for f in row))


def _stage_figures(figures: list[dict[str, Any]], cells: _Cells, catalogue: Catalogue) -> Iterable[StageFigures]:
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


def _survival(
    figures: list[dict[str, Any]], classes: tuple[str, ...], cells: _Cells
) -> tuple[tuple[str, ...], tuple[Curve, ...]]:
    found = {(f["stage"], f["doc_class"]): f for f in figures if f["metric"] == SURVIVAL and _plain(f)}
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


def _passage(
    connection: duckdb.DuckDBPyConnection, classes: tuple[str, ...], findings: Iterable[Finding]
) -> Iterable[tuple[str, tuple[tuple[str, str], ...]]]:
    """Per class, for each stage: documents in and out, and what its rules say (text, outcome)."""
    rows = connection.sql(
        """SELECT d.doc_class, l.stage, count(*) AS n, count(*) FILTER (l.outcome = 'ok') AS n_out,
                  count(*) FILTER (l.outcome = 'quarantined') AS failed,
                  count(*) FILTER (l.outcome = 'dropped') AS dropped
           FROM locations l JOIN documents d USING (document_id) GROUP BY ALL"""
    ).fetchall()
    counts = {(doc_class, stage): tuple(rest) for doc_class, stage, *rest in rows}
    worst: dict[tuple[str, str], str] = {}
    for finding in findings:
        if finding.slice_key == "class" and finding.slice_value is not None:
            place = (finding.slice_value, finding.stage)
            worst[place] = max(worst.get(place, ""), _judgement(finding), key=_JUDGEMENTS.index)
    known = sorted({doc_class for doc_class, _ in counts} | set(classes))
    for doc_class in known:
        cells = []
        for stage in StageName:
            n, n_out, failed, dropped = counts.get((doc_class, str(stage)), (0, 0, 0, 0))
            text = NOTHING if not n else f"{n}" if n == n_out else f"{n} → {n_out}"
            lost = [f"{count} {word}" for count, word in ((failed, "quarantined"), (dropped, "dropped")) if count]
            said = text + (f" ({', '.join(lost)})" if lost else "")
            cells.append((said, worst.get((doc_class, str(stage)), "")))
        yield doc_class, tuple(cells)


def _worst(
    connection: duckdb.DuckDBPyConnection, catalogue: Catalogue
) -> Iterable[tuple[Metric, tuple[dict[str, Any], ...]]]:
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in run_query(connection, "worst_documents", {"per_measure": 3}).to_pylist():
        unit = catalogue.get(row["stage"], row["metric"]).unit
        grouped.setdefault((row["stage"], row["metric"]), []).append(row | {"shown": shown_value(row["value"], unit)})
    for (stage, metric), rows in grouped.items():
        yield catalogue.get(stage, metric), tuple(rows)


def _facts(
    connection: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any], verdict: Verdict
) -> Iterable[tuple[str, str]]:
    cohorts = dict(connection.sql("SELECT cohort, count(*) FROM documents GROUP BY cohort").fetchall())
    present = sum(count for cohort, count in cohorts.items() if cohort != Cohort.DELETED)
    said = ", ".join(f"{cohorts[cohort]} {cohort}" for cohort in Cohort if cohort in cohorts)
    yield "Documents", f"{present} ({said})" if said else "none"
    skipped = {name: found for name, found in (manifest.get("skipped") or {}).items() if found}
    if skipped:
        yield (
            "Passed over at the sources",
            "; ".join(
                f"{name}: {', '.join(f'{count} {reason}' for reason, count in found.items())}"
                for name, found in skipped.items()
            ),
        )
    yield "Started", shown_time(manifest.get("started_at"))
    yield "Compared with", f"run {verdict.baseline} (live)" if verdict.baseline else "nothing: no index was live"
    if verdict.anchor:
        yield "Pinned anchor", f"run {verdict.anchor}"
    if manifest.get("promoted_at"):
        yield "Index", f"promoted {shown_time(manifest['promoted_at'])}"
    elif verdict.candidate is None and verdict.baseline is None:
        yield "Index", "no candidate: there was nothing to index"
    elif verdict.candidate is None:
        yield "Index", "no candidate: live already holds exactly these documents"
    elif verdict.allows_promotion:
        yield "Index", "not promoted"
    else:
        yield "Index", "not promoted: live is as it was"


def _provenance(
    connection: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any], verdict: Verdict
) -> Iterable[tuple[str, str]]:
    yield "Verdict", verdict.digest
    for name, digest in verdict.digests.items():
        yield f"Digest of {name.replace('_', ' ')}", digest or NOTHING
    yield "corpusgate", str(manifest.get("code_version", NOTHING))
    yield "Settings digest", str(manifest.get("configuration_digest", NOTHING))
    yield "Gold sets", ", ".join(manifest.get("gold_sets") or ()) or "none: measures without labels only"
    yield "Gold digest", manifest.get("gold_digest") or NOTHING
    unbound = manifest.get("labels_unbound") or {}
    yield "Labels that name no document", ", ".join(f"{name}: {n}" for name, n in unbound.items()) or "none"
    yield "Baseline", verdict.baseline or NOTHING
    if verdict.candidate:
        yield "Candidate", ", ".join(f"{key} {value}" for key, value in verdict.candidate.items())
    for what, query in _MADE_BY.items():
        made_by = connection.sql(query).fetchall()
        if made_by:
            yield what, ", ".join(f"{name} ({count} documents)" for name, count in made_by)
    for stage, base in (manifest.get("stage_bases") or {}).items():
        yield f"Key of {stage}", str(base)


_MADE_BY = {
    "Parsers": "SELECT parser || ' ' || parser_version, count(*) FROM parse GROUP BY ALL ORDER BY ALL",
    "Main text": "SELECT extractor || ' ' || extractor_version, count(*) FROM boilerplate GROUP BY ALL ORDER BY ALL",
    "Language model": "SELECT model, count(*) FROM language GROUP BY ALL ORDER BY ALL",
    "Embedding model": "SELECT model || ' ' || model_version, count(*) FROM embed GROUP BY ALL ORDER BY ALL",
}


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
