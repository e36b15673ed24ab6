"""Files of rows, each of which is a document; and what a row's columns say."""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.errors import DocumentError
from tasks.fetch.containers import ErrorParts, changed, parts_of, scan
from tasks.fetch.folders import Found, find_files, not_a_file
from tasks.fetch.listed import Listed, Skips, cannot_list, not_ahead
from tasks.fetch.local import portable_name, too_large
from tasks.fetch.places import Part, PartKind, Refused, locator_of
from tasks.fetch.settings import FetchSettings
from tasks.fetch.sources import FolderSource, RecordsSource
from tasks.fetch.urls import canonical_url

_LONGEST_ID = 1000
_TEXT = ("text/", "application/json", "application/xml", "application/xhtml+xml")


def list_records(source: RecordsSource, settings: FetchSettings, skips: Skips) -> Iterator[Listed]:
    """Each row of the source's files as a document, hashed. A row that is none is listed under its line.

    Raises:
        ConfigurationError: a file cannot be read to its end.
    """
    columns = {
        "id": source.id,
        "content": source.content,
        "media_type": source.media_type,
        "media_type_column": source.media_type_column,
        "url": source.url,
        "modified": source.modified,
    }
    seen: dict[str, tuple[Path, str]] = {}
    for found, path in containers(source, skips):
        kind = _kind(source, found, path)
        module = "json_lines" if kind is PartKind.JSONL else "parquet_rows"
        arguments = [str(path), columns, {"max_ratio": settings.max_archive_ratio, "max_bytes": settings.max_bytes}]
        unit = "line" if kind is PartKind.JSONL else "row"
        now = datetime.now(UTC)
        for row in scan(f"tasks.fetch.{module}:scan", arguments, source.name, found.uri, settings):
            where = f"{unit} {row['number']}"  # without the file's name, which may be personal
            refused = row.get("refused")
            uri = row["url"] if row.get("url") else f"{found.uri}#{row.get('id')}"
            if refused is None and uri in seen:
                file, first = seen[uri]
                other = first if file == path else f"{first} of another file"
                refused = "duplicate_id", f"names its document as {other} does"
            if refused is not None:
                place = Refused(refused[0], f"{where} {refused[1]}", "correct that row, or take it out of the file")
                uri = f"{found.uri}#({unit} {row['number']})"
                while uri in seen:  # another row has this for its id
                    uri += "'"
                seen[uri] = path, where
                yield Listed(source.name, uri, locator_of(place))
                continue
            seen[uri] = path, where
            modified = None if row["modified"] is None else datetime.fromisoformat(row["modified"])
            yield Listed(
                source.name,
                uri,
                locator_of(Part(kind, str(path), row["position"], source.content)),
                row["media_type"],
                row["size"],
                not_ahead(modified, now),
                row["sha"],
            )


def containers(source: FolderSource, skips: Skips) -> Iterator[tuple[Found, Path]]:
    """The files of a source whose files hold many documents.

    Raises:
        ConfigurationError: one of them cannot be looked into; which documents it holds is then unknown.
    """
    root = source.root.expanduser().resolve()
    for found in find_files(source, skips):
        if (error := not_a_file(found, root)) is not None:
            raise cannot_list(source.name, f"{found.uri}: {error}", "mend it, or leave it out with `exclude`")
        if portable_name(str(found.target)) != str(found.target):
            raise cannot_list(source.name, f"{found.uri}: its name is not text", "rename it")
        yield found, found.target


def _kind(source: RecordsSource, found: Found, path: Path) -> PartKind:
    try:
        with path.open("rb") as file:
            return PartKind.PARQUET if file.read(4) == b"PAR1" else PartKind.JSONL
    except OSError as error:
        raise cannot_list(
            source.name, f"{found.uri} cannot be read: {error.strerror}", "give read permission, or leave it out"
        ) from error


class RowError(Exception):
    """A row is no document: the class of the error, and what is wrong, to be said after the row's place."""

    def __init__(self, error_class: str, what: str) -> None:
        super().__init__(what)
        self.error_class = error_class
        self.what = what


def read_row(row: Mapping[str, Any], columns: Mapping[str, str | None]) -> dict[str, Any]:
    """What a row says about its document besides the content.

    Raises:
        RowError: it has no usable id.
    """
    url = canonical_url(str(row.get(columns["url"]) or "")) if columns["url"] else None
    return {
        "id": None if url else _id(row.get(columns["id"] or "")),
        "url": url,
        "media_type": _media_type(row, columns),
        "modified": _time(row.get(columns["modified"])) if columns["modified"] else None,
    }


def content_of(value: Any, column: str) -> bytes:
    """The bytes of a document; text in UTF-8.

    Raises:
        RowError: the column holds neither text nor bytes.
    """
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise RowError("no_content", f"holds no text or bytes in the column {column!r}")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise RowError("no_content", f"holds half a character (a lone surrogate) in the column {column!r}") from None


def declared(media_type: str, value: Any) -> str:
    """The media type of a row's content. Text was decoded already: its encoding is no longer what it says itself."""
    if isinstance(value, str) and media_type.startswith(_TEXT) and "charset" not in media_type:
        return f"{media_type}; charset=utf-8"
    return media_type


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise RowError("no_id", "has no id that is text or a whole number")
    text = str(value)
    if len(text) > _LONGEST_ID or not text.isprintable():
        raise RowError("no_id", f"has an id that is longer than {_LONGEST_ID} characters or holds control characters")
    return text


def _media_type(row: Mapping[str, Any], columns: Mapping[str, str | None]) -> str:
    stated = row.get(columns["media_type_column"]) if columns["media_type_column"] else None
    return stated if isinstance(stated, str) and "/" in stated else str(columns["media_type"])


def _time(value: Any) -> str | None:
    """A time as ISO 8601; null for what is none."""
    try:
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, (int, float)):
            parsed = datetime.fromtimestamp(value, UTC)
        else:
            parsed = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return (parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)).isoformat()


def described(
    number: int, position: int, row: Mapping[str, Any] | RowError, columns: Mapping[str, str]
) -> dict[str, Any]:
    """What is known of a row after the scan: its place, what it says and the digest of its content, or why it is no
    document (`refused`).
    """
    said: dict[str, Any] = {"number": number, "position": position}
    try:
        if isinstance(row, RowError):
            raise row
        said |= read_row(row, columns)
        value = row.get(columns["content"])
        data = content_of(value, columns["content"])
        said |= {"media_type": declared(said["media_type"], value), "size": len(data)}
        said["sha"] = hashlib.sha256(data).hexdigest()
    except RowError as error:
        said["refused"] = [error.error_class, error.what]
    return said


def taken(row: Mapping[str, Any] | RowError, column: str, target: Path, max_bytes: int) -> ErrorParts | None:
    """Writes the content of a row; what is wrong with it, or null. A row that the scan took and that is none any more
    has changed meanwhile.
    """
    try:
        if isinstance(row, RowError):
            raise row
        data = content_of(row.get(column), column)
        if len(data) > max_bytes:
            raise too_large(max_bytes)
        target.write_bytes(data)
    except RowError:
        return parts_of(changed())
    except DocumentError as error:
        return parts_of(error)
    return None
