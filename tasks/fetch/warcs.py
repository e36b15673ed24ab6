"""WARC files: what they captured, and the pages themselves. Runs in the cage."""

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecordLoader

from tasks.errors import DocumentError
from tasks.fetch.containers import ErrorParts, changed, opened, parts_of
from tasks.fetch.local import too_large

_CHUNK = 1 << 16
_SMALL = 1 << 20
_KNOWN_ENCODINGS = ("", "identity", "gzip", "deflate")
_OTHER_TYPES = frozenset({"warcinfo", "resource", "request", "metadata", "revisit", "conversion", "continuation"})
"""The types of ISO 28500 beside `response`. What else an archive says is its own text, and stands in no counter."""
_STATUS = re.compile(r"[1-9][0-9]{2}")


def scan(path: str, limits: dict[str, Any], out: str, _: Any) -> int:
    """Writes a line for each record of the archive; returns how many.

    Raises:
        DocumentError: `corrupt`: it is damaged, ends early or is no WARC; `archive_ratio`: it unpacks to too much.
    """
    gzipped = _check_gzip(Path(path), limits["max_ratio"])
    count = 0
    with opened(path) as file, Path(out).open("w", encoding="utf-8") as lines:
        records = _records(file, check_digests=True)
        for record in _whole(records):
            lines.write(json.dumps(_row(record, limits["max_bytes"]) | _place(records, record)) + "\n")
            count += 1
        if not gzipped and records.offset != Path(path).stat().st_size:
            raise _corrupt(f"the record at byte {records.offset:,} ends within its headers")
        if records.err_count:
            raise _corrupt(f"a record does not end where it says ({records.err_count} of them)")
    return count


def take(
    path: str, wanted: list[tuple[int, Any]], folder: str, limits: dict[str, Any], _: Any
) -> list[ErrorParts | None]:
    """Writes the pages of the wanted records (by their offset in the file) into the folder."""
    said: list[ErrorParts | None] = []
    with opened(path) as file:
        for number, (position, _column) in enumerate(wanted):
            file.seek(position)
            try:
                record = next(_whole(_records(file)), None)
                if record is None or record.rec_type != "response":
                    raise changed()
                with (Path(folder) / str(number)).open("wb") as made:
                    for part in _content(record, limits["max_bytes"]):
                        made.write(part)
                said.append(None)
            except DocumentError as error:
                said.append(parts_of(changed() if error.error_class == "corrupt" else error))
    return said


class _AnyCase(ArcWarcRecordLoader):  # type: ignore[misc]
    """warcio takes addresses for those of the web only in lower case; RFC 3986 has schemes in either."""

    def load_http_headers(self, rec_type: str, uri: str | None, stream: Any, length: int | None) -> Any:
        if uri:
            scheme, colon, rest = uri.partition(":")
            uri = scheme.lower() + colon + rest
        return super().load_http_headers(rec_type, uri, stream, length)


def _records(file: Any, *, check_digests: bool = False) -> Any:
    records = ArchiveIterator(file, check_digests=check_digests)
    records.loader = _AnyCase(verify_http=False, arc2warc=False)
    return records


def _row(record: Any, max_bytes: int) -> dict[str, Any]:
    said: dict[str, Any] = {"skipped": _skipped(record), "refused": None, "sha": None, "size": None}
    if said["skipped"]:
        return said
    said["url"] = record.rec_headers.get_header("WARC-Target-URI").strip("<>")
    said["media_type"] = record.http_headers.get_header("Content-Type")
    said["captured"] = _time(record.rec_headers.get_header("WARC-Date"))
    digest, size = hashlib.sha256(), 0
    try:
        for part in _content(record, max_bytes):
            digest.update(part)
            size += len(part)
    except DocumentError as error:
        said["refused"] = [error.error_class, f"cannot be taken: {error}", error.remedy]
    else:
        said |= {"sha": digest.hexdigest(), "size": size}
    return said


