"""Labels of a batch of documents, as an evaluator sees them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from tasks.gold.kinds import Label

L = TypeVar("L", bound=Label)


@dataclass(frozen=True, slots=True)
class BoundLabel:
    """A label bound to the bytes it was made for; `stale` says that the document's bytes are others now."""

    label: Label
    content_sha: str
    stale: bool


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels by (document id, kind); at most one label of a kind per document."""

    version: str | None
    bound: Mapping[tuple[str, str], BoundLabel]

    def of(self, document_id: str, kind: type[L], name: str) -> L | None:
        """The label of this kind, or null where there is none or it is stale (ask `is_stale`)."""
        found = self.bound.get((document_id, name))
        if found is None or found.stale:
            return None
        if not isinstance(found.label, kind):
            raise TypeError(f"label kind {name!r} holds {type(found.label).__name__}, not {kind.__name__}")
        return found.label

    def is_stale(self, document_id: str, name: str) -> bool:
        """Whether a label of this kind exists but was made for other bytes."""
        found = self.bound.get((document_id, name))
        return found is not None and found.stale


NO_LABELS = Labels(None, {})
