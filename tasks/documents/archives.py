"""Opening ZIP archives of foreign origin (Office files, EPUB): nothing is unpacked to disk, sizes are checked first."""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import BaseModel, ConfigDict, Field

from tasks.errors import DocumentError

_SMALL = 16 * 2**20
"""Bytes up to which a part may be packed as tightly as it likes: sheets of equal rows are."""

_REPLACE = "fetch the file again; if it does not open in its own program either, take it out of the source"
_REMEDY = "look at what the file is; if it is no trap, raise the limit in the settings of parse"


class ContainerLimits(BaseModel):
    """What files that hold other files may hold. A file over a limit is quarantined, or is a part without output."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_unpacked_mb: int = Field(
        default=512, ge=1, le=65_536, description="MiB that the parts of an Office file or a book may unpack to."
    )
    max_ratio: int = Field(
        default=200,
        ge=2,
        description="How many times larger than packed a part may be, where it unpacks to more than 16 MiB.",
    )
    max_members: int = Field(default=20_000, ge=1, description="Parts that an Office file or a book may have.")
    max_attachments: int = Field(
        default=200, ge=0, description="Attachments of one message that are read, those of attached messages included."
    )
    max_depth: int = Field(
        default=3,
        ge=0,
        description="How deep attachments are followed; an attachment of an attached message is at depth 2.",
    )


DEFAULT_LIMITS = ContainerLimits()


def open_archive(source: Path | BinaryIO, limits: Mapping[str, Any]) -> zipfile.ZipFile:
    """Opens an archive whose declared sizes stay within the limits (`ContainerLimits` as a mapping).

    Reading a member never gives more bytes than the directory declares, so that the check holds for what follows.

    Raises:
        DocumentError: `corrupt`, `encrypted`, or `archive_limit`.
    """
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise DocumentError(
            "corrupt",
            f"the file is a ZIP archive that cannot be opened ({type(error).__name__})",
            remedy=_REPLACE,
        ) from None
    members = archive.infolist()
    if len(members) > limits["max_members"]:
        raise _over("max_members", f"has {len(members):,} parts", limits["max_members"])
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits["max_unpacked_mb"] * 2**20:
        raise _over("max_unpacked_mb", f"unpacks to {unpacked / 2**20:,.0f} MiB", limits["max_unpacked_mb"])
    for member in members:
        if member.file_size > _SMALL and member.file_size > limits["max_ratio"] * max(1, member.compress_size):
            ratio = member.file_size // max(1, member.compress_size)
            raise _over("max_ratio", f"has a part packed {ratio:,} times", limits["max_ratio"])
    if any(member.flag_bits & 1 for member in members):
        raise DocumentError(
            "encrypted",
            "the file needs a password to be read",
            remedy="remove the password and replace the file in the source",
        )
    return archive


def read_member(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """The bytes of a member; null where there is none of that name.

    Raises:
        DocumentError: `corrupt`.
    """
    try:
        return archive.read(name)
    except KeyError:
        return None
    except (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        raise DocumentError(
            "corrupt", f"a part of the file cannot be unpacked ({type(error).__name__})", remedy=_REPLACE
        ) from None


def _over(setting: str, what: str, limit: int) -> DocumentError:
    return DocumentError("archive_limit", f"the file {what}; containers.{setting} is {limit:,}", remedy=_REMEDY)