def _place(records: Any, record: Any) -> dict[str, Any]:
    """Where the record begins. Reads it to its end, so that its digests and its length are known."""
    position = records.get_record_offset()
    if record.rec_headers.get_header("Content-Length") is None:
        raise _corrupt(f"the record at byte {position:,} ends within its headers, or states no length")
    left = getattr(record.raw_stream, "limit", 0)
    if left:
        raise _corrupt(f"the record at byte {position:,} ends {left:,} bytes early")
    said: dict[str, Any] = {"position": position}
    # Only that of the block: crawlers disagree on what a payload digest is taken over.
    if any(problem.startswith("block digest failed") for problem in record.digest_checker.problems):
        remedy = "fetch the archive anew, or leave it out with `exclude`"
        said |= {"refused": ["corrupt", "does not have the digest that it states", remedy], "sha": None}
    return said


def _skipped(record: Any) -> str | None:
    """Why a record is no document; null for a page."""
    if record.rec_type != "response":
        return f"record of type {record.rec_type}" if record.rec_type in _OTHER_TYPES else "other record"
    target = record.rec_headers.get_header("WARC-Target-URI") or ""
    if not target.strip("<>").lower().startswith(("http://", "https://")) or record.http_headers is None:
        return "not a web address"
    status = record.http_headers.get_statuscode()
    if status != "200":
        return f"status {status}" if _STATUS.fullmatch(status or "") else "no HTTP status"
    if record.rec_headers.get_header("WARC-Truncated"):
        return "truncated by the crawler"
    return None


def _content(record: Any, max_bytes: int) -> Iterator[bytes]:
    """The page without its transfer and content encodings."""
    encoding = (record.http_headers.get_header("Content-Encoding") or "").strip().lower()
    if encoding not in _KNOWN_ENCODINGS:
        raise DocumentError(
            "unknown_encoding",
            "the page is packed in a way that is not read (its Content-Encoding)",
            remedy="crawl it again with gzip alone, or leave the archive out with `exclude`",
        )
    size, stream = 0, record.content_stream()
    while part := stream.read(_CHUNK):
        size += len(part)
        if size > max_bytes:
            raise too_large(max_bytes)
        yield part


def _whole(records: Any) -> Iterator[Any]:
    try:
        yield from records
    except (ArchiveLoadFailed, ValueError, EOFError, AttributeError, TypeError, LookupError, zlib.error) as error:
        raise _corrupt(f"it cannot be read as WARC from byte {records.offset:,} on ({type(error).__name__})") from error


def _check_gzip(path: Path, max_ratio: float) -> bool:
    """Whether an archive is gzipped. Reads it to its end then: warcio takes damage for the end of the archive."""
    with opened(str(path)) as packed:
        if packed.read(2) != b"\x1f\x8b":
            return False
        packed.seek(0)
        left = max(_SMALL, int(max_ratio * path.stat().st_size))
        try:
            with gzip.GzipFile(fileobj=packed) as file:
                while part := file.read(1 << 20):
                    left -= len(part)
                    if left < 0:
                        raise DocumentError(
                            "archive_ratio",
                            f"the archive unpacks to more than {max_ratio:g} times its size",
                            remedy="raise max_archive_ratio in the fetch settings if it is to be trusted",
                        )
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            what = "it ends early" if isinstance(error, EOFError) else "it is damaged"
            raise _corrupt(f"{what}, near byte {packed.tell():,}") from error
    return True


def _corrupt(what: str) -> DocumentError:
    return DocumentError(
        "corrupt",
        f"the archive is damaged: {what}",
        remedy="fetch it anew, write it anew with `warcio recompress`, or leave it out with `exclude`",
    )


def _time(value: str | None) -> str | None:
    try:
        parsed = datetime.fromisoformat(value or "")
    except ValueError:
        return None
    return (parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)).isoformat()
