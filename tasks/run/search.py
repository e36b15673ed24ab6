"""Searching the live index as a reader of it would."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from schemas.names import StageName
from tasks.embed.settings import EmbedSettings
from tasks.embedding.model import EmbeddingModel, TokenModel
from tasks.embedding.models import embedding_model
from tasks.errors import ConfigurationError, RunError
from tasks.index.records import Live
from tasks.index.search import LanceView
from tasks.index.settings import IndexSettings
from tasks.index.store import LanceIndex
from tasks.lake.layout import Lake
from tasks.run.configuration import Configuration
from tasks.stage import SearchFilter


class SearchBy(StrEnum):
    """The ways to search."""

    VECTOR = "vector"
    KEYWORD = "keyword"
    LATE_INTERACTION = "late-interaction"


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found, with what the index says of it."""

    rank: int
    score: float
    chunk_id: str
    document_id: str
    title: str | None
    section_path: tuple[str, ...]
    page_first: int | None
    page_last: int | None
    published: str | None
    language: str
    uri: str
    tenant: str
    groups: tuple[str, ...]
    text: str

    def to_json(self) -> dict[str, Any]:
        """The hit as JSON values."""
        return asdict(self)


_COLUMNS = [
    "chunk_id", "document_id", "title", "section_path", "page_first", "page_last", "published", "language", "uri",
    "tenant", "groups", "text",
]  # fmt: skip


def search_live(
    configuration: Configuration,
    lake: Lake,
    question: str,
    *,
    k: int,
    by: SearchBy = SearchBy.VECTOR,
    exact: bool = False,
    where: SearchFilter,
) -> list[Hit]:
    """The `k` best chunks of the live generation, best first.

    Raises:
        ConfigurationError: the question is empty, nothing is live, or live was embedded by another model than the
            configuration names.
        RunError: the model gives no vector.
    """
    if not question.strip():
        raise ConfigurationError("the question is empty", remedy='give some words: `corpusgate search "opening hours"`')
    index = LanceIndex(lake.index, _index_settings(configuration))
    live = index.live()
    if live is None:
        raise ConfigurationError(
            "nothing is live yet", remedy="run, and see what `corpusgate status` says of the verdict"
        )
    view = index.open(live.generation)
    found = _found(view, live, configuration, question, k, by, exact, where)
    rows = _rows(view, [chunk_id for chunk_id, _ in found])
    return [_hit(rank, score, rows[chunk_id]) for rank, (chunk_id, score) in enumerate(found, 1)]


def _found(
    view: LanceView,
    live: Live,
    configuration: Configuration,
    question: str,
    k: int,
    by: SearchBy,
    exact: bool,
    where: SearchFilter,
) -> list[tuple[str, float]]:
    if by is SearchBy.KEYWORD:
        return view.search_text(question, k, where=where)
    model = _model_of(live, configuration)
    if by is SearchBy.LATE_INTERACTION:
        if not isinstance(model, TokenModel):
            raise ConfigurationError(
                f"the embedding model {model.name} gives no vectors of tokens", remedy="search by vector or by keyword"
            )
        return view.search_tokens(model.token_states(question, query=True).vectors.tolist(), k, where=where)
    made = model.embed([question], query=True)
    if made.refused or not made.vectors[0].any():
        raise RunError(
            f"the embedding model {model.name} gives no vector for the question", remedy="search with --by keyword"
        )
    return view.search_vector(made.vectors[0].tolist(), k, exact=exact, where=where)


def _model_of(live: Live, configuration: Configuration) -> EmbeddingModel:
    settings = configuration.stages.of(StageName.EMBED)
    if not isinstance(settings, EmbedSettings):
        raise TypeError(f"settings of the embed stage are {type(settings).__name__}")
    model = embedding_model(settings)
    name = f"{model.name}@{model.version}"
    if name != live.generation.embedding:
        raise ConfigurationError(
            f"the live index was embedded by {live.generation.embedding}, the configuration names {name}: their "
            f"vectors cannot be compared",
            remedy="run, so that the index is embedded by this model, or search with --by keyword",
        )
    return model


def _index_settings(configuration: Configuration) -> IndexSettings:
    settings = configuration.stages.of(StageName.INDEX)
    if not isinstance(settings, IndexSettings):
        raise TypeError(f"settings of the index stage are {type(settings).__name__}")
    return settings


def _rows(view: LanceView, chunk_ids: list[str]) -> dict[str, dict[str, Any]]:
    wanted = set(chunk_ids)
    documents = sorted({chunk_id.split("/", 1)[0] for chunk_id in wanted})
    return {
        row["chunk_id"]: row
        for table in view.rows(_COLUMNS, documents)
        for row in table.to_pylist()
        if row["chunk_id"] in wanted
    }


def _hit(rank: int, score: float, row: Mapping[str, Any]) -> Hit:
    values = {name: row[name] for name in _COLUMNS} | {
        "section_path": tuple(row["section_path"]),
        "groups": tuple(row["groups"]),
        "published": row["published"].isoformat() if row["published"] else None,
    }
    return Hit(rank=rank, score=score, **values)
