"""Reading a document from a local file."""

import os
import re
import stat

from tasks.errors import DocumentError

_TRIES = 3
_UNDECODABLE = re.compile("[\udc80-\udcff\ufffd]")
_ESCAPED = re.compile("\ufffd(\ufffd|[0-9a-f]{2})")


def portable_name(name: str) -> str:
    """A file name as valid Unicode text, so that it can stand in a table.

    A byte that is not text in the file system's encoding becomes U+FFFD and two hexadecimal digits; a U+FFFD that is
    really there is doubled. Every other name stays as it is. `system_name` leads back.

    >>> portable_name("caf\\udce9.txt") == "caf\\ufffde9.txt"
    True
    """
    return _UNDECODABLE.sub(
        lambda found: "\ufffd\ufffd" if found[0] == "\ufffd" else f"\ufffd{ord(found[0]) - 0xDC00:02x}", name
    )


def system_name(name: str) -> str:
    """The file name that `portable_name` made text of.

    >>> system_name(portable_name("caf\\udce9 \\ufffd")) == "caf\\udce9 \\ufffd"
    True
    """
    return _ESCAPED.sub(lambda found: "\ufffd" if found[1] == "\ufffd" else chr(0xDC00 + int(found[1], 16)), name)


def read_file(locator: str, max_bytes: int) -> bytes:
    """The bytes of a regular file, at most `max_bytes` of them. A symbolic link is not followed.

    A file that is written to while it is read is read again: half of one version and half of another is neither.

    Raises:
        DocumentError: `unreadable` or `changed` (transient), `not_a_file` or `too_large`.
    """
    for _ in range(_TRIES):
        data, whole = _read_once(locator, max_bytes)
        if len(data) > max_bytes:
            raise too_large(max_bytes)
        if whole:
            return data
    raise DocumentError(
        "changed",
        f"the file was written to each of the {_TRIES} times that it was read",
        remedy="have it written under another name and renamed when it is whole; the next run tries again",
        transient=True,
    )


def _read_once(locator: str, max_bytes: int) -> tuple[bytes, bool]:
    """The bytes of a file, and whether nobody wrote to it meanwhile."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(system_name(locator), flags)
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise DocumentError(
                    "not_a_file",
                    "a folder, pipe, device or socket stands here",
                    remedy="leave it out with `exclude`",
                )
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(max_bytes + 1)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise DocumentError(
            "unreadable",
            f"the file cannot be read: {error.strerror}",
            remedy="check that it exists, its permissions, and that it is no link out of the source; then run again",
            transient=True,
        ) from error
    return data, (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)


def too_large(max_bytes: int) -> DocumentError:
    """The error for a document above the limit."""
    return DocumentError(
        "too_large",
        f"the document is larger than {max_bytes:,} bytes",
        remedy="raise max_bytes in the fetch settings, or leave the document out",
    )
