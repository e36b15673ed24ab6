"""Rows of documents whose text the lake does not hold: their bytes are asked from the source again, and what the stages
made of them is made once more, for as long as the run lasts.

The same bytes under the same key give the same rows. A source that does not give these bytes any more fails its
document, not the run.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import StageName
from tasks.document_rows import ids_of, select
from tasks.errors import DocumentError, RunError
from tasks.lake import packed
from tasks.lake.files import read_table, write_table
from tasks.lake.raw import RawStore
from tasks.run.context import BatchRef, RunContext
from tasks.run.forced import chained_keys
from tasks.run.former_settings import former_contexts
from tasks.run.guarded import failure_of, run_guarded
from tasks.run.registry import PREVIOUS, STAGES
from tasks.run.stage_keys import stage_keys
from tasks.run.stored import stored_keys
from tasks.stage import Batch, Failure, Resources, StageOutput
from tasks.withhold.texts import BROUGHT_BACK, WITHHELD


@dataclass(frozen=True)
class RawOrSource:
    """`tasks.stage.RawBytes` of some documents (`DOCUMENTS` rows): what the lake has not is asked from the source."""

    store: RawStore
    documents: pa.Table
    resources: Resources
    context: RunContext
    _asking: threading.Lock = field(default_factory=threading.Lock)
    _asked: set[str] = field(default_factory=set)
    """Bytes that the source was asked for: what it did not give then is not asked for again."""

    def path(self, content_sha: str) -> Path:
        """Where the bytes lie.

        Raises:
            DocumentError: they are neither in the lake nor at their source.
        """
        if not self.store.has(content_sha):
            with self._asking:
                self._ask(content_sha)
        return self.store.path(content_sha)

    def read(self, content_sha: str) -> bytes:
        """The bytes."""
        return self.path(content_sha).read_bytes()

    def write(self, data: bytes) -> str:
        """Stores bytes in the lake."""
        return self.store.write(data)

    def _ask(self, content_sha: str) -> None:
        """Asks for all that these documents lack, since whoever needs one needs the others next; once for each."""
        if content_sha in self._asked:
            return
        shas = self.documents.column("content_sha").to_pylist()
        lacking = {sha for sha in shas if sha is not None and sha not in self._asked and not self.store.has(sha)}
        if content_sha in lacking:
            self._asked.update(lacking)
            settings = self.context.settings(StageName.FETCH)
            documents = self.documents.filter(pa.array([sha in lacking for sha in shas], pa.bool_()))
            STAGES[StageName.FETCH].run(Batch(documents, {}), settings, self.resources)


def lent(context: RunContext, documents: pa.Table) -> Resources:
    """What stages and evaluators may ask of the shell for these documents."""
    resources = context.resources
    if not (context.configuration.run.redact_only and context.options.asks_sources):
        return resources
    return replace(resources, raw=RawOrSource(RawStore(context.lake.raw), documents, resources, context))


class TextLostError(RunError):
    """The lake does not hold the row of a document any more, and it cannot be made again."""


def load_rows(context: RunContext, stage: StageName, batch: BatchRef, document_ids: Sequence[str]) -> pa.Table:
    """A stage's rows of these documents, in this order.

    Raises:
        KeyError: the stage made no row of a document.
        TextLostError: so it is of one of them.
    """
    rows, lost = rows_of(context, stage, batch, document_ids, STAGES[stage].writes)
    if lost:
        raise TextLostError(
            f"stage {stage} of document {lost[0].document_id} cannot be made again: {lost[0].message}",
            remedy=lost[0].remedy,
        )
    return rows


def load_or_lose(
    context: RunContext, stages: Iterable[StageName], batch: BatchRef, document_ids: Sequence[str]
) -> tuple[dict[StageName, pa.Table], list[Failure]]:
    """Rows of several stages, of the documents that have all of them, in the order given; and why others have not."""
    tables, lost = {}, dict[str, Failure]()
    for stage in stages:
        wanted = [i for i in document_ids if i not in lost]
        tables[stage], failures = rows_of(context, stage, batch, wanted, STAGES[stage].writes)
        lost |= {failure.document_id: failure for failure in failures}
    if lost:
        left = [i for i in document_ids if i not in lost]
        tables = {stage: select(table, left) for stage, table in tables.items()}
    return tables, list(lost.values())


def rows_of(
    context: RunContext, stage: StageName, batch: BatchRef, document_ids: Sequence[str], schema: pa.Schema
) -> tuple[pa.Table, list[Failure]]:
    """A stage's rows (the columns of `schema`) of these documents in this order, less those that are lost, and why.

    Raises:
        KeyError: the stage made no row of a document.
    """
    here = batch.read_locations(stage).select(["document_id", "file"])
    if len(document_ids) < here.num_rows:
        here = here.filter(pc.is_in(here.column("document_id"), pa.array(document_ids, pa.string())))
    files = dict(zip(ids_of(here), here.column("file").to_pylist(), strict=True))
    places = {document_id: file for document_id in document_ids if (file := files[document_id])}
    if len(places) < len(document_ids):
        raise KeyError(f"stage {stage} made no row of a document that is asked for")
    if not places:
        return schema.empty_table(), []
    found = packed.read_places(context.lake, places, schema)
    if found.num_rows == len(places) or stage not in WITHHELD:
        return select(found, document_ids), []
    there = set(ids_of(found))
    lacking = [i for i in document_ids if i not in there]
    folder = context.folder / BROUGHT_BACK / stage
    lost = _make_again(context, stage, batch, [i for i in lacking if not _file(folder, i).exists()])
    gone = {failure.document_id for failure in lost}
    made = [read_table(_file(folder, i), schema) for i in lacking if i not in gone]
    return select(pa.concat_tables([found, *made]), [i for i in document_ids if i not in gone]), lost


def _file(folder: Path, document_id: str) -> Path:
    return folder / f"{document_id}.parquet"


def _make_again(context: RunContext, name: StageName, batch: BatchRef, document_ids: Sequence[str]) -> list[Failure]:
    """Makes a stage's rows of documents again, a file each; returns those of which it could not."""
    lost = []
    for maker, ids in _makers(context, name, batch, document_ids):
        lost += _make_under(maker, name, batch, ids)
    return [replace(failure, transient=True) for failure in lost]


