"""Judging a run: reads the lake, decides by the rules, writes nothing."""

import hashlib
import json
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from schemas.names import Cohort
from schemas.verdict import Finding, Verdict
from tasks.errors import ConfigurationError, RunError
from tasks.figures.catalogue import Catalogue
from tasks.figures.samples import add_catalogue
from tasks.figures.stored import read_figures, read_samples
from tasks.gate.accounting import account, changed_outputs, contract_breaches, uncatalogued
from tasks.gate.blame import NO_LOSSES, blame_documents, document_losses, mark_consequences
from tasks.gate.decide import Measured, decide, status_of
from tasks.gate.drift import Values, decide_drift, feature_values
from tasks.gate.features import FEATURES, MEASURED
from tasks.gate.labels import idle_gold_sets, stale_labels, unbound_quotes, unlike_baselines
from tasks.gate.rules import rules_in_force
from tasks.gate.settings import GateSettings, Rule
from tasks.gate.vector_drift import decide_vector_drift
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.lake.views import connect_run

_PLACE = ("stage", "metric")


def judge(lake: Lake, run_id: str, settings: GateSettings, catalogue: Catalogue) -> Verdict:
    """Judges a run by its rules, against what was live when it was planned and against the pinned anchor.

    Raises:
        ConfigurationError: a rule names what does not exist, or the anchor is no run of this lake.
        RunError: the baseline's records are gone.
    """
    rules = rules_in_force(settings, catalogue)
    runs = Runs(lake)
    manifest = runs.manifest(run_id)
    baseline: str | None = manifest.get("baseline_run")
    anchor = resolve_anchor(runs, settings.anchor)
    with connect_run(lake, run_id, stages=()) as connection:
        measured = _Measures(lake, run_id, read_figures(lake, run_id, catalogue))
        names = {"live": baseline} if anchor is None else {"live": baseline, "anchor": anchor}
        baselines = {name: _baseline(lake, run_id, other, catalogue) for name, other in names.items()}
        decided, losses = _decide(rules, catalogue, measured, baselines)

        drift_rules = [rule for rule in rules if rule.kind == "drift" and (rule.stage, rule.metric) in FEATURES]
        vector_rules = [rule for rule in rules if rule.kind == "drift" and (rule.stage, rule.metric) in MEASURED]
        values = None if baseline is None else _features(connection, lake, run_id, baseline, drift_rules)
        add_catalogue(connection, catalogue)
        found = [
            *account(connection),
            *uncatalogued(connection),
            *idle_gold_sets(manifest),
            *stale_labels(manifest),
            *unbound_quotes(connection, run_id),
            *unlike_baselines(manifest),
            *changed_outputs(manifest),
            *contract_breaches(connection, measured.figures),
            *decided,
            *decide_drift(drift_rules, values),
            *decide_vector_drift(vector_rules, measured.figures, baselines),
        ]
    findings, blames = mark_consequences(found)
    candidate = manifest.get("candidate")
    return Verdict(
        status=status_of(findings),
        run_id=run_id,
        candidate=candidate,
        baseline=baseline,
        anchor=anchor,
        digests={
            "gold": manifest.get("gold_digest"),
            "rules": _digest([rule.model_dump(mode="json") for rule in rules]),
            "code": manifest.get("code_digest"),
            "candidate": _digest(candidate) if candidate else None,
            "configuration": manifest.get("configuration_digest"),
        },
        reasons=tuple(findings),
        blame=(*blames, *blame_documents(losses)),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def resolve_anchor(runs: Runs, name: str | None) -> str | None:
    """The run that is pinned as a second baseline; null where none is.

    Raises:
        ConfigurationError: it names no run of this lake, or not one and the same run for ever.
    """
    if name is None:
        return None
    if name == "last":
        raise ConfigurationError(
            "gate.anchor: `last` moves on with every run, so that nothing would be compared with what was pinned",
            remedy="give the id of the run to hold on to (`corpusgate status`)",
        )
    try:
        return runs.resolve(name)
    except ConfigurationError as error:
        raise ConfigurationError(f"gate.anchor: {error}", remedy=error.remedy) from error


@dataclass(frozen=True, slots=True)
class _Measures:
    """Where a run's measures are read from, and its figures."""

    lake: Lake
    run_id: str
    figures: pa.Table

    def parts(self, catalogue: Catalogue, judged: Collection[tuple[str, str]]) -> Generator[tuple[str, str, Measured]]:
        """Stage, measure and what was measured, measure by measure, in an order that is the same for every run."""
        rows: dict[tuple[str, str], list[int]] = {}
        for i, place in enumerate(zip(*(self.figures.column(name).to_pylist() for name in _PLACE), strict=True)):
            rows.setdefault(place, []).append(i)
        for stage, metric, samples in read_samples(self.lake, self.run_id, catalogue, judged):
            here = pa.array(rows.get((stage, metric), []), pa.int64())
            yield stage, metric, Measured(self.figures.take(here), samples)


def _decide(
    rules: Sequence[Rule], catalogue: Catalogue, run: _Measures, baselines: Mapping[str, _Measures | None]
) -> tuple[list[Finding], pl.DataFrame]:
    """The findings of `decide` in the order of the rules, and the documents' losses against live.

    One measure at a time, so that memory holds the documents' part in one and never in all that are judged.
    """
    judged = {(rule.stage.value, rule.metric) for rule in rules if rule.kind != "drift"}
    findings: dict[str, list[Finding]] = {rule.id: [] for rule in rules}
    losses = [NO_LOSSES]
    with ExitStack() as opened:
        parts = {
            name: opened.enter_context(closing(base.parts(catalogue, judged))) if base else None
            for name, base in baselines.items()
        }
        for stage, metric, here in opened.enter_context(closing(run.parts(catalogue, judged))):
            watching = [rule for rule in rules if (rule.stage, rule.metric) == (stage, metric)]
            bases = {name: next(part)[2] if part else None for name, part in parts.items()}
            for finding in decide(watching, catalogue, here, bases):
                findings[finding.rule].append(finding)
            if bases["live"] is not None:
                losses.append(document_losses(watching, catalogue, here, bases["live"]))
    return [finding for of_rule in findings.values() for finding in of_rule], pl.concat(losses)


def _features(
    connection: duckdb.DuckDBPyConnection, lake: Lake, run_id: str, baseline: str, rules: Sequence[Rule]
) -> Mapping[str, Values]:
    """By drift rule, what `feature_values` finds; nothing where no document is new or changed."""
    fresh = f"SELECT 1 FROM documents WHERE cohort IN ('{Cohort.NEW}', '{Cohort.CHANGED}') LIMIT 1"  # noqa: S608
    if not connection.sql(fresh).fetchall():
        return {rule.id: {} for rule in rules}
    features = {rule.id: FEATURES[rule.stage, rule.metric] for rule in rules}
    stages = sorted({stage for feature in features.values() for stage in feature.rows_of})
    for prefix, read in (("new_", run_id), ("live_", baseline)):
        connect_run(lake, read, prefix=prefix, connection=connection, stages=stages)
    return {rule_id: feature_values(connection, feature, "new_", "live_") for rule_id, feature in features.items()}


def _baseline(lake: Lake, run_id: str, baseline: str | None, catalogue: Catalogue) -> _Measures | None:
    if baseline is None:
        return None
    name = Runs(lake).measured_as(run_id, baseline)
    if not (lake.run(name) / "locations.parquet").exists():
        raise RunError(
            f"the records of run {baseline}, the baseline, are gone from {lake.runs}",
            remedy="restore the folder of that run, or roll back to a generation whose run is kept",
        )
    return _Measures(lake, name, read_figures(lake, name, catalogue))


def _digest(value: Mapping[str, Any] | list[Any]) -> str:
    data = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(data.encode()).hexdigest()
