"""Chunk: cuts a document's redacted text by the strategy chosen, within a token budget."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from schemas.names import StageName
from schemas.stages import CHUNK
from tasks.chunk.context import ContextualHeader
from tasks.chunk.evaluator import evaluate
from tasks.chunk.packing import Packer
from tasks.chunk.ranges import Range
from tasks.chunk.settings import ChunkSettings
from tasks.chunk.strategies import common_headings, groups
from tasks.chunk.structure import Piece, SectionIds, kept_pieces
from tasks.documents.gold_elements import lacks_structure
from tasks.documents.offsets import RedactionMap
from tasks.documents.titles import choose_title
from tasks.embedding.models import embedding_model
from tasks.embedding.settings import EmbeddingSettings
from tasks.embedding.tokenizers import DEFAULT_TOKENIZER, tokenizer
from tasks.errors import DocumentError
from tasks.stage import Batch, DocumentRow, Resources, Stage, StageOutput, StageRows, documents_loop

SEPARATOR = "separator"


def run(batch: Batch, settings: ChunkSettings, resources: Resources) -> StageOutput:
    """Cuts every document of the batch; one without any text fails with `no_content`."""

    def transform(document: DocumentRow, rows: StageRows) -> DocumentRow:
        return chunk_document(
            document["document_id"], rows[StageName.PARSE], rows[StageName.NORMALIZE], rows[StageName.PII], settings
        )

    return documents_loop(batch, CHUNK, transform)


def chunk_document(
    document_id: str,
    parsed: Mapping[str, Any],
    normalized: Mapping[str, Any],
    redacted: Mapping[str, Any],
    settings: ChunkSettings,
) -> DocumentRow:
    """The chunks of one document, and the spans of clean text that stand between them.

    Raises:
        DocumentError: the clean text is empty or white space.
    """
    clean, text = normalized["text"], redacted["text"]
    if not clean.strip():
        raise DocumentError(
            "no_content",
            "no text is left of the document after parsing and cleaning",
            remedy="look at what parse and boilerplate kept (`corpusgate trace`); a scan may need OCR",
        )
    offsets = RedactionMap(redacted["spans"])
    pieces = kept_pieces(parsed["elements"], normalized["elements"], text, offsets)
    titles = {p.element_id: " ".join(text[p.start : p.end].split()) for p in pieces if p.kind == "heading"}
    forbidden = [(span["redacted_start"], span["redacted_end"]) for span in redacted["spans"]]
    counter = tokenizer(settings.tokenizer or DEFAULT_TOKENIZER)
    header = ContextualHeader(_title(redacted, pieces, titles), counter, settings)
    grouped = groups(pieces, text, forbidden, settings, counter)

    def inside(made: Range) -> Sequence[Piece]:
        return pieces[bisect_right(ends, made.start) : bisect_left(starts, made.end)]

    def headings(group: int, made: Range) -> tuple[int, ...]:
        settled = grouped[group].headings
        return common_headings(inside(made)) if settled is None else settled

    def context(group: int, made: Range) -> str:
        return header.of([titles[h] for h in headings(group, made)])

    starts, ends = [piece.start for piece in pieces], [piece.end for piece in pieces]
    packer = Packer(text, forbidden, settings, counter, context)
    ids = SectionIds(document_id, titles)
    chunks: list[dict[str, Any]] = []
    for i, (ranges, counts) in enumerate(packer.pack([group.pieces for group in grouped])):
        for made, tokens in zip(ranges, counts, strict=True):
            chunk_text, above = packer.chunk_text(made), headings(i, made)
            chunks.append(
                {
                    "chunk_id": ids.next_id(above),
                    "ordinal": len(chunks),
                    "start": offsets.to_clean(made.start),
                    "end": offsets.to_clean(made.end, end=True),
                    "text": chunk_text,
                    "prefix_length": len(made.prefix),
                    "section_path": [titles[heading] for heading in above],
                    **_where(inside(made)),
                    "element_ids": [p.element_id for p in inside(made)],
                    "tokens": tokens,
                    "text_sha": hashlib.sha256(chunk_text.encode()).hexdigest(),
                    "context": context(i, made) or None,
                }
            )
    return {"chunks": chunks, "dropped": _separators(clean, chunks)}


def _where(pieces: Sequence[Piece]) -> dict[str, Any]:
    pages = [p.page for p in pieces if p.page is not None]
    return {
        "page_first": min(pages, default=None),
        "page_last": max(pages, default=None),
        "anchor": pieces[0].anchor,
    }


def _separators(clean: str, chunks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The gaps between chunks, where they are white space. Any other gap is a loss, and conservation shows it."""
    gaps, position = [], 0
    for start, end in [*sorted((c["start"], c["end"]) for c in chunks), (len(clean), len(clean))]:
        if start > position and clean[position:start].isspace():
            gaps.append({"start": position, "end": start, "reason": SEPARATOR})
        position = max(position, end)
    return gaps


def _title(redacted: Mapping[str, Any], pieces: Sequence[Piece], titles: Mapping[int, str]) -> str | None:
    """As the metadata stage chooses it: the declared title, if it is sensible, else the first heading; redacted."""
    declared = next((field["value"] for field in redacted["fields"] if field["name"] == "title"), None)
    return choose_title(declared, next((titles[p.element_id] for p in pieces if p.kind == "heading"), None))


def fingerprint(settings: ChunkSettings) -> Mapping[str, str]:
    """What shapes the output beside settings: the tokenizer's code and its file, the model that compares sentences."""
    counter = tokenizer(settings.tokenizer or DEFAULT_TOKENIZER)
    if settings.strategy != "semantic":
        return counter.fingerprint
    model = embedding_model(EmbeddingSettings(model=settings.semantic_model))
    return {**counter.fingerprint, "semantic": f"{model.name}@{model.version}"}


def unfit_alone(
    document: Mapping[str, Any], rows: Mapping[StageName, dict[str, Any]], settings: ChunkSettings
) -> str | None:
    """Headings are what this stage goes by."""
    return lacks_structure(rows[StageName.PARSE])


STAGE = Stage(
    name=StageName.CHUNK,
    version=2,
    reads=(StageName.FETCH, StageName.PARSE, StageName.NORMALIZE, StageName.PII),
    writes=CHUNK,
    settings=ChunkSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=8,
    evaluate=evaluate,
    labels=("questions", "boundaries"),
    unfit_alone=unfit_alone,
)
