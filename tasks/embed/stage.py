"""Embed: one vector per chunk, by a model that reads the whole chunk."""

from collections.abc import Mapping
from itertools import pairwise
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import StageName
from schemas.stages import EMBED
from tasks.embed.evaluator import evaluate
from tasks.embed.models import embedding_model
from tasks.embed.settings import EmbedSettings
from tasks.stage import Batch, Cost, Resources, Stage, StageOutput


def run(batch: Batch, settings: EmbedSettings, resources: Resources) -> StageOutput:
    """Embeds every chunk of the batch; equal texts are embedded once.

    A chunk of which the model knows nothing keeps its zero vector, and counts against coverage. Time is shared out
    among the documents by their tokens.
    """
    started = perf_counter()
    model = embedding_model(settings.model)
    limit = min(settings.max_tokens, model.max_tokens or settings.max_tokens)
    chunks = batch.tables[StageName.CHUNK].column("chunks").combine_chunks()
    items = chunks.flatten()
    unique = pc.dictionary_encode(pc.struct_field(items, "text"))
    vectors, tokens = model.embed(unique.dictionary.to_pylist())
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
        ],
        schema=EMBED,
    )
    sums = np.array([tokens[a:b].sum() + 1 for a, b in pairwise(offsets)])
    seconds = (perf_counter() - started) * sums / max(1, sums.sum())
    costs = {
        document_id: Cost(float(share))
        for document_id, share in zip(table.column("document_id").to_pylist(), seconds, strict=True)
    }
    return StageOutput(table, costs=costs)


def fingerprint(settings: EmbedSettings) -> Mapping[str, str]:
    """The model and its version, which holds the digest of its weights."""
    model = embedding_model(settings.model)
    return {model.name: model.version}


STAGE = Stage(
    name=StageName.EMBED,
    version=1,
    reads=(StageName.CHUNK,),
    writes=EMBED,
    settings=EmbedSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=1,
    evaluate=evaluate,
)