def _makers(
    context: RunContext, name: StageName, batch: BatchRef, document_ids: Sequence[str]
) -> list[tuple[RunContext, list[str]]]:
    """Under whose settings the rows of these documents were made: of those that a partial run does not take in, by
    their keys; where no key tells, they are taken to be those of the run that made live."""
    held = batch.read_held()
    standing = set() if held is None else set(ids_of(held)).intersection(document_ids)
    makers = [(context, [i for i in document_ids if i not in standing])]
    former = list(former_contexts(context)) if standing else []
    lost, left = _keys_of(name, batch), [i for i in document_ids if i in standing]
    for maker in (context, *former):
        keys = _keys_under(maker, name, batch, select(batch.read_documents(), left), {})
        makers.append((maker, [i for i in left if keys[i] == lost[i]]))
        left = [i for i in left if keys[i] != lost[i]]
    makers.append((former[0] if former else context, left))
    return [(maker, ids) for maker, ids in makers if ids]


def _make_under(context: RunContext, name: StageName, batch: BatchRef, document_ids: Sequence[str]) -> list[Failure]:
    stage = STAGES[name]
    tables, lost = load_or_lose(context, stage.reads, batch, document_ids)
    gone = {failure.document_id for failure in lost}
    documents = select(batch.read_documents(), [i for i in document_ids if i not in gone])
    if documents.num_rows:
        output = run_guarded(stage, Batch(documents, tables), context, lend=lent)
        others = _others(context, name, batch, documents, output)
        for number, document_id in enumerate(ids_of(output.table)):
            if document_id not in others:
                row = output.table.slice(number, 1)
                write_table(row, _file(context.folder / BROUGHT_BACK / name, document_id), stage.writes, durable=False)
        lost += [*output.failures, *others.values()]
    return lost


def _others(
    context: RunContext, name: StageName, batch: BatchRef, documents: pa.Table, output: StageOutput
) -> dict[str, Failure]:
    """Rows that were made under another key than the one that is lost, by document id: they are not that row.

    One of the two was cut short, or each elsewhere; or the lost one stands from a run with other settings.
    """
    keys, lost = _keys_under(context, name, batch, documents, output.partial), _keys_of(name, batch)
    return {
        document_id: _another(document_id, output.partial.get(document_id))
        for document_id in ids_of(output.table)
        if keys[document_id] != lost[document_id]
    }


def _keys_under(
    context: RunContext, name: StageName, batch: BatchRef, documents: pa.Table, partial: Mapping[str, str]
) -> dict[str, str]:
    """The keys by which the chain goes on from rows of these documents, made by this context."""
    keys = stored_keys(stage_keys(context, name, documents, batch.keys_after(PREVIOUS[name])), partial)
    # What a forced stage made otherwise is followed up under a key of its own.
    done = context.ledger.find_rows("output", name, list(keys), list(keys.values()))
    return keys | dict(zip(ids_of(done), chained_keys(done).to_pylist(), strict=True))


def _keys_of(name: StageName, batch: BatchRef) -> dict[str, str]:
    """The keys by which the chain has gone on from the rows that a batch has, or has lost."""
    there = batch.read_locations(name)
    return dict(zip(ids_of(there), there.column("stage_key").to_pylist(), strict=True))


def _another(document_id: str, lacks: str | None) -> Failure:
    cut = f"cut short: {lacks}" if lacks is not None else "whole, or under other settings"
    error = DocumentError(
        "timeout" if lacks is not None else "raw_missing",
        f"the lake keeps no text of it, and this time it came out otherwise than in the run that it stands from: {cut}",
        remedy="run again without --only and --limit; where it is cut short, raise the limits of its stage",
        transient=True,
    )
    return failure_of(document_id, error)


def texts_of(context: RunContext, batches: Iterable[BatchRef], document_ids: Sequence[str]) -> dict[str, str]:
    """Clean texts of documents that the lake does not hold; one that cannot be had is left out."""
    schema = pa.schema([STAGES[StageName.NORMALIZE].writes.field(name) for name in ("document_id", "text")])
    texts = dict[str, str]()
    wanted = pa.array(document_ids, pa.string())
    for batch in batches:
        here = batch.read_documents().column("document_id")
        ids = here.filter(pc.is_in(here, wanted)).to_pylist()
        if ids:
            rows, _ = rows_of(context, StageName.NORMALIZE, batch, ids, schema)
            texts |= dict(zip(ids_of(rows), rows.column("text").to_pylist(), strict=True))
    return texts
