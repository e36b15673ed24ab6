"""Labels of a rendered document, made from the same blocks as its bytes."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tasks.demo import blocks
from tasks.demo.authored import Source
from tasks.demo.blocks import INVISIBLE, Block
from tasks.gold.kinds import (
    BlockLabel,
    BoundariesLabel,
    BoundaryLabel,
    ContentLabel,
    EntitiesLabel,
    EntityLabel,
    Label,
    LanguageLabel,
    MentionLabel,
    MetadataLabel,
    PageAssertionLabel,
    PageAssertionsLabel,
    PiiLabel,
    PiiSpanLabel,
    QuestionLabel,
    QuestionsLabel,
    Quote,
    RelationLabel,
    StructureLabel,
    TableLabel,
    TablesLabel,
    TextLabel,
)

CONTEXT = 24
"""Code points of prefix and suffix given with a PII quote."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A block where it stands in the file; `main` is false for page furniture and running lines."""

    block: Block
    main: bool = True
    page: int | None = None
    bbox: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """A file's bytes and the blocks in it, in reading order; `text` is the reference text."""

    data: bytes
    placed: tuple[Placed, ...]
    text: str


def labels_of(source: Source, rendered: Rendered) -> dict[str, Label]:
    """The labels that the source asks for, by kind."""
    made: dict[str, Callable[[], Label]] = {
        "text": lambda: TextLabel(text=rendered.text),
        "tables": lambda: _tables(rendered),
        "structure": lambda: _structure(rendered),
        "content": lambda: _content(source, rendered),
        "language": lambda: LanguageLabel(language=source.language),
        "metadata": lambda: MetadataLabel(
            title=source.title, authors=source.authors or None, published=source.published
        ),
        "pii": lambda: _pii(rendered),
        "entities": lambda: _entities(source, rendered),
        "page_assertions": lambda: _assertions(source),
        "boundaries": lambda: _boundaries(rendered),
    }
    found: dict[str, Label] = {kind: made[kind]() for kind in source.labels}
    if source.questions:
        found["questions"] = _questions(source, rendered)
    return found


def _tables(rendered: Rendered) -> TablesLabel:
    return TablesLabel(
        tables=tuple(
            TableLabel(page=p.page, bbox=p.bbox, html=blocks.table_html(p.block.rows))
            for p in rendered.placed
            if p.block.kind == "table"
        )
    )


def _structure(rendered: Rendered) -> StructureLabel:
    return StructureLabel(
        blocks=tuple(
            BlockLabel(kind=p.block.kind, text=visible(p.block.text), level=p.block.level, page=p.page)
            for p in rendered.placed
        )
    )


def _content(source: Source, rendered: Rendered) -> ContentLabel:
    aside = [visible(p.block.text) for p in rendered.placed if not p.main]
    return ContentLabel(
        text="\n\n".join(visible(p.block.text) for p in rendered.placed if p.main),
        must_keep=source.keep,
        # Short furniture ("Archive") may stand in a main text by chance.
        must_drop=tuple(dict.fromkeys(text for text in aside if len(text) >= 20)),
    )


def _boundaries(rendered: Rendered) -> BoundariesLabel:
    """A cut is sensible before a heading or a further paragraph, and harmful after the first words of a paragraph."""
    main = [(p.block.kind, " ".join(visible(p.block.text).split())) for p in rendered.placed if p.main]
    places = [
        BoundaryLabel(before=" ".join(text.split()[-6:]), after=" ".join(after.split()[:6]), sensible=True)
        for (kind, text), (following, after) in pairwise(main)
        if kind in ("paragraph", "list_item") and following in ("heading", "paragraph")
    ]
    for kind, text in main:
        words = text.split()
        if kind == "paragraph" and len(words) > 10:
            places.append(BoundaryLabel(before=" ".join(words[:5]), after=" ".join(words[5:10]), sensible=False))
    return BoundariesLabel(boundaries=tuple(places))


def _questions(source: Source, rendered: Rendered) -> QuestionsLabel:
    return QuestionsLabel(
        questions=tuple(
            QuestionLabel(
                question_id=f"{source.path}#{i}",
                question=question.question,
                section_path=_section(rendered.placed, question.evidence),
                evidence=(Quote(exact=question.evidence),),
            )
            for i, question in enumerate(source.questions, 1)
        )
    )


def _section(placed: Sequence[Placed], evidence: str) -> tuple[str, ...]:
    """The headings above the block that holds the evidence."""
    above: list[tuple[int, str]] = []
    for p in placed:
        if not p.main:
            continue
        if p.block.kind == "heading":
            level = p.block.level or 1
            above = [(n, text) for n, text in above if n < level] + [(level, p.block.text)]
        if evidence in p.block.text:
            return tuple(text for _, text in above)
    raise ValueError(f"no block of this document holds the evidence {evidence!r}")


def _pii(rendered: Rendered) -> PiiLabel:
    spans, negatives = [], []
    for kind, quote in _marked(rendered.placed):
        if kind == "-":
            negatives.append(quote)
        else:
            spans.append(PiiSpanLabel(type=kind, quote=quote))
    return PiiLabel(spans=tuple(spans), hard_negatives=tuple(negatives))


def _marked(placed: Sequence[Placed]) -> Iterator[tuple[str, Quote]]:
    for p in placed:
        sources = [c.source for row in p.block.rows for c in row] if p.block.rows else [p.block.source]
        for source in sources:
            text = blocks.plain(source)
            for kind, start, end in blocks.marks(source):
                yield (
                    kind,
                    Quote(
                        exact=visible(text[start:end]),
                        prefix=visible(text[max(0, start - CONTEXT) : start]),
                        suffix=visible(text[end : end + CONTEXT]),
                    ),
                )


def _entities(source: Source, rendered: Rendered) -> EntitiesLabel:
    """Every place where one of the names stands is a mention."""
    texts = [visible(p.block.text) for p in rendered.placed]
    entities = tuple(
        EntityLabel(
            mentions=tuple(
                MentionLabel(type=entity.type, quote=_quote(text, place.start(), place.end()))
                for name in entity.names
                for text in texts
                for place in re.finditer(rf"\b{re.escape(name)}\b", text)
            )
        )
        for entity in source.entities
    )
    position = {name: i for i, entity in enumerate(source.entities) for name in entity.names}
    return EntitiesLabel(
        entities=entities,
        relations=tuple(
            RelationLabel(type=relation.type, head=position[relation.head], tail=position[relation.tail])
            for relation in source.relations
        ),
    )


def _assertions(source: Source) -> PageAssertionsLabel:
    return PageAssertionsLabel(
        assertions=tuple(
            PageAssertionLabel.model_validate(
                {"id": f"{source.path}#{i}", "kind": a.kind, "page": a.page, **dict(a.passages)}
            )
            for i, a in enumerate(source.assertions, 1)
        )
    )


def _quote(text: str, start: int, end: int) -> Quote:
    """The passage with what stands around it."""
    return Quote(exact=text[start:end], prefix=text[max(0, start - CONTEXT) : start], suffix=text[end : end + CONTEXT])


def visible(text: str) -> str:
    """The text without zero-width and soft-hyphen characters: what a person sees and would type."""
    for character in INVISIBLE.values():
        text = text.replace(character, "")
    return text
