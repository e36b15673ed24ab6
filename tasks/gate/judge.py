"""Judging a run: reads the lake, decides by the rules, writes nothing."""

import hashlib
import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from schemas.verdict import Verdict
from tasks.errors import ConfigurationError, RunError
from tasks.figures.catalogue import Catalogue
from tasks.figures.samples import judged_samples
from tasks.figures.stored import read_figures
from tasks.gate.accounting import account, contract_breaches, idle_gold_sets, uncatalogued
from tasks.gate.blame import blame_documents, mark_consequences
from tasks.gate.decide import Measured, decide, status_of
from tasks.gate.drift import decide_drift, feature_values
from tasks.gate.features import FEATURES, MEASURED
from tasks.gate.rules import rules_in_force
from tasks.gate.settings import GateSettings
from tasks.gate.vector_drift import decide_vector_drift
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.lake.views import connect_run


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
    connection = connect_run(lake, run_id)
    judged = {(rule.stage.value, rule.metric) for rule in rules}
    run = Measured(read_figures(lake, run_id, catalogue), judged_samples(connection, catalogue, judged))
    live = _measured_run(lake, run_id, baseline, catalogue, judged)
    baselines = {"live": live}
    if anchor is not None:
        baselines["anchor"] = live if anchor == baseline else _measured_run(lake, run_id, anchor, catalogue, judged)

    drift_rules = [rule for rule in rules if rule.kind == "drift" and (rule.stage, rule.metric) in FEATURES]
    vector_rules = [rule for rule in rules if rule.kind == "drift" and (rule.stage, rule.metric) in MEASURED]
    values = None
    if baseline is not None:
        connect_run(lake, baseline, prefix="live_", connection=connection)
        values = {
            rule.id: feature_values(connection, FEATURES[rule.stage, rule.metric], "", "live_") for rule in drift_rules
        }
    found = [
        *account(connection),
        *uncatalogued(connection),
        *idle_gold_sets(manifest),
        *contract_breaches(connection, run.figures),
        *decide(rules, catalogue, run, baselines),
        *decide_drift(drift_rules, values),
        *decide_vector_drift(vector_rules, run.figures, baselines),
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
        blame=(*blames, *blame_documents(rules, catalogue, run, live)),
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
            remedy="give the id of the run to hold on to (corpusgate status)",
        )
    try:
        return runs.resolve(name)
    except ConfigurationError as error:
        raise ConfigurationError(f"gate.anchor: {error}", remedy=error.remedy) from error


def _measured_run(
    lake: Lake, run_id: str, baseline: str | None, catalogue: Catalogue, judged: Collection[tuple[str, str]]
) -> Measured | None:
    if baseline is None:
        return None
    name = Runs(lake).measured_as(run_id, baseline)
    if not (lake.run(name) / "locations.parquet").exists():
        raise RunError(
            f"the records of run {baseline}, the baseline, are gone from {lake.runs}",
            remedy="restore the folder of that run, or roll back to a generation whose run is kept",
        )
    with connect_run(lake, name) as connection:
        return Measured(read_figures(lake, name, catalogue), judged_samples(connection, catalogue, judged))


def _digest(value: Mapping[str, Any] | list[Any]) -> str:
    data = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(data.encode()).hexdigest()
