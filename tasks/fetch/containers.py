"""Files that hold many documents: listed and read in the cage, because they are foreign files.

Each kind has a module with two functions that run in a worker:

- `scan(container, …, out, pages)` writes a line of JSON per document or skipped thing into the file `out`;
- `take(container, wanted, folder, limits, pages)` writes the bytes of each wanted part into `folder` under its number
  and returns, for each, null or the error that sends it to quarantine.
"""

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from tasks.documents.cage import Cage, Job, JobResult
from tasks.errors import DocumentError
from tasks.fetch.listed import cannot_list
from tasks.fetch.places import Part, PartKind
from tasks.fetch.settings import FetchSettings

_READERS = {
    PartKind.ZIP: "tasks.fetch.zips:take",
    PartKind.JSONL: "tasks.fetch.json_lines:take",
    PartKind.PARQUET: "tasks.fetch.parquet_rows:take",
    PartKind.WARC: "tasks.fetch.warcs:take",
}

_OF_ONE_PART = frozenset({"crashed", "exited", "memory", "parser_error", "changed", "too_large"})
"""Errors of a whole job that a single part may be at fault for."""

ErrorParts: TypeAlias = tuple[str, str, str, bool]
"""Class, message, remedy and transience of a document's error, as JSON carries them."""


def scan(
    target: str, arguments: Sequence[Any], source: str, container: str, settings: FetchSettings
) -> Iterator[dict[str, Any]]:
    """What a container holds, as its module's `scan` says.

    Raises:
        ConfigurationError: it could not be read to its end.
    """
    with tempfile.TemporaryDirectory(prefix="corpusgate-") as folder:
        out = Path(folder) / "rows.jsonl"
        [result] = Cage.shared(settings.limits).run([Job(container, target, [*arguments, str(out)])])
        if result.error is not None:
            raise cannot_list(source, f"{container}: {result.error}", result.error.remedy) from result.error
        with out.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


@dataclass(frozen=True, slots=True)
class Taken:
    """A part that was read: where its bytes lie for the moment, or why it has none; and its share of the time.

    `hashed` says that the listing saw the bytes, which must be the same now.
    """

    file: Path | None
    error: DocumentError | None
    seconds: float
    peak_rss_bytes: int | None
    hashed: bool


def take(parts: Mapping[str, Part], folder: Path, cache: Path, settings: FetchSettings) -> dict[str, Taken]:
    """Reads parts (by document id) into files below `folder`.

    The parts of one container (and column) are one job. If it dies of one of them, they are tried one by one, so that
    the one at fault is found.
    """
    groups: dict[tuple[PartKind, str, str | None], list[str]] = defaultdict(list)
    for document_id, part in sorted(parts.items(), key=lambda item: (item[1].container, item[1].position)):
        groups[part.kind, part.container, part.content].append(document_id)
    taken: dict[str, Taken] = {}
    alone: list[list[str]] = []
    for ids, result, place in _run(list(groups.values()), parts, folder, cache, settings):
        if result.error is not None and result.error.error_class in _OF_ONE_PART and len(ids) > 1:
            alone += [[document_id] for document_id in ids]
        else:
            taken |= _sorted_out(ids, result, place, parts)
    for ids, result, place in _run(alone, parts, folder, cache, settings):
        taken |= _sorted_out(ids, result, place, parts)
    return taken


def _run(
    groups: list[list[str]], parts: Mapping[str, Part], folder: Path, cache: Path, settings: FetchSettings
) -> Iterator[tuple[list[str], JobResult, Path]]:
    limits = {"max_bytes": settings.max_bytes, "max_ratio": settings.max_archive_ratio, "cache": str(cache)}
    places = [Path(tempfile.mkdtemp(dir=folder)) for _ in groups]
    jobs = []
    for ids, place in zip(groups, places, strict=True):
        first = parts[ids[0]]
        wanted = [[parts[document_id].position, parts[document_id].content] for document_id in ids]
        jobs.append(Job(first.container, _READERS[first.kind], [first.container, wanted, str(place), limits]))
    yield from zip(groups, Cage.shared(settings.limits).run(jobs), places, strict=True)


def _sorted_out(ids: list[str], result: JobResult, place: Path, parts: Mapping[str, Part]) -> dict[str, Taken]:
    share = result.seconds / len(ids)
    errors: list[ErrorParts | None] = [None] * len(ids) if result.error else result.value
    made = {}
    for number, (document_id, said) in enumerate(zip(ids, errors, strict=True)):
        error = result.error or _error(said)
        hashed = parts[document_id].kind is not PartKind.ZIP
        file = None if error else place / str(number)
        made[document_id] = Taken(file, error, share, result.peak_rss_bytes, hashed)
    return made


def _error(said: ErrorParts | None) -> DocumentError | None:
    if said is None:
        return None
    error_class, message, remedy, transient = said
    return DocumentError(error_class, message, remedy=remedy, transient=transient)


def opened(path: str) -> IO[bytes]:
    """A container on this machine, for reading.

    Raises:
        DocumentError: `unreadable`, transient.
    """
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise DocumentError(
            "unreadable",
            f"the file cannot be read: {error.strerror}",
            remedy="check that it exists and its permissions; then run again",
            transient=True,
        ) from error


def changed() -> DocumentError:
    """The error for a part that is no longer what the listing saw."""
    return DocumentError(
        "changed",
        "the file that holds it was written anew while the run was under way",
        remedy="run again",
        transient=True,
    )


def parts_of(error: DocumentError) -> ErrorParts:
    """An error as JSON carries it."""
    return error.error_class, str(error), error.remedy, error.transient
