"""Where `fetch` reads a document that is neither a file nor a web page. Stands in the plan as JSON text."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TypeAlias

from tasks.errors import DocumentError


class PartKind(StrEnum):
    """Files that hold many documents."""

    ZIP = "zip"
    JSONL = "jsonl"
    PARQUET = "parquet"
    WARC = "warc"


@dataclass(frozen=True, slots=True)
class StoreObject:
    """An object of a store: the URL of the source's folder, and the object's path in that file system."""

    url: str
    path: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file that holds many documents.

    `container` is a path (of a ZIP archive: a URL). `position` is, by kind, the offset of the member's header, of the
    line in the unpacked text or of the record in the file, or the number of the row from 0. `content` is the column.
    """

    kind: PartKind
    container: str
    position: int
    content: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that is there, but that the listing saw to be no document."""

    error_class: str
    message: str
    remedy: str

    def error(self) -> DocumentError:
        """The error that sends it to quarantine."""
        return DocumentError(self.error_class, self.message, remedy=self.remedy)


Place: TypeAlias = StoreObject | Part | Refused
_KINDS = {"object": StoreObject, "part": Part, "refused": Refused}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def locator_of(place: Place) -> str:
    """The place as text.

    >>> place_of(locator_of(StoreObject("s3://bucket", "bucket/a.pdf"))).path
    'bucket/a.pdf'
    """
    return json.dumps({_NAMES[type(place)]: asdict(place)}, ensure_ascii=False)


def place_of(locator: str) -> Place | None:
    """The place that a locator names; null for a file's absolute path or a URL."""
    if not locator.startswith("{"):
        return None
    [(name, fields)] = json.loads(locator).items()
    if name == "part":
        fields["kind"] = PartKind(fields["kind"])
    place: Place = _KINDS[name](**fields)
    return place
