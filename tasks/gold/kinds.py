"""The kinds of label, one frozen record each. A gold set holds one JSONL file per kind, named after it."""

from collections.abc import Mapping
from types import MappingProxyType

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
    """The reference text of a document: what a careful person would type off it, in reading order."""

    text: str


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
    """The labelled pairs of a document."""

    pairs: tuple[PairLabel, ...]


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
    """A question whose evidence lies in this document."""

    question_id: str
    question: str
    section_path: tuple[str, ...] = ()
    evidence: tuple[Quote, ...] = ()


class QuestionsLabel(Label):
    """The questions of a document."""

    questions: tuple[QuestionLabel, ...]


LABEL_KINDS: Mapping[str, type[Label]] = MappingProxyType(
    {
        "text": TextLabel,
        "tables": TablesLabel,
        "structure": StructureLabel,
        "content": ContentLabel,
        "language": LanguageLabel,
        "pairs": PairsLabel,
        "pii": PiiLabel,
        "metadata": MetadataLabel,
        "entities": EntitiesLabel,
        "questions": QuestionsLabel,
    }
)
