"""The authored texts: YAML front matter over a body in a small Markdown dialect (see `blocks`)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "sources"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the words of the document that answer it."""

    question: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Entity:
    """A named entity by its type and the names it has in the document."""

    type: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """`type` holds between two entities, each given by one of its names."""

    type: str
    head: str
    tail: str


@dataclass(frozen=True, slots=True)
class Assertion:
    """A test of one page; `passages` are its texts by their key (`text`, `before`, `cell` …)."""

    kind: str
    page: int
    passages: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Source:
    """One authored document before it becomes a file.

    `path` is where the file lies in the corpus, `committed` its modification time (ISO 8601, UTC), `labels` the
    kinds of label it gets. `declares` says in which ways an HTML page states author and date.
    """

    name: str
    path: str
    title: str
    body: str
    committed: str
    authors: tuple[str, ...] = ()
    published: str | None = None
    language: str = "en"
    labels: tuple[str, ...] = ()
    declares: tuple[str, ...] = ()
    layout: str = "plain"
    file_title: str | None = None
    description: str = ""
    keep: tuple[str, ...] = ()
    questions: tuple[Question, ...] = field(default=())
    entities: tuple[Entity, ...] = field(default=())
    relations: tuple[Relation, ...] = field(default=())
    assertions: tuple[Assertion, ...] = field(default=())

    @property
    def folder(self) -> str:
        """The first part of the path, by which the demo's configuration assigns classes."""
        return self.path.split("/", 1)[0]


def read_yaml(name: str) -> Any:
    """A YAML file of the sources folder; every scalar stays the text it was written as."""
    return yaml.load((FOLDER / name).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 (text only)


@lru_cache(maxsize=1)
def healthy_sources() -> tuple[Source, ...]:
    """All documents of the first state, by path."""
    return tuple(
        _read(
            "policies",
            "reports",
            "support",
            "articles",
            "bulletins",
            "contracts",
            "sheets",
            "mail",
            "scans",
            "incoming",
        )
    )


@lru_cache(maxsize=1)
def added_sources() -> tuple[Source, ...]:
    """The documents that the second state adds."""
    return tuple(_read("later"))


def _read(*folders: str) -> Iterator[Source]:
    for folder in folders:
        for file in sorted((FOLDER / folder).glob("*.md")):
            yield _parse(f"{folder}/{file.stem}", file.read_text(encoding="utf-8"))


def _parse(name: str, text: str) -> Source:
    _, front, body = text.split("---\n", 2)
    values: dict[str, Any] = yaml.load(front, Loader=yaml.BaseLoader)  # noqa: S506 (text only)
    records: dict[str, Any] = {
        "questions": tuple(Question(**entry) for entry in values.pop("questions", ())),
        "entities": tuple(Entity(entry["type"], tuple(entry["names"])) for entry in values.pop("entities", ())),
        "relations": tuple(Relation(**entry) for entry in values.pop("relations", ())),
        "assertions": tuple(
            Assertion(entry.pop("kind"), int(entry.pop("page")), tuple(entry.items()))
            for entry in values.pop("assertions", ())
        ),
    }
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Source(name=name, body=body.strip(), **fields, **records)
