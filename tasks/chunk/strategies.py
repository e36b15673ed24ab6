"""What may stand together in a chunk: the elements of a document in groups, over whose borders no chunk reaches."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from tasks.chunk.semantic import semantic_groups
from tasks.chunk.settings import ChunkSettings
from tasks.chunk.structure import Piece, sections
from tasks.embedding.model import Tokenizer

Headings: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Elements, or parts of elements, that may stand together; the headings they are all under where that is settled
    beforehand (a section's), else null."""

    pieces: Sequence[Piece]
    headings: Headings | None = None


def groups(
    pieces: Sequence[Piece],
    text: str,
    forbidden: Sequence[tuple[int, int]],
    settings: ChunkSettings,
    counter: Tokenizer,
) -> list[Group]:
    """The pieces, in order, in the groups of the strategy: sections, pages, groups of sentences, or all in one.

    No group reaches from one part of the document (sheet, attachment) into another, whatever the strategy.
    """
    parts = [list(part) for _, part in groupby(pieces, key=lambda piece: piece.part)]
    return [group for part in parts for group in _groups_of_part(part, text, forbidden, settings, counter)]


def _groups_of_part(
    pieces: Sequence[Piece],
    text: str,
    forbidden: Sequence[tuple[int, int]],
    settings: ChunkSettings,
    counter: Tokenizer,
) -> list[Group]:
    if settings.strategy == "structure":
        return [Group(section.pieces, section.headings) for section in sections(pieces)]
    if settings.strategy == "page":
        return [Group(list(group)) for _, group in groupby(pieces, key=lambda piece: piece.page)]
    if settings.strategy == "semantic":
        return [Group(group) for group in semantic_groups(pieces, text, forbidden, settings, counter)]
    return [Group(pieces)]


def common_headings(pieces: Sequence[Piece]) -> Headings:
    """The headings under which all of the pieces lie. Headings among them count only where they are alone, and then
    only those under which none of the others lies.

    So a chunk that begins with two headings and their text is under both, and one that reaches over two sections is
    under what both are under.
    """
    under = [piece.headings for piece in pieces if piece.kind != "heading"]
    if not under:
        above = {heading for piece in pieces for heading in piece.headings[:-1]}
        under = [piece.headings for piece in pieces if piece.headings[-1] not in above]
    shared = 0
    while all(len(h) > shared and h[shared] == under[0][shared] for h in under):
        shared += 1
    return under[0][:shared]
