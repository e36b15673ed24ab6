"""A stage runs under guard: one document that it cannot bear fails alone."""

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tasks.document_rows import ids_of
from tasks.errors import ConfigurationError, DocumentError, RunError
from tasks.machine import machine_is_named
from tasks.run.context import RunContext
from tasks.stage import Batch, Failure, Resources, Stage, StageOutput


def run_guarded(
    stage: Stage[Any],
    batch: Batch,
    context: RunContext,
    schema: pa.Schema | None = None,
    lend: Callable[[RunContext, pa.Table], Resources] = lambda context, _: context.resources,
) -> StageOutput:
    """Runs a stage; when it raises, every document is tried alone, and the one at fault becomes a failure.

    `schema` is that of the output where it is not `stage.writes` (the signatures of dedup). `lend` gives what the stage
    may ask of the shell for its documents.

    Raises:
        RunError: the machine is at fault (a full disk, no more open files, no more processes): every document would
            fail, and none would deserve it.
    """
    shape = schema if schema is not None else stage.writes
    try:
        with machine_is_named(f"stage {stage.name}"):
            return stage.run(batch, context.settings(stage.name), lend(context, batch.documents))
    except (ConfigurationError, RunError):
        raise
    except Exception as error:  # noqa: BLE001 - the border between a stage's defects and the run
        ids = ids_of(batch.documents)
        if len(ids) == 1 and isinstance(error, DocumentError):
            # Its bytes are gone, say: known to whoever asked for them, not to the stage.
            return StageOutput(shape.empty_table(), (failure_of(ids[0], error),))
        if len(ids) == 1:
            # Without the error's own words: they may be the document's.
            trace = f"{type(error).__name__}\n" + "".join(traceback.format_tb(error.__traceback__))
            context.quarantine.keep_traceback(context.run_id, str(stage.name), ids[0], trace)
            return StageOutput(shape.empty_table(), (_defect(ids[0], error),))
        return _merge([run_guarded(stage, part, context, schema, lend) for part in _singles(batch)])


def failure_of(document_id: str, error: DocumentError) -> Failure:
    """An error of a document as what is recorded of it."""
    return Failure(document_id, error.error_class, str(error), error.remedy, error.transient)


def _defect(document_id: str, error: Exception) -> Failure:
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame is not None else "unknown"
    return Failure(
        document_id,
        "defect",
        f"{type(error).__name__} at {where}",
        "a defect of corpusgate or of a library below it: please report it with this line; the next run tries again",
        transient=True,
    )


def _singles(batch: Batch) -> list[Batch]:
    alone = []
    for i, document_id in enumerate(ids_of(batch.documents)):
        tables, former = (
            {name: table.filter(pc.equal(table.column("document_id"), document_id)) for name, table in rows.items()}
            for rows in (batch.tables, batch.former)
        )
        alone.append(Batch(batch.documents.slice(i, 1), tables, former))
    return alone


def _merge(outputs: Sequence[StageOutput]) -> StageOutput:
    return StageOutput(
        pa.concat_tables([output.table for output in outputs]),
        tuple(failure for output in outputs for failure in output.failures),
        tuple(drop for output in outputs for drop in output.drops),
        {document_id: cost for output in outputs for document_id, cost in output.costs.items()},
        {document_id: lacks for output in outputs for document_id, lacks in output.partial.items()},
    )
