"""The whole engine in this process, without Prefect: plan, eleven stages, evaluators, gate, promotion, report."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from flows.launch import open_context
from schemas.names import StageName
from schemas.stages import STAGE_OUTPUTS
from schemas.verdict import Verdict
from tasks.embedding.models import embedding_model
from tasks.gate.rules import rules_in_force
from tasks.index.search import LanceView
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.packed import read_stored
from tasks.lake.quarantine import Quarantine
from tasks.run.baselines import measure_baselines
from tasks.run.configuration import Configuration, load_configuration
from tasks.run.context import BatchRef, RunContext, Silent
from tasks.run.deduplicate import decide_corpus, sign_batch
from tasks.run.execute import run_stage
from tasks.run.facts import all_locations
from tasks.run.fetching import run_fetch
from tasks.run.indexing import build_candidate, open_index
from tasks.run.options import WHOLE, RunOptions
from tasks.run.session import Session
from tasks.run.upkeep import look_after


@dataclass(frozen=True)
class ScoredRun:
    """What the stages of one run did, by the path of a document in its source."""

    session: Session
    locations: Mapping[str, Mapping[StageName, dict[str, Any]]]

    def outcome(self, path: str) -> tuple[str, StageName]:
        """`ok`, `dropped` or `quarantined`, and the last stage that the document came to."""
        stages = self.locations[path]
        last = [stage for stage in StageName if stage in stages][-1]
        return str(stages[last]["outcome"]), last

    def row(self, path: str, stage: StageName) -> dict[str, Any] | None:
        """A stage's row of a document; none where it made none."""
        place = self.locations[path].get(stage)
        if place is None or place["file"] is None:
            return None
        lake, ids = self.session.context.lake, [place["document_id"]]
        (row,) = read_stored(lake, place["file"], STAGE_OUTPUTS[stage], document_ids=ids).to_pylist()
        return dict(row)


@dataclass(frozen=True)
class EngineRun(ScoredRun):
    """What one run did from plan to promotion."""

    verdict: Verdict
    promotion: str

    def moved(self, configuration: Configuration) -> "EngineRun":
        """The same run in a copy of its lake, by the configuration of that copy."""
        lake = Lake(configuration.lake)
        run_id = self.session.context.run_id
        context = RunContext(run_id, configuration, lake, Ledger(lake.ledger), Quarantine(lake.quarantine))
        return EngineRun(Session(context), self.locations, self.verdict, self.promotion)

    @cached_property
    def live(self) -> LanceView:
        """The live generation."""
        view = open_index(self.session.context).open_live()
        assert view is not None, self.promotion
        return view

    @cached_property
    def live_rows(self) -> dict[str, dict[str, Any]]:
        """Rows of the live generation by chunk id."""
        parts = self.live.rows(["chunk_id", "text", "uri", "document_id"])
        return {row["chunk_id"]: row for part in parts for row in part.to_pylist()}

    def found(self, query: str, k: int, *, by: str) -> list[dict[str, Any]]:
        """The best `k` chunks of a `keyword` or a `vector` search of the live generation."""
        if by == "keyword":
            hits = self.live.search_text(query, k)
        else:
            model = embedding_model(self.session.context.configuration.stages.embed)
            hits = self.live.search_vector(model.embed([query], query=True).vectors[0].tolist(), k, exact=True)
        return [self.live_rows[chunk_id] for chunk_id, _ in hits]


def parse_documents(
    configuration: Configuration, options: RunOptions = WHOLE, *, config: Path | None = None
) -> tuple[Session, list[BatchRef]]:
    """Begins a run: plan, fetch, parse. Left at that, it is a run that was ended there."""
    lake = Lake(configuration.lake)
    lake.create()
    context = open_context(configuration, lake, Silent(), options=options, config=config)
    session = Session(context)
    batches = [run_fetch(context, batch) for batch in session.plan()]
    return session, [run_stage(context, StageName.PARSE, batch) for batch in batches]


def run_stages(
    configuration: Configuration | Path, options: RunOptions = WHOLE, *, measured: bool = True
) -> tuple[Session, list[BatchRef]]:
    """Runs a configuration from plan to candidate: nothing is scored, judged or promoted.

    Of what is live, the measures that the run would be held against are taken if it is to be `measured`.
    """
    config = configuration if isinstance(configuration, Path) else None
    if isinstance(configuration, Path):
        configuration = load_configuration(configuration)
    session, batches = parse_documents(configuration, options, config=config)
    context = session.context
    for stage in (StageName.BOILERPLATE, StageName.NORMALIZE, StageName.LANGUAGE):
        batches = [run_stage(context, stage, batch) for batch in batches]
    session.close_scan(batches)
    if measured:
        measure_baselines(session)
    batches = decide_corpus(context, [sign_batch(context, batch) for batch in batches])
    for stage in (StageName.PII, StageName.CHUNK, StageName.METADATA, StageName.EMBED, StageName.INDEX):
        batches = [run_stage(context, stage, batch) for batch in batches]
    session.built = build_candidate(context, batches)
    return session, batches


def judge_stages(configuration: Configuration | Path) -> ScoredRun:
    """Runs a configuration from plan to verdict: nothing is promoted or reported."""
    session, batches = run_stages(configuration)
    for stage in StageName:
        session.evaluate(stage, batches)
    session.judge(batches)
    return ScoredRun(session, _by_path(session, batches))


def run_engine(configuration: Configuration | Path, options: RunOptions = WHOLE, *, measured: bool = True) -> EngineRun:
    """Runs a configuration from plan to report.

    One that is not `measured` has no figures and no report, which is more than half of the work: its candidate goes
    live unless nothing changed, whatever the gate would say. For runs that make the lake with which a test begins, and
    where only what became of documents is looked at.
    """
    session, batches = run_stages(configuration, options, measured=measured)
    context = session.context
    for stage in StageName if measured else ():
        session.evaluate(stage, batches)
    if not measured:
        session.context = _without_rules(session)
    verdict = session.judge(batches)
    session.context = context
    promotion = session.promote(verdict) if measured else _go_live(session, verdict)
    if measured:
        session.report()
    session.runs.update(context.run_id, status="finished", finished_at=datetime.now(UTC).isoformat())
    look_after(context)
    return EngineRun(session, _by_path(session, batches), verdict, promotion)


def _by_path(session: Session, batches: list[BatchRef]) -> dict[str, dict[StageName, dict[str, Any]]]:
    uris = {row["document_id"]: row["uri"] for row in session.runs.plan(session.context.run_id).to_pylist()}
    locations: dict[str, dict[StageName, dict[str, Any]]] = {}
    for row in all_locations(batches).to_pylist():
        locations.setdefault(uris[row["document_id"]], {})[StageName(row["stage"])] = row
    return locations


def _without_rules(session: Session) -> RunContext:
    """The run's surroundings with a gate that only asks whether every document is accounted for."""
    configuration = session.context.configuration
    every = tuple(rule.id for rule in rules_in_force(configuration.gate, session.catalogue))
    gate = configuration.gate.model_copy(update={"disabled": (*configuration.gate.disabled, *every)})
    return replace(session.context, configuration=configuration.model_copy(update={"gate": gate}))


def _go_live(session: Session, verdict: Verdict) -> str:
    """Promotion without the gate and without figures of how long it took."""
    if session.built is None:
        return session.promote(verdict)
    built, index = session.built, open_index(session.context)
    live = index.flip(built.generation, expected=built.baseline, verdict_digest=verdict.digest)
    session.runs.update(session.context.run_id, promoted_at=live.flipped_at.isoformat())
    return f"live without being measured: {built.rows} chunks"
