"""Baselines measured as the run is: where labels or scorers have changed since, by the labels and scorers of now."""

import shutil
from dataclasses import replace
from pathlib import Path

from schemas.documents import LOCATIONS
from schemas.names import StageName
from tasks.errors import CorpusgateError, RunError
from tasks.gate.judge import resolve_anchor
from tasks.lake.files import write_table
from tasks.run.configuration import StagesSettings
from tasks.run.facts import all_locations
from tasks.run.former_settings import settings_of
from tasks.run.labels import bind_labels, stored_labels
from tasks.run.registry import STAGES, scorers
from tasks.run.session import Session

_KEPT = ("manifest.json", "plan.parquet", "batches", "progress")


def measure_baselines(session: Session) -> list[str]:
    """Scores the stored outputs of live and of the anchor again where this run is not measured as they were.

    To be called once the scan is closed. Runs no stage, and leaves the baseline's own records alone: what it measures
    lies in the folder of this run, and the manifest says under `measured_as` where. A baseline that cannot be scored
    here any more (its settings are unknown to this version, its embedding model is gone) stays as it was measured, so
    that the gate finds it not comparable; the manifest says why under `not_measured_again`.

    Returns:
        A sentence for each run that was scored again or could not be.
    """
    context, runs = session.context, session.runs
    manifest = runs.manifest(context.run_id)
    live: str | None = manifest.get("baseline_run")
    anchor = resolve_anchor(runs, context.configuration.gate.anchor)
    measured_as: dict[str, str] = {}
    left: dict[str, str] = {}
    for baseline in sorted({name for name in (live, anchor) if name is not None}):
        before = runs.manifest(baseline)
        if (before.get("gold_source"), before.get("scorers")) == (manifest.get("gold_source"), scorers()):
            continue
        name = f"{context.run_id}/{baseline}"
        try:
            _score_again(session, baseline, name, settings_of(before))
        except CorpusgateError as error:
            left[baseline] = str(error)
            shutil.rmtree(context.lake.run(name), ignore_errors=True)
        else:
            measured_as[baseline] = name
    if measured_as or left:
        runs.update(context.run_id, measured_as=measured_as, not_measured_again=left)
    changed = "labels or scorers have changed: run"
    return [f"{changed} {name} was measured again by those of now" for name in measured_as] + [
        f"{changed} {name} could not be measured again ({why})" for name, why in left.items()
    ]


def _score_again(session: Session, baseline: str, name: str, stages: StagesSettings) -> None:
    context = session.context
    if "redacted_at" in session.runs.manifest(baseline):
        raise RunError(
            "the lake keeps no text of it (run.redact_only)", remedy="promote a run that is measured by these"
        )
    if not (context.lake.run(baseline) / "locations.parquet").exists():
        raise RunError("its records are gone", remedy="restore its folder in the lake")
    configuration = context.configuration.model_copy(update={"stages": stages})
    copy = Session(replace(context, run_id=name, configuration=configuration))
    for part in _KEPT:
        _copy(context.lake.run(baseline) / part, context.lake.run(name) / part)
    plan = copy.runs.plan(name)
    # A document that has changed since has labels for its new bytes, which say nothing of the old ones: there the
    # baseline's own labels stay, or no changed document could be compared.
    former = stored_labels(context.lake, copy.runs.manifest(baseline).get("gold_digest"), plan)
    labels, gold = bind_labels(configuration.gold, plan, context.lake, former=former)
    copy.runs.update(name, **gold, scorers=scorers())
    copy.use(labels)
    batches, index_is_kept = copy.batches(), copy.index_is_kept()
    for stage in StageName:
        if STAGES[stage].reads_index and not index_is_kept:
            for part in (f"scored/{stage}", f"facts/{stage}.parquet"):
                _copy(context.lake.run(baseline) / part, context.lake.run(name) / part)
        else:
            copy.score(stage, batches)
    locations = all_locations(batches).sort_by([("document_id", "ascending"), ("stage", "ascending")])
    write_table(locations, context.lake.run(name) / "locations.parquet", LOCATIONS)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
