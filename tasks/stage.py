"""What a stage is: a frozen record that the graph, the lake, the docs and the tests all read.

A stage turns Arrow tables into an Arrow table and knows nothing of Prefect, files or runs. `documents_loop`
owns the loop over documents, the timing and the bookkeeping of failures, so that a room writes one function
from one document to one row.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from schemas.documents import LOCATIONS
from schemas.names import StageName
from tasks.document_rows import narrowed
from tasks.errors import DocumentError
from tasks.gold.labels import Labels


class ClassSettings(BaseModel):
    """Base of a stage's settings for one document class: only what was given counts, also after being stored."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_serializer(mode="wrap")
    def _only_what_was_given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        return {name: data[name] for name in data if name in self.model_fields_set}


class StageSettings(BaseModel):
    """Base of every stage's settings: frozen; unknown keys and numbers without end are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def for_class(self, doc_class: str) -> Self:
        """The settings that hold for documents of this class.

        A stage that offers other settings for some classes declares a field `by_class`: class name → a record whose
        given fields replace the stage's own. What is returned names no class, so that the key of a document holds
        what shapes its own output only.
        """
        by_class: Mapping[str, ClassSettings] | None = getattr(self, "by_class", None)
        if by_class is None:
            return self
        own = by_class.get(doc_class)
        given = {name: getattr(own, name) for name in own.model_fields_set} if own is not None else {}
        return self.model_copy(update={**given, "by_class": {}})


class RawBytes(Protocol):
    """Read and write access to bytes as fetched, by SHA-256."""

    def path(self, content_sha: str) -> Path:
        """Where the bytes lie; the file exists."""

    def read(self, content_sha: str) -> bytes:
        """The bytes."""

    def write(self, data: bytes) -> str:
        """Stores bytes (atomically, once) and returns their SHA-256."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What the shell lends to stages and evaluators that need more than tables."""

    raw: RawBytes
    cache_dir: Path
    """A folder for model files and other rebuildable things; safe to delete between runs."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents that travel together.

    `documents` has the `DOCUMENTS` schema. `tables` holds, for each stage in `Stage.reads`, its output rows
    for exactly these documents in exactly this order. `former` holds, for each stage in `Stage.remembers`,
    those columns of rows that earlier versions of documents had, all in one order: whatever can be had, often nothing.
    """

    documents: pa.Table
    tables: Mapping[StageName, pa.Table]
    former: Mapping[StageName, pa.Table] = field(default_factory=dict)

    def rows(
        self, wanted: Mapping[StageName, Sequence[str]] | None = None
    ) -> list[tuple[dict[str, Any], dict[StageName, dict[str, Any]]]]:
        """(document, {stage: its row}) for each document; of the stages in `wanted` alone, and of their rows these
        columns (`narrowed`), where it is given: what nobody reads costs as much to turn into Python as what is read."""
        tables = self.tables
        if wanted is not None:
            tables = {name: narrowed(tables[name], columns) for name, columns in wanted.items()}
        columns = {name: table.to_pylist() for name, table in tables.items()}
        return [
            (document, {name: rows[i] for name, rows in columns.items()})
            for i, document in enumerate(self.documents.to_pylist())
        ]


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that a stage could not process."""

    document_id: str
    error_class: str
    message: str
    remedy: str
    transient: bool


@dataclass(frozen=True, slots=True)
class Drop:
    """A document that a stage took out on purpose."""

    document_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What a document cost: wall seconds, and the peak memory of the worker that handled it where known."""

    seconds: float
    peak_rss_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class StageOutput:
    """Documents in = rows of `table` (unless dropped) + failures + drops. A dropped document may have a row too.

    `partial` names documents that a limit of time cut short, and what their rows lack. Such rows serve the run that
    made them, under keys of their own, and the next run tries the document again.
    """

    table: pa.Table
    failures: tuple[Failure, ...] = ()
    drops: tuple[Drop, ...] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict)
    partial: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an evaluator reads: a batch, the stage's own output on it, the labels, what it cost, and raw bytes.

    `batch.documents` are the documents that came out of the stage with a row, in the order of `output`. `settings` are
    those of the stages in `Stage.reads`, under which `batch.tables` were made.
    """

    batch: Batch
    output: pa.Table
    labels: Labels
    costs: Mapping[str, Cost]
    raw: RawBytes
    settings: Mapping[StageName, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which rows a search may find; what is not given does not restrict. It is applied before the search.

    `groups` are those that the asker belongs to: rows whose document names groups are found by members of one of them
    only, rows whose document names none by all of the tenant. Null asks without regard to groups; an empty tuple is an
    asker who belongs to none. A row without a date of publication is outside of every range of dates.
    """

    tenant: str | None = None
    groups: tuple[str, ...] | None = None
    doc_classes: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    published_from: date | None = None
    published_to: date | None = None
    uri_prefix: str | None = None
    document_ids: tuple[str, ...] = ()


