"""Embed: one vector per chunk, by a model that reads the whole chunk."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from time import perf_counter
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas.names import StageName
from schemas.stages import EMBED
from tasks.embed.evaluator import evaluate, facts
from tasks.embed.settings import EmbedSettings
from tasks.embed.vectors import embed_texts, token_vectors
from tasks.embedding.model import TokenModel
from tasks.embedding.models import embedding_model
from tasks.stage import Batch, Cost, Failure, Resources, Stage, StageOutput

Positions: TypeAlias = NDArray[np.int64]

_REMEDY = (
    "look at the endpoint's own log for what it says of such a text (a length limit, a filter); the next run asks again"
)


def run(batch: Batch, settings: EmbedSettings, resources: Resources) -> StageOutput:
    """Embeds every chunk of the batch, its context before its text; equal texts are embedded once.

    A chunk of which the model knows nothing keeps its zero vector, and counts against coverage. A document fails
    (`no_embedding`) where the model gives no vector for a chunk of it. Time is shared out among the documents by their
    tokens.
    """
    started = perf_counter()
    model = embedding_model(settings)
    limit = min(settings.max_tokens, model.max_tokens or settings.max_tokens)
    chunks = batch.tables[StageName.CHUNK].column("chunks").combine_chunks()
    items = chunks.flatten()
    unique = pc.dictionary_encode(read_texts(items))
    texts = unique.dictionary.to_pylist()
    made = embed_texts(texts, model, settings, resources)
    vectors, tokens = made.vectors, made.tokens
    place = unique.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    vectors, tokens = vectors[place], tokens[place]
    embeddings = pa.StructArray.from_arrays(
        [
            pc.struct_field(items, "chunk_id"),
            pa.ListArray.from_arrays(
                np.arange(len(vectors) + 1, dtype=np.int32) * model.dimension, pa.array(vectors.ravel(), pa.float32())
            ),
            pa.array(tokens, pa.int32()),
            pa.array(tokens > limit),
        ],
        fields=list(EMBED.field("embeddings").type.value_type),
    )
    offsets = np.concatenate([[0], np.cumsum(pc.list_value_length(chunks).to_numpy(zero_copy_only=False))])
    documents = len(chunks)
    table = pa.Table.from_arrays(
        [
            batch.tables[StageName.CHUNK].column("document_id"),
            pa.repeat(model.name, documents),
            pa.repeat(model.version, documents),
            pa.array([model.dimension] * documents, pa.int32()),
            pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), embeddings, type=EMBED.field("embeddings").type),
            _token_vectors(settings, model, texts, place, offsets),
        ],
        schema=EMBED,
    )
    sums = np.array([tokens[a:b].sum() + 1 for a, b in pairwise(offsets)])
    seconds = (perf_counter() - started) * sums / max(1, sums.sum())
    costs = {
        document_id: Cost(float(share))
        for document_id, share in zip(table.column("document_id").to_pylist(), seconds, strict=True)
    }
    failures = _failures(table, offsets, place, made.refused)
    failed = {failure.document_id for failure in failures}
    kept = [document_id not in failed for document_id in table.column("document_id").to_pylist()]
    return StageOutput(table.filter(pa.array(kept, pa.bool_())), failures, costs=costs)


def read_texts(chunks: pa.StructArray) -> pa.StringArray:
    """What the model reads of each chunk: its context, where it has one, and its text."""
    context, text = pc.struct_field(chunks, "context"), pc.struct_field(chunks, "text")
    if context.null_count == len(context):
        return text
    return pc.binary_join_element_wise(context.fill_null(""), text, "")


def _token_vectors(
    settings: EmbedSettings, model: object, texts: Sequence[str], place: Positions, offsets: Positions
) -> pa.Array:
    """Per document and chunk the vectors of its tokens, one after the other; null where they are not asked for."""
    kind = EMBED.field("token_vectors").type
    if not settings.token_vectors:
        return pa.nulls(len(offsets) - 1, kind)
    if not isinstance(model, TokenModel):
        raise TypeError("a model without vectors of tokens: the settings check this")
    chunks = token_vectors(texts, model).take(pa.array(place))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), chunks, type=kind)


def _failures(table: pa.Table, offsets: Positions, place: Positions, refused: Mapping[int, str]) -> tuple[Failure, ...]:
    if not refused:
        return ()
    failures = []
    for document_id, (start, end) in zip(table.column("document_id").to_pylist(), pairwise(offsets), strict=True):
        reasons = [refused[text] for text in place[start:end].tolist() if text in refused]
        if reasons:
            message = f"{len(reasons)} of the document's {end - start} chunks have no vector: {reasons[0]}"
            failures.append(Failure(document_id, "no_embedding", message, _REMEDY, transient=True))
    return tuple(failures)


def fingerprint(settings: EmbedSettings) -> Mapping[str, str]:
    """The model and its version, which holds the digest of its weights."""
    model = embedding_model(settings)
    return {model.name: model.version}


STAGE = Stage(
    name=StageName.EMBED,
    version=1,
    reads=(StageName.CHUNK,),
    writes=EMBED,
    settings=EmbedSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=4,
    evaluate=evaluate,
    labels=("questions",),
    facts=facts,
)
