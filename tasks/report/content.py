"""What a report says, as plain data: made once from the lake, then set as HTML and as Markdown."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from schemas.names import Cohort, StageName
from schemas.verdict import Finding, Verdict
from tasks.figures.catalogue import Catalogue, Metric
from tasks.figures.stored import read_figures
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.proposed import addressed, proposed
from tasks.report.alone import Alone, read_alone
from tasks.report.figure_lines import (
    JUDGEMENTS,
    Cells,
    Curve,
    Line,
    StageFigures,
    headline_lines,
    judgement,
    outcomes_of,
    place_of,
    stage_figures,
    survival_curves,
)
from tasks.report.queries import connect, run_query
from tasks.report.terminal import ANSWERS, blame_lines, counts_line, finding_line, next_command, sorted_findings
from tasks.report.values import NOTHING, shown_time, shown_value


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that a report shows; `config` is what the commands that it proposes are about."""

    run_id: str
    answer: str
    meaning: str
    status: str
    counts: str
    next_command: str
    config: Path | None
    findings: tuple[tuple[str, tuple[tuple[Finding, str], ...]], ...]
    blame: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    classes: tuple[str, ...]
    passage: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    headlines: tuple[Line, ...]
    survival: tuple[Curve, ...]
    survival_stages: tuple[str, ...]
    lost_evidence: tuple[dict[str, Any], ...]
    stages: tuple[StageFigures, ...]
    alone: Alone
    quarantine: tuple[dict[str, Any], ...]
    worst: tuple[tuple[Metric, tuple[dict[str, Any], ...]], ...]
    costs: tuple[dict[str, Any], ...]
    provenance: tuple[tuple[str, str], ...]

    def command(self, words: str) -> str:
        """A command about this run's corpus."""
        return proposed(words, self.config)


def read_content(lake: Lake, run_id: str, catalogue: Catalogue, config: Path | None = None) -> Content:
    """Collects a judged run's report from the lake.

    `config` is the configuration that proposed commands are about, where it is not the one that the run was started
    with.

    Raises:
        ConfigurationError: the run did not get as far as the gate.
    """
    runs = Runs(lake)
    manifest = runs.manifest(run_id)
    config = config or runs.configuration_file(run_id)
    with connect(lake, run_id, catalogue, sparing=True) as connection:
        verdict = read_verdict(lake, run_id)
        figures = _figures(connection)
        live = manifest.get("baseline_run")
        baseline = _baseline_figures(lake, runs.measured_as(run_id, live) if live else None, catalogue)
        outcomes = outcomes_of(verdict.reasons)
        cells = Cells(catalogue, baseline, outcomes)
        classes = tuple(sorted({f["doc_class"] for f in figures if f["doc_class"] is not None}))
        word, meaning, _ = ANSWERS[verdict.status]
        survival_stages, survival = survival_curves(figures, classes, cells)
        return Content(
            run_id=run_id,
            answer=word,
            meaning=meaning,
            status=verdict.status.value,
            counts=counts_line(verdict.reasons),
            next_command=next_command(verdict, config),
            config=config,
            findings=tuple(
                (heading, tuple((finding, addressed(finding_line(finding), config)) for finding in found))
                for heading, found in sorted_findings(verdict)
            ),
            blame=tuple(blame_lines(verdict.blame)),
            facts=tuple(_facts(connection, manifest, verdict)),
            classes=classes,
            passage=tuple(_passage(connection, classes, verdict.reasons)),
            headlines=tuple(headline_lines(figures, classes, cells, catalogue, verdict)),
            survival=survival,
            survival_stages=survival_stages,
            lost_evidence=tuple(run_query(connection, "evidence_lost").to_pylist()) if survival else (),
            stages=tuple(stage_figures(figures, cells, catalogue)),
            alone=read_alone(lake, run_id, catalogue, connection),
            quarantine=tuple(_quarantine(connection, config)),
            worst=tuple(_worst(connection, catalogue, figures)),
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
        raise ConfigurationError(f"run {run_id} was not judged yet", remedy=f"judge it: `corpusgate gate {run_id}`")
    try:
        return Verdict.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} cannot be read as a verdict: {error}", remedy=f"judge the run again: `corpusgate gate {run_id}`"
        ) from error


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
    return {place_of(figure): figure["value"] for figure in read_figures(lake, run_id, catalogue).to_pylist()}


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
            worst[place] = max(worst.get(place, ""), judgement(finding), key=JUDGEMENTS.index)
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
    connection: duckdb.DuckDBPyConnection, catalogue: Catalogue, figures: Iterable[Mapping[str, Any]]
) -> Iterable[tuple[Metric, tuple[dict[str, Any], ...]]]:
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    measured = {
        figure["stage"] for figure in figures if catalogue.get(figure["stage"], figure["metric"]).needs == "gold"
    }
    # Stage by stage: the query weighs every document in every measure that it is asked for.
    for stage in filter(measured.__contains__, StageName):
        for row in run_query(connection, "worst_documents", {"per_measure": 3, "stage": stage.value}).to_pylist():
            place = row["stage"], row["metric"]
            row["shown"] = shown_value(row["value"], catalogue.get(*place).unit)
            grouped.setdefault(place, []).append(row)
    for place, rows in grouped.items():
        yield catalogue.get(*place), tuple(rows)


def _quarantine(connection: duckdb.DuckDBPyConnection, config: Path | None) -> Iterable[dict[str, Any]]:
    for row in run_query(connection, "quarantine").to_pylist():
        yield row | {"remedy": row["remedy"] and addressed(row["remedy"], config)}


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
    yield (
        "Compared with",
        f"run {verdict.baseline} (live){_measured_again(manifest, verdict.baseline)}"
        if verdict.baseline
        else "nothing: no index was live",
    )
    if verdict.anchor:
        yield "Pinned anchor", f"run {verdict.anchor}{_measured_again(manifest, verdict.anchor)}"
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


def _measured_again(manifest: Mapping[str, Any], baseline: str) -> str:
    if baseline in manifest.get("measured_as", {}):
        return ", measured again by the labels and scorers of this run"
    why = manifest.get("not_measured_again", {}).get(baseline)
    return f", by other labels or scorers: it could not be measured again ({why})" if why else ""


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
    if bad := manifest.get("gold_bad_rows"):
        yield "Bad rows left out of gold sets", ", ".join(f"{name}: {n}" for name, n in bad.items())
    unbound = manifest.get("labels_unbound") or {}
    yield "Labels that name no document", ", ".join(f"{name}: {n}" for name, n in unbound.items()) or "none"
    stale = manifest.get("labels_stale") or {}
    yield "Labels made for other versions", ", ".join(f"{kind}: {n}" for kind, n in stale.items()) or "none"
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
