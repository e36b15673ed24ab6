"""Taking a corpus through the points of a sweep, without Prefect: the same stages, keys and ledger as a run's."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, TypeAlias

from schemas.names import StageName
from tasks.errors import ConfigurationError
from tasks.gold.labels import Labels
from tasks.lake.layout import SWEEP, Lake
from tasks.lake.ledger import Ledger
from tasks.lake.quarantine import Quarantine
from tasks.lake.runs import Runs, new_run_id
from tasks.run.configuration import Configuration
from tasks.run.context import BatchRef, Progress, RunContext
from tasks.run.deduplicate import decide_corpus, sign_batch
from tasks.run.execute import run_stage
from tasks.run.facts import stage_locations
from tasks.run.labels import bind_labels
from tasks.run.session import Session
from tasks.sweep.order import Order

Shown: TypeAlias = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of a part of the sweep, given its title."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a point: where its records are, what of it was computed now, and how long that took.

    `computed` counts stage outputs of documents that no run or sweep had made before, `reused` those that one had.
    """

    run_id: str
    computed: int
    reused: int
    seconds: float
    batches: tuple[BatchRef, ...]


@dataclass(frozen=True, slots=True)
class Driven:
    """A sweep that went through."""

    sweep_id: str
    source_run: str
    started: datetime
    documents: int
    shared_computed: int
    gold: dict[str, Any]
    done: tuple[Done, ...]


def source_run(lake: Lake, name: str) -> str:
    """The run whose documents are swept: the one named, or with `last` the newest that finished.

    Raises:
        ConfigurationError: there is none.
    """
    runs = Runs(lake)
    if name == "last":
        for run_id in reversed(runs.ids()):
            if runs.manifest(run_id).get("status") == "finished":
                return run_id
        raise ConfigurationError(
            f"no run of {lake.root} has finished, so there is no corpus to sweep over", remedy="`corpusgate run`"
        )
    run_id = runs.resolve(name)
    if not (lake.run(run_id) / "locations.parquet").exists():
        raise ConfigurationError(
            f"run {run_id} did not finish, so it has no corpus to sweep over", remedy="name one that did, or finish it"
        )
    return run_id


def drive(order: Order, lake: Lake, run_id: str, shown: Shown) -> Driven:
    """Takes the documents of a finished run through every point; this process must hold the lake.

    What is done under the same keys, by a run or by another sweep, is not computed again. Nothing is judged, no index
    is built, no source is asked; what a run or live has is not touched.
    """
    started = datetime.now(UTC)
    sweep_id = f"{SWEEP}{new_run_id(started)}"
    ledger = Ledger(lake.ledger)
    ledger.compact()
    quarantine = Quarantine(lake.quarantine)

    def context(number: int, configuration: Configuration, progress: Progress) -> RunContext:
        name = f"{sweep_id}.{number:03d}"
        Runs(lake).update(name, source_run=run_id, started_at=started.isoformat())
        return RunContext(name, configuration, lake, ledger, quarantine, progress)

    stages = list(StageName)
    before = stages[1 : stages.index(order.first)]
    differing = stages[stages.index(order.first) : stages.index(order.last) + 1]
    with shown("what all points share") as progress:
        shared = context(0, order.configurations[0], progress)
        batches = _fetched(shared, run_id)
        plan = Runs(lake).plan(run_id)
        documents = sum(batch.read_documents().num_rows for batch in batches)
        progress.expect(documents, len(batches))
        batches = _through(shared, before, batches)
    labels, gold = bind_labels(order.configurations[0].gold, plan, lake)
    done = []
    for point, configuration in zip(order.points, order.configurations, strict=True):
        clock = time.perf_counter()
        with shown(f"point {point.number} of {len(order.points)}: {point.label}") as progress:
            progress.expect(documents, len(batches))
            at = context(point.number, configuration, progress)
            made = _through(at, differing, batches)
            session = Session(at)
            session.runs.update(at.run_id, setting=point.label, **gold)
            session.runs.write_plan(at.run_id, plan)
            _score(session, labels, order, made)
        computed, reused = _counted(made, differing)
        done.append(Done(at.run_id, computed, reused, time.perf_counter() - clock, tuple(made)))
    return Driven(sweep_id, run_id, started, documents, _counted(batches, before)[0], gold, tuple(done))


def _fetched(context: RunContext, run_id: str) -> list[BatchRef]:
    """The run's batches as they stood once their bytes were in the lake."""
    source = Session(replace(context, run_id=run_id))
    return [
        BatchRef(batch.number, batch.documents, {StageName.FETCH: batch.locations[StageName.FETCH]})
        for batch in source.batches()
    ]


def _through(context: RunContext, stages: Sequence[StageName], batches: Sequence[BatchRef]) -> list[BatchRef]:
    """The batches after these stages, as many at a time as the configuration has workers."""
    made = list(batches)
    with ThreadPoolExecutor(context.configuration.run.workers) as pool:
        for barrier, part in groupby(stages, lambda stage: stage is StageName.DEDUP):
            if barrier:
                made = decide_corpus(context, list(pool.map(lambda batch: sign_batch(context, batch), made)))
                continue
            names = tuple(part)

            def chain(batch: BatchRef, names: tuple[StageName, ...] = names) -> BatchRef:
                for name in names:
                    batch = run_stage(context, name, batch)
                return batch

            made = list(pool.map(chain, made))
    return made


def _score(session: Session, labels: Labels, order: Order, batches: Sequence[BatchRef]) -> None:
    session.use(labels)
    for stage in StageName:
        if any(chosen.stage is stage for chosen in order.measures):
            session.score(stage, batches)


def _counted(batches: Sequence[BatchRef], stages: Sequence[StageName]) -> tuple[int, int]:
    computed = total = 0
    for stage in stages:
        flags = stage_locations(batches, stage).column("computed").to_pylist()
        computed, total = computed + sum(flags), total + len(flags)
    return computed, total - computed
