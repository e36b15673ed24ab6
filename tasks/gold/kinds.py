"""The kinds of label, one frozen record each. A gold set holds one JSONL file per kind, named after it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Label(BaseModel):
    """Base of all labels: frozen, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Quote(Label):
    """A passage by its words (W3C Web Annotation Model, TextQuoteSelector)."""

    exact: str = Field(min_length=1)
    prefix: str = ""
    suffix: str = ""


class TextLabel(Label):
    """The reference text of a document: what a careful person would type off it, in reading order.

    `ignores` names what the transcription did not keep (`case`); it is left out of the comparison.
    """

    text: str
    ignores: tuple[Literal["case"], ...] = ()


class TableLabel(Label):
    """One table: its page (from 1; null for formats without pages), and its HTML with spans."""

    page: int | None = None
    bbox: tuple[float, float, float, float] | None = None
    html: str


class TablesLabel(Label):
    """All tables of a document in reading order; an empty list says that it has none."""

    tables: tuple[TableLabel, ...]


class BlockLabel(Label):
    """One block in reading order."""

    kind: str
    text: str
    level: int | None = None
    page: int | None = None


class StructureLabel(Label):
    """The blocks of a document in reading order."""

    blocks: tuple[BlockLabel, ...]


class PageAssertionLabel(Label):
    """One assertion about a page: what its kind needs is set, the rest is null.

    `present` and `absent` have `text` (and `case_sensitive`, `first_n`, `last_n`), `order` has `before` and `after`,
    `table` has `cell` and neighbours, `math` has `math`, `baseline` may have `max_length`.
    """

    id: str = Field(min_length=1)
    page: int = Field(ge=1)
    kind: Literal["present", "absent", "order", "table", "math", "baseline"]
    text: str | None = None
    before: str | None = None
    after: str | None = None
    cell: str | None = None
    up: str | None = None
    down: str | None = None
    left: str | None = None
    right: str | None = None
    top_heading: str | None = None
    left_heading: str | None = None
    math: str | None = None
    max_diffs: int = Field(default=0, ge=0)
    case_sensitive: bool = True
    first_n: int | None = Field(default=None, ge=1)
    last_n: int | None = Field(default=None, ge=1)
    max_length: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> "PageAssertionLabel":
        needed = {"order": ("before", "after"), "table": ("cell",), "math": ("math",), "baseline": ()}
        for name in needed.get(self.kind, ("text",)):
            if not (getattr(self, name) or "").strip():
                raise ValueError(f"an assertion of kind {self.kind} needs {name}")
        return self


class PageAssertionsLabel(Label):
    """Unit tests of single pages: text that must (not) be there, order, neighbours in tables, sanity."""

    assertions: tuple[PageAssertionLabel, ...]


class ContentLabel(Label):
    """The main text of a page, segments that must stay, segments that must go."""

    text: str
    must_keep: tuple[str, ...] = ()
    must_drop: tuple[str, ...] = ()


class LanguageLabel(Label):
    """The language of a document: an ISO 639 code, or `und` for one that must come out as unknown."""

    language: str


class PairLabel(Label):
    """Another document and whether the two are duplicates. Stated on the first of the two.

    `other_content_sha` is the SHA-256 of the other's bytes when the pair was judged; without it, new bytes of the other
    document go unnoticed.
    """

    other: str
    duplicate: bool
    other_content_sha: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")


class PairsLabel(Label):
    """The labelled pairs of a document.

    `complete`: no other document is a duplicate of it but those that follow from pairs, so that a merge with another
    document of which all pairs are named is a false one.
    """

    pairs: tuple[PairLabel, ...]
    complete: bool = False


class PiiSpanLabel(Label):
    """One PII value with its entity type and where it stands."""

    type: str
    quote: Quote


class PiiLabel(Label):
    """All PII of a document, complete, and look-alikes that must not be flagged."""

    spans: tuple[PiiSpanLabel, ...]
    hard_negatives: tuple[Quote, ...] = ()


class MetadataLabel(Label):
    """Title, authors, date of publication (ISO 8601 day); null or absent means not labelled."""

    title: str | None = None
    authors: tuple[str, ...] | None = None
    published: str | None = None


class MentionLabel(Label):
    """One mention of an entity, with its type."""

    type: str
    quote: Quote


class EntityLabel(Label):
    """An entity with all its mentions."""

    mentions: tuple[MentionLabel, ...] = Field(min_length=1)


class RelationLabel(Label):
    """`type` holds from one entity to another; both by their position in the list of entities."""

    type: str
    head: int = Field(ge=0)
    tail: int = Field(ge=0)


class EntitiesLabel(Label):
    """All named entities of a document; its relations, complete for each type that occurs (null: not labelled)."""

    entities: tuple[EntityLabel, ...]
    relations: tuple[RelationLabel, ...] | None = None

    @model_validator(mode="after")
    def _known_entities(self) -> "EntitiesLabel":
        if any(max(r.head, r.tail) >= len(self.entities) for r in self.relations or ()):
            raise ValueError("a relation names an entity that the list does not hold")
        return self


class QuestionLabel(Label):
    """A question that this document answers.

    A question that several documents answer stands in the label of each, with the same id and words. `relevance` is the
    grade of this document for it: 1 where judgements are yes or no, more where some documents answer better.
    """

    question_id: str
    question: str
    section_path: tuple[str, ...] = ()
    evidence: tuple[Quote, ...] = ()
    relevance: int = Field(default=1, ge=1)


class QuestionsLabel(Label):
    """The questions that a document answers."""

    questions: tuple[QuestionLabel, ...]


class BoundaryLabel(Label):
    """A place in the text: the words right before it and right after it, and whether a cut there is sensible."""

    before: str = Field(min_length=1, pattern=r"\S$")
    after: str = Field(min_length=1, pattern=r"^\S")
    sensible: bool


class BoundariesLabel(Label):
    """Places of a document where a chunk should end, and places where none should."""

    boundaries: tuple[BoundaryLabel, ...]


LABEL_KINDS: Mapping[str, type[Label]] = MappingProxyType(
    {
        "text": TextLabel,
        "tables": TablesLabel,
        "structure": StructureLabel,
        "page_assertions": PageAssertionsLabel,
        "content": ContentLabel,
        "language": LanguageLabel,
        "pairs": PairsLabel,
        "pii": PiiLabel,
        "metadata": MetadataLabel,
        "entities": EntitiesLabel,
        "questions": QuestionsLabel,
        "boundaries": BoundariesLabel,
    }
)
