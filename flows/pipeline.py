"""The flow of a run: plan, a sub-flow per segment, eleven evaluators, gate, promote."""

from collections.abc import Iterator, Sequence
from typing import Any

from prefect import flow, get_run_logger
from prefect.futures import PrefectFuture
from prefect.task_runners import ThreadPoolTaskRunner

from flows import tasks
from flows.graph import SEGMENTS, Segment, evaluated_after
from flows.session import session
from schemas.names import StageName
from schemas.verdict import Verdict
from tasks.run.baselines import measure_baselines
from tasks.run.context import BatchRef

_OPTIONS: dict[str, Any] = {"validate_parameters": False, "persist_result": False}


_ONE_AFTER_THE_OTHER: Any = ThreadPoolTaskRunner(max_workers=1)
"""For evaluators beside the segments: several at a time would each hold the measures of many documents."""


@flow(name="corpusgate run", flow_run_name="{run_id}", task_runner=_ONE_AFTER_THE_OTHER, **_OPTIONS)
def ingest(run_id: str) -> Verdict:
    """One run from plan to promotion. Raises what any node raised; nothing is taken from Prefect's own tables."""
    workers = session(run_id).context.configuration.run.workers
    batches = tasks.plan(run_id)
    evaluations: list[PrefectFuture[None]] = []
    for part in SEGMENTS:
        if part.alone:
            _through_all(evaluations)
        runner: Any = ThreadPoolTaskRunner(max_workers=workers)
        batches = segment.with_options(name=part.name, flow_run_name=part.name, task_runner=runner)(
            run_id, part, batches
        )
        for stage in evaluated_after(part):
            named = tasks.evaluate.with_options(name=f"evaluate {stage}", task_run_name=f"evaluate {stage}")
            evaluations.append(named.submit(run_id, stage, batches))
    _through_all(evaluations)
    verdict = tasks.gate(run_id, batches)
    get_run_logger().info(tasks.promote(run_id, verdict))
    return verdict


def _through_all(evaluations: Sequence[PrefectFuture[None]]) -> None:
    for evaluation in evaluations:
        evaluation.result()


@flow(**_OPTIONS)
def segment(run_id: str, part: Segment, batches: Sequence[BatchRef]) -> list[BatchRef]:
    """The stages between two barriers; a barrier's own work comes once all batches are through."""
    if part.stages == (StageName.DEDUP,):
        signed = [_named(tasks.sign, "sign", batch, len(batches)).submit(run_id, batch) for batch in batches]
        return tasks.decide(run_id, [future.result() for future in signed])
    through = list(_through(run_id, part.stages, batches))
    if part.stages == (StageName.INDEX,):
        session(run_id).built = tasks.build(run_id, through)
    elif StageName.FETCH in part.stages:
        session(run_id).close_scan(through)
        for sentence in measure_baselines(session(run_id)):
            get_run_logger().info(sentence)
    return through


def _through(run_id: str, stages: Sequence[StageName], batches: Sequence[BatchRef]) -> Iterator[BatchRef]:
    """Batches after all stages. Submitted in groups as wide as the workers, stage by stage within a group, so that
    a worker never waits for a task that stands behind it in the queue."""
    width = session(run_id).context.configuration.run.workers
    last: list[PrefectFuture[BatchRef]] = []
    for start in range(0, len(batches), width):
        group: list[Any] = list(batches[start : start + width])
        numbers = [batch.number for batch in group]
        for stage in stages:
            group = [
                tasks.stage_batch.with_options(
                    name=str(stage), task_run_name=f"{stage} {number}/{len(batches)}"
                ).submit(run_id, stage, batch)
                for number, batch in zip(numbers, group, strict=True)
            ]
        last += group
    for future in last:
        yield future.result()


def _named(prefect_task: Any, verb: str, batch: BatchRef, total: int) -> Any:
    return prefect_task.with_options(task_run_name=f"{verb} {batch.number}/{total}")