EVERYTHING = SearchFilter()


class IndexView(Protocol):
    """Read access to one generation of the index; `embedding` is the model that made its vectors, as name@version."""

    @property
    def embedding(self) -> str:
        """The model that made its vectors; vectors of another say nothing here."""

    def count(self) -> int:
        """Rows in it."""

    def rows(self, columns: Sequence[str], document_ids: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Stored rows, streamed, read from the index itself; all documents where none are named."""

    def search_vector(
        self, vector: Sequence[float], k: int, *, exact: bool, where: SearchFilter = EVERYTHING
    ) -> list[tuple[str, float]]:
        """(chunk id, score) best first; `exact` scans all rows."""

    def search_text(self, query: str, k: int, *, where: SearchFilter = EVERYTHING) -> list[tuple[str, float]]:
        """(chunk id, score) of the keyword search, best first."""

    def search_tokens(
        self, vectors: Sequence[Sequence[float]], k: int, *, where: SearchFilter = EVERYTHING
    ) -> list[tuple[str, float]]:
        """(chunk id, score) by late interaction, best first: every row that has token vectors is scored."""

    def indexed_vectors(self) -> int:
        """Rows that the approximate index covers; 0 where there is none."""


@dataclass(frozen=True, slots=True)
class Signed:
    """What the dedup barrier decided from: stored signatures by batch, clean texts on demand, who comes first.

    `stood` says by document whether its keeper was the same when the decisions were made again, where an earlier run
    with the very same signatures has found out; null where it is still to be found out. `compared` is what is known of
    pairs of texts (`tasks.dedup.compared.COMPARED`). `lost` are documents whose text could not be had when the
    decisions were made.
    """

    signatures: Sequence[Callable[[], pa.Table]]
    text_of: Callable[[Sequence[str]], Mapping[str, str]]
    precedence: Mapping[str, int]
    stood: Mapping[str, bool] | None = None
    compared: pa.Table | None = None
    lost: frozenset[str] = frozenset()


def _nothing_stored(file: str, schema: pa.Schema, document_ids: Sequence[str]) -> pa.Table:
    return schema.empty_table()


@dataclass(frozen=True, slots=True)
class Reference:
    """An earlier run to compare with: its plan (`DOCUMENTS`) and where its rows of the stage lie (`LOCATIONS`)."""

    documents: pa.Table
    locations: pa.Table


class Outputs(Protocol):
    """Streams a stage's rows of a run's documents; those columns of them that a schema names, where one is given."""

    def __call__(self, stage: StageName, schema: pa.Schema | None = None, /) -> Iterator[pa.Table]:
        """The rows, batch by batch."""


@dataclass(frozen=True, slots=True)
class CorpusEvidence:
    """What an evaluator of run facts reads: the whole run, streamed.

    `documents` has the `DOCUMENTS` schema; `locations` has, of the `LOCATIONS` schema, `document_id`, `stage`,
    `stage_key` and `outcome` of all stages so far; `here` are the stage's own rows of it, whole. `outputs(stage)`
    streams that stage's rows of this run's documents, whole or as far as a schema asks for. `index` is the candidate
    (live where the run built none), `live` the generation in use before this run (null where there was none).
    `started` is when the run's plan was made. `signed` is there for the dedup stage alone. `references` are the runs to
    compare with: `live`, the one that made what is live, and `anchor`, the pinned one, where there are such. `stored`
    reads rows of documents from a file that the locations of any of these runs name: (file, schema with the columns
    wanted, document ids). `few` is behind `outputs_of`, where the shell knows a shorter way than all rows.
    """

    documents: pa.Table
    locations: pa.Table
    outputs: Outputs
    labels: Labels
    index: IndexView | None
    live: IndexView | None
    started: datetime
    here: pa.Table = field(default_factory=LOCATIONS.empty_table)
    signed: Signed | None = None
    references: Mapping[str, Reference] = field(default_factory=dict)
    stored: Callable[[str, pa.Schema, Sequence[str]], pa.Table] = _nothing_stored
    few: Callable[[StageName, Collection[str]], Iterator[pa.Table]] | None = None

    def outputs_of(self, stage: StageName, document_ids: Collection[str]) -> Iterator[pa.Table]:
        """The stage's rows of a few documents; of one whose text cannot be had there is none."""
        if self.few is not None:
            yield from self.few(stage, document_ids)
            return
        names = pa.array(sorted(document_ids), pa.string())
        for table in self.outputs(stage):
            yield table.filter(pc.is_in(table.column("document_id"), names))


S = TypeVar("S", bound=StageSettings)


@dataclass(frozen=True, slots=True)
class Stage(Generic[S]):
    """One ingestion stage.

    `version` is raised whenever the meaning of the output changes; `scorer_version` whenever a measure does.
    `context` names the columns of the document row that shape the output (they enter the stage key).
    `fingerprint` gives the versions of libraries and model files that shape the output (they enter it too).
    `attachments`, where there is one, gives digests of further files that shape one document's output, from its row.
    `labels` are the label kinds its evaluators read (they enter the measures key).
    `evaluate` gives the rows of documents from their batch alone. `facts`, where there is one, gives the rows
    that need the whole corpus (pairs, reconciliation, freshness); they are made anew in every run. `reads_index`
    says that they search the built candidate, so the evaluator runs once that exists.
    `gold`, where there is one, gives what the stage should have made of a batch by the labels: a row of each document
    that has the labels it takes. `unfit_alone`, where there is one, says why this stage cannot be judged on gold
    inputs of a document, null where it can (document, rows of the stages it reads, settings). `remembers` are columns
    of stages whose rows of earlier versions spare it work; they do not shape the output.
    """

    name: StageName
    version: int
    reads: tuple[StageName, ...]
    writes: pa.Schema
    settings: type[S]
    run: Callable[[Batch, S, Resources], StageOutput]
    fingerprint: Callable[[S], Mapping[str, str]]
    scorer_version: int
    evaluate: Callable[[Evidence, S], pa.Table]
    context: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    reads_index: bool = False
    facts: Callable[[CorpusEvidence, S], pa.Table] | None = None
    attachments: Callable[[Mapping[str, Any], S], Mapping[str, str]] | None = None
    gold: Callable[[Batch, Labels, S], pa.Table] | None = None
    unfit_alone: Callable[[Mapping[str, Any], Mapping[StageName, dict[str, Any]], S], str | None] | None = None
    remembers: Mapping[StageName, tuple[str, ...]] = field(default_factory=dict)


DocumentRow: TypeAlias = dict[str, Any]
StageRows: TypeAlias = dict[StageName, dict[str, Any]]


def documents_loop(
    batch: Batch, schema: pa.Schema, transform: Callable[[DocumentRow, StageRows], DocumentRow | Drop]
) -> StageOutput:
    """Applies `transform` to each document; a `DocumentError` becomes a failure, anything else propagates.

    The row that `transform` returns need not hold `document_id`. An unexpected exception is left to the caller,
    who retries the batch one document at a time, so that a defect costs one document.
    """
    rows: list[DocumentRow] = []
    failures: list[Failure] = []
    drops: list[Drop] = []
    costs: dict[str, Cost] = {}
    for document, stage_rows in batch.rows():
        document_id = document["document_id"]
        started = time.perf_counter()
        try:
            made = transform(document, stage_rows)
        except DocumentError as error:
            failures.append(Failure(document_id, error.error_class, str(error), error.remedy, error.transient))
        else:
            if isinstance(made, Drop):
                drops.append(made)
            else:
                rows.append({"document_id": document_id} | made)
        costs[document_id] = Cost(time.perf_counter() - started)
    return StageOutput(pa.Table.from_pylist(rows, schema=schema), tuple(failures), tuple(drops), costs)
