"""Chunk: cuts a document's redacted text by its structure, within a token budget."""

import hashlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from schemas.names import StageName
from schemas.stages import CHUNK
from tasks.chunk.evaluator import evaluate
from tasks.chunk.packing import Packer
from tasks.chunk.settings import ChunkSettings
from tasks.chunk.structure import Piece, SectionIds, kept_pieces, sections
from tasks.embedding import wordllama_files as wordllama
from tasks.documents.offsets import RedactionMap
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
            remedy="look at what parse and boilerplate kept (corpusgate trace); a scan may need OCR",
        )
    offsets = RedactionMap(redacted["spans"])
    pieces = kept_pieces(parsed["elements"], normalized["elements"], text, offsets)
    by_id = {piece.element_id: piece for piece in pieces}
    titles = {p.element_id: " ".join(text[p.start : p.end].split()) for p in pieces if p.kind == "heading"}
    forbidden = [(span["redacted_start"], span["redacted_end"]) for span in redacted["spans"]]
    grouped = sections(pieces)
    packer = Packer(text, forbidden, settings)
    ids = SectionIds(document_id, titles)
    chunks: list[dict[str, Any]] = []
    for section, (ranges, counts) in zip(grouped, packer.pack([s.pieces for s in grouped]), strict=True):
        for made, tokens in zip(ranges, counts, strict=True):
            inside = [p for p in section.pieces if p.start < made.end and made.start < p.end]
            chunk_text = packer.chunk_text(made)
            chunks.append(
                {
                    "chunk_id": ids.next_id(section.headings),
                    "ordinal": len(chunks),
                    "start": offsets.to_clean(made.start),
                    "end": offsets.to_clean(made.end, end=True),
                    "text": chunk_text,
                    "prefix_length": len(made.prefix),
                    "section_path": [titles[by_id[h].element_id] for h in section.headings],
                    **_where(inside),
                    "element_ids": [p.element_id for p in inside],
                    "tokens": tokens,
                    "text_sha": hashlib.sha256(chunk_text.encode()).hexdigest(),
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


def fingerprint(settings: ChunkSettings) -> Mapping[str, str]:
    """What shapes the output beside settings: the tokenizer's code and its file."""
    return {"tokenizers": version("tokenizers"), "wordllama-tokenizer": wordllama.tokenizer_sha()}


STAGE = Stage(
    name=StageName.CHUNK,
    version=1,
    reads=(StageName.FETCH, StageName.PARSE, StageName.NORMALIZE, StageName.PII),
    writes=CHUNK,
    settings=ChunkSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=4,
    evaluate=evaluate,
    labels=("questions",),
)
