"""Labels of a batch of documents, as an evaluator sees them."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from tasks.gold.kinds import LABEL_KINDS, Label

L = TypeVar("L", bound=Label)


@dataclass(frozen=True, slots=True)
class BoundLabel:
    """A label bound to the bytes it was made for; `stale` says that the document's bytes are others now."""

    label: Label
    content_sha: str
    stale: bool

    @property
    def canonical(self) -> str:
        """The label as canonical JSON, the same for equal labels."""
        data = self.label.model_dump(mode="json")
        return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class StoredLabel:
    """A bound label kept as compressed JSON and read anew each time: the labels of a whole corpus stay small."""

    __slots__ = ("_kind", "_payload", "content_sha", "stale")

    def __init__(self, kind: str, canonical: str, content_sha: str, *, stale: bool) -> None:
        self._kind = kind
        self._payload = zlib.compress(canonical.encode(), 1)
        self.content_sha = content_sha
        self.stale = stale

    @property
    def label(self) -> Label:
        """The label, made from its JSON."""
        return LABEL_KINDS[self._kind].model_validate_json(self.canonical)

    @property
    def canonical(self) -> str:
        """The label as canonical JSON."""
        return zlib.decompress(self._payload).decode()


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels by (document id, kind); at most one label of a kind per document."""

    version: str | None
    bound: Mapping[tuple[str, str], BoundLabel | StoredLabel]

    def of(self, document_id: str, kind: type[L], name: str) -> L | None:
        """The label of this kind, or null where there is none or it is stale (ask `is_stale`)."""
        found = self.bound.get((document_id, name))
        if found is None or found.stale:
            return None
        label = found.label
        if not isinstance(label, kind):
            raise TypeError(f"label kind {name!r} holds {type(label).__name__}, not {kind.__name__}")
        return label

    def is_stale(self, document_id: str, name: str) -> bool:
        """Whether a label of this kind exists but was made for other bytes."""
        found = self.bound.get((document_id, name))
        return found is not None and found.stale


NO_LABELS = Labels(None, {})
