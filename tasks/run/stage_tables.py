"""Rows of a batch as evaluators ask for them: what nobody asks for is not read, and nothing is read twice."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa

from schemas.names import StageName
from tasks.run.brought_back import load_rows
from tasks.run.context import BatchRef, RunContext


class StageTables(Mapping[StageName, pa.Table]):
    """Rows of some documents of a batch by stage, in the order of the documents; read when they are first asked for.

    To ask for a stage may raise what `load_rows` raises.
    """

    def __init__(
        self, context: RunContext, batch: BatchRef, stages: Sequence[StageName], document_ids: Sequence[str]
    ) -> None:
        self._read = partial(load_rows, context, batch=batch, document_ids=document_ids)
        self._stages = dict.fromkeys(stages)
        self._known: dict[StageName, pa.Table] = {}

    def __getitem__(self, stage: StageName) -> pa.Table:
        if stage not in self._stages:
            raise KeyError(stage)
        if stage not in self._known:
            self._known[stage] = self._read(stage)
        return self._known[stage]

    def __iter__(self) -> Iterator[StageName]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)
