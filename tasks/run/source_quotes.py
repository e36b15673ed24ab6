"""Which quotes of labels stand nowhere in the bytes of their documents: asked of the cage, for lost passages only."""

from collections.abc import Sequence
from functools import cached_property, lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import StageName
from schemas.stages import FETCH
from tasks.document_rows import ids_of
from tasks.documents.cage import Cage, CageLimits, Job
from tasks.gold.kinds import Quote
from tasks.lake.packed import read_places
from tasks.lake.raw import RawStore
from tasks.run.context import BatchRef, RunContext
from tasks.survival.source import is_text

_JOB = "tasks.survival.source:lacking"
_TYPE = pa.schema([FETCH.field("document_id"), FETCH.field("media_type")])


class QuotesInSources:
    """`tasks.survival.evaluator.Lacking` of these documents (`DOCUMENTS` rows), which travel in these batches."""

    def __init__(self, context: RunContext, documents: pa.Table, batches: Sequence[BatchRef]) -> None:
        self._context = context
        self._documents = documents
        self._batches = batches

    def __call__(self, document_id: str, quotes: Sequence[Quote]) -> Sequence[bool]:
        """Of each quote, whether it stands nowhere in the document's bytes; false also where nobody can tell."""
        media_type = self._media_types.get(document_id)
        if media_type is None or not is_text(media_type):
            return [False] * len(quotes)
        here = self._documents.filter(pc.field("document_id") == document_id)
        (content_sha,) = here.column("content_sha").to_pylist()
        # A source is not asked for this: where its text could be looked at, the bytes are there.
        raw = RawStore(self._context.lake.raw)
        if content_sha is None or not raw.has(content_sha):
            return [False] * len(quotes)
        path = str(raw.path(content_sha))
        limits = self._context.configuration.stages.chunk.limits
        return _asked(limits, path, media_type, tuple(quote.exact for quote in quotes))

    @cached_property
    def _media_types(self) -> dict[str, str]:
        places: dict[str, str] = {}
        for batch in self._batches:
            here = batch.read_locations(StageName.FETCH).filter(pc.field("file").is_valid())
            places |= zip(ids_of(here), here.column("file").to_pylist(), strict=True)
        wanted = set(ids_of(self._documents))
        rows = read_places(self._context.lake, {i: file for i, file in places.items() if i in wanted}, _TYPE)
        return dict(zip(ids_of(rows), rows.column("media_type").to_pylist(), strict=True))


@lru_cache(maxsize=4096)
def _asked(limits: CageLimits, path: str, media_type: str, quotes: tuple[str, ...]) -> tuple[bool, ...]:
    """Every stage behind the one that lost a passage asks the same; bytes in the lake never change."""
    (result,) = Cage.shared(limits).run([Job("", _JOB, [path, media_type, quotes])])
    return tuple(result.value) if result.error is None else (False,) * len(quotes)
