"""Prefect tasks: thin wrappers that hand paths on. They cache nothing; the ledger knows what is done."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from prefect import task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE

from flows.session import session
from schemas.names import StageName
from schemas.verdict import Verdict
from tasks.index.records import Candidate
from tasks.language_models.pool import let_idle_go
from tasks.memory import give_back_freed_memory
from tasks.run.context import BatchRef
from tasks.run.deduplicate import decide_corpus, sign_batch
from tasks.run.execute import run_stage
from tasks.run.fetching import run_fetch
from tasks.run.indexing import build_candidate

_OPTIONS: dict[str, Any] = {"cache_policy": NO_CACHE, "persist_result": False}


@contextmanager
def _memory_given_back() -> Iterator[None]:
    """For what looks at all documents: what it has held is not kept from what comes next."""
    try:
        yield
    finally:
        give_back_freed_memory()


@task(name="plan", task_run_name="plan", **_OPTIONS)
def plan(run_id: str) -> list[BatchRef]:
    """Lists the sources, names every document, splits the work into batches."""
    return session(run_id).plan()


@task(**_OPTIONS)
def stage_batch(run_id: str, stage: StageName, batch: BatchRef) -> BatchRef:
    """One stage over one batch."""
    context = session(run_id).context
    return run_fetch(context, batch) if stage is StageName.FETCH else run_stage(context, stage, batch)


@task(name="sign", **_OPTIONS)
def sign(run_id: str, batch: BatchRef) -> BatchRef:
    """Signatures of one batch, for the dedup barrier."""
    return sign_batch(session(run_id).context, batch)


@task(name="decide", task_run_name="decide", **_OPTIONS)
def decide(run_id: str, batches: Sequence[BatchRef]) -> list[BatchRef]:
    """The dedup barrier: one decision over the whole corpus."""
    with _memory_given_back():
        return decide_corpus(session(run_id).context, batches)


@task(name="build candidate", task_run_name="build candidate", **_OPTIONS)
def build(run_id: str, batches: Sequence[BatchRef]) -> Candidate | None:
    """The index barrier: the candidate beside live."""
    with _memory_given_back():
        let_idle_go()
        give_back_freed_memory()
        return build_candidate(session(run_id).context, batches)


@task(**_OPTIONS)
def evaluate(run_id: str, stage: StageName, batches: Sequence[BatchRef]) -> None:
    """One stage's evaluator over the run, and its table for the run's page."""
    with _memory_given_back():
        rows = session(run_id).evaluate(stage, batches)
    create_table_artifact(
        key=f"evaluate-{stage}",
        table=rows,
        description=f"What stage **{stage}** did to each class of documents, run `{run_id}`",
    )


@task(name="gate", task_run_name="gate", **_OPTIONS)
def gate(run_id: str, batches: Sequence[BatchRef]) -> Verdict:
    """Judges the candidate against rules and baseline."""
    return session(run_id).judge(batches)


@task(name="promote", task_run_name="promote", **_OPTIONS)
def promote(run_id: str, verdict: Verdict) -> str:
    """Makes the candidate live if the verdict allows it; says what it did."""
    return session(run_id).promote(verdict)
