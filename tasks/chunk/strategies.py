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
    found: list[Group] = []
    for _, members in groupby(pieces, key=lambda piece: piece.part):
        part = list(members)
        if settings.strategy == "structure":
            found += [Group(section.pieces, section.headings) for section in sections(part)]
        elif settings.strategy == "page":
            found += [Group(list(group)) for _, group in groupby(part, key=lambda piece: piece.page)]
        elif settings.strategy == "semantic":
            found += [Group(group) for group in semantic_groups(part, text, forbidden, settings, counter)]
        else:
            found.append(Group(part))
    return found


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
