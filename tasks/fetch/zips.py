"""ZIP archives: what they hold and their members' bytes. Runs in the cage."""

import json
import stat
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

from tasks.errors import DocumentError
from tasks.fetch.containers import ErrorParts, changed, parts_of
from tasks.fetch.local import too_large
from tasks.fetch.stores import open_url

_SMALL = 1 << 20
"""Up to this size a member may be of any ratio: a few spaces repeated compress well."""
_CHUNK = 1 << 20
_MOST_MEMBERS = 1_000_000


def scan(url: str, max_ratio: float, out: str, _: Any) -> int:
    """Writes a line for each member that is no folder.

    Raises:
        DocumentError: `corrupt` or `archive_bomb`: it is no ZIP archive, or one made to do harm.
    """
    with _reached(url) as file, _opened(file) as archive, Path(out).open("w", encoding="utf-8") as lines:
        members = archive.infolist()
        packed = sum(member.compress_size for member in members)
        if len(members) > _MOST_MEMBERS or packed > file.seek(0, 2):
            raise DocumentError(
                "archive_bomb",
                "the archive claims more members than it can hold: they overlap, or there are above a million",
                remedy="do not trust it; leave it out, or unpack it by hand in a safe place",
            )
        for member in members:
            if not member.is_dir():
                lines.write(json.dumps(_row(member, max_ratio)) + "\n")
    return len(members)


def _row(member: zipfile.ZipInfo, max_ratio: float) -> dict[str, Any]:
    year, month, day, hour, minute, second = member.date_time
    modified = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    return {
        "name": member.filename,
        "position": member.header_offset,
        "size": member.file_size,
        # A time of day without a zone, in steps of two seconds; read as UTC.
        "modified": None if (year, month, day) == (1980, 1, 1) else modified,
        "version": f"crc={member.CRC:08x} size={member.file_size} modified={modified}",
        "refused": _refusal(member, max_ratio),
    }


def _refusal(member: zipfile.ZipInfo, max_ratio: float) -> tuple[str, str, str] | None:
    if member.flag_bits & 1:
        return "encrypted", "the member is encrypted", "write the archive without a password, or leave the member out"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "not_a_file", "the member is a symbolic link", "leave it out with `exclude`"
    if member.file_size > _SMALL and member.file_size > max_ratio * max(1, member.compress_size):
        return (
            "archive_ratio",
            f"the member unpacks to more than {max_ratio:g} times its packed size",
            "raise max_archive_ratio in the fetch settings if the archive is to be trusted, or leave the member out",
        )
    return None


def take(
    url: str, wanted: list[tuple[int, str | None]], folder: str, limits: dict[str, Any], _: Any
) -> list[ErrorParts | None]:
    """Writes the wanted members (by the offset of their headers) into the folder."""
    said: list[ErrorParts | None] = []
    with _reached(url) as file, _opened(file) as archive:
        members = {member.header_offset: member for member in archive.infolist()}
        for number, (position, _column) in enumerate(wanted):
            try:
                member = members.get(position)
                if member is None:
                    raise changed()
                _write(archive, member, Path(folder) / str(number), limits["max_bytes"], limits["max_ratio"])
                said.append(None)
            except DocumentError as error:
                said.append(parts_of(error))
    return said


def _write(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, max_bytes: int, max_ratio: float) -> None:
    if (refusal := _refusal(member, max_ratio)) is not None:
        raise DocumentError(refusal[0], refusal[1], remedy=refusal[2])
    size = 0
    try:
        with archive.open(member) as packed, target.open("wb") as made:
            while part := packed.read(_CHUNK):
                size += len(part)
                if size > max_bytes:
                    raise too_large(max_bytes)
                made.write(part)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DocumentError(
            "corrupt",
            f"the member cannot be unpacked ({type(error).__name__})",
            remedy="write the archive anew with deflate and without a password, or leave the member out",
        ) from error


def _reached(url: str) -> IO[bytes]:
    try:
        return open_url(url)
    except OSError as error:
        raise DocumentError(
            "unreachable",
            f"the archive cannot be opened ({type(error).__name__})",
            remedy="check that it is there, the right to read it and the network; then run again",
            transient=True,
        ) from error


def _opened(file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, UnicodeError, OverflowError) as error:
        raise DocumentError(
            "corrupt",
            f"the archive cannot be read as ZIP ({type(error).__name__})",
            remedy="write it anew, or take it out of the source",
        ) from error
