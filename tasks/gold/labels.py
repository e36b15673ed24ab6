"""Labels of a batch of documents, as an evaluator sees them."""

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from tasks.gold.kinds import LABEL_KINDS, Label

L = TypeVar("L", bound=Label)


@dataclass(frozen=True, slots=True)
class PackedLabel:
    """A label as compressed JSON, made anew each time it is asked for: the labels of a whole corpus stay small."""

    model: type[Label]
    payload: bytes
    digest: bytes
    """SHA-256 of the JSON."""

    @classmethod
    def of(cls, label: Label) -> "PackedLabel":
        """Packs a label."""
        data = label.model_dump(mode="json")
        return cls._packed(type(label), json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")))

    @classmethod
    def stored(cls, kind: str, canonical: str) -> "PackedLabel":
        """Packs a label that was stored as `canonical`."""
        return cls._packed(LABEL_KINDS[kind], canonical)

    @classmethod
    def _packed(cls, model: type[Label], canonical: str) -> "PackedLabel":
        data = canonical.encode()
        return cls(model, zlib.compress(data, 1), hashlib.sha256(data).digest())

    @property
    def label(self) -> Label:
        """The label."""
        return self.model.model_validate_json(self.canonical)

    @property
    def canonical(self) -> str:
        """The label as JSON, the same for equal labels."""
        return zlib.decompress(self.payload).decode()


@dataclass(frozen=True, slots=True)
class BoundLabel:
    """A label of a document. `stale`: it was made for other bytes than the document has now."""

    packed: PackedLabel
    content_sha: str
    stale: bool

    @classmethod
    def of(cls, label: Label, content_sha: str, stale: bool) -> "BoundLabel":
        """Binds a label."""
        return cls(PackedLabel.of(label), content_sha, stale)

    @property
    def label(self) -> Label:
        """The label itself."""
        return self.packed.label


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
        label = found.label
        if not isinstance(label, kind):
            raise TypeError(f"label kind {name!r} holds {type(label).__name__}, not {kind.__name__}")
        return label

    def is_stale(self, document_id: str, name: str) -> bool:
        """Whether a label of this kind exists but was made for other bytes."""
        found = self.bound.get((document_id, name))
        return found is not None and found.stale

    def completed_by(self, former: "Labels") -> "Labels":
        """These labels, each stale one replaced by the former label of its document and kind that is not stale."""
        fresh = {
            key: former.bound[key]
            for key, label in self.bound.items()
            if label.stale and key in former.bound and not former.bound[key].stale
        }
        return Labels(self.version, {**self.bound, **fresh})


NO_LABELS = Labels(None, {})
