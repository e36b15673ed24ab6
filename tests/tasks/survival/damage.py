"""Ways in which a stage can fail at its work: each takes what a stage does and gives what it does when damaged."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from schemas.names import StageName
from tasks.document_rows import ids_of, select
from tasks.stage import Batch, Drop, Failure, Resources, StageOutput

Run = Callable[[Batch, Any, Resources], StageOutput]
Damage = Callable[[Run], Run]
Row = dict[str, Any]


def spoil(change: Callable[[Row, dict[StageName, Row]], None]) -> Damage:
    """A stage whose rows come out otherwise: `change` is given each row and what the stage read of the document."""

    def damage(of: Run) -> Run:
        def run(batch: Batch, settings: Any, resources: Resources) -> StageOutput:
            made = of(batch, settings, resources)
            read = {document["document_id"]: rows for document, rows in batch.rows()}
            rows = made.table.to_pylist()
            for row in rows:
                change(row, read[row["document_id"]])
            return dataclasses.replace(made, table=pa.Table.from_pylist(rows, schema=made.table.schema))

        return run

    return damage


def fail(wrong: Callable[[Row], bool] = lambda document: True) -> Damage:
    """A stage that cannot process some documents, told by their rows of the plan."""

    def damage(of: Run) -> Run:
        def run(batch: Batch, settings: Any, resources: Resources) -> StageOutput:
            made = of(batch, settings, resources)
            gone = [row["document_id"] for row in batch.documents.to_pylist() if wrong(row)]
            failures = (Failure(i, "planted", "cannot be processed", "take it out", transient=False) for i in gone)
            kept = [i for i in ids_of(made.table) if i not in gone]
            return dataclasses.replace(made, table=select(made.table, kept), failures=(*made.failures, *failures))

        return run

    return damage


def leave_out(unwanted: Callable[[Row], bool]) -> Damage:
    """A stage that drops the documents whose row is unwanted."""

    def damage(of: Run) -> Run:
        def run(batch: Batch, settings: Any, resources: Resources) -> StageOutput:
            made = of(batch, settings, resources)
            drops = [Drop(row["document_id"], "unwanted") for row in made.table.to_pylist() if unwanted(row)]
            return dataclasses.replace(made, drops=(*made.drops, *drops))

        return run

    return damage
