"""Bodies as their Content-Encoding says they are packed (RFC 9110, 8.4.1), unpacked piece by piece.

Not left to the client: that takes a packed stream which ends in its middle for a whole one.
"""

import zlib
from collections.abc import Iterable, Iterator

_PIECE = 2**20
_GZIP, _ZLIB, _BARE = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_FORMATS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}
_NOT_ASKED_FOR = frozenset({"br", "zstd", "compress", "x-compress", "dcb", "dcz"})
_MAGIC = b"\x1f\x8b"


class BadPackingError(Exception):
    """The bytes are not packed as it is said."""


class TruncatedError(Exception):
    """The packed stream ends before its end."""


def unpacked(parts: Iterable[bytes], content_encoding: str) -> Iterator[bytes]:
    """The body in pieces of a mebibyte at most. A name that is no packing (`identity`, `utf-8`) leaves it as it is.

    Raises:
        BadPackingError: the bytes are packed otherwise, or in a way that nobody asked for.
        TruncatedError: after the last piece, where the stream is not complete.

    >>> b"".join(unpacked([zlib.compress(b"berth")], "deflate"))
    b'berth'
    """
    for name in reversed([name.strip().lower() for name in content_encoding.split(",")]):
        if name in _NOT_ASKED_FOR:
            raise BadPackingError
        if name in _FORMATS:
            parts = _unpacked(parts, _FORMATS[name])
    yield from parts


def _unpacked(parts: Iterable[bytes], form: int) -> Iterator[bytes]:
    stream = zlib.decompressobj(form)
    begun = False
    for part in parts:
        data = part
        while data:
            if stream.eof:
                if form != _GZIP or not data.startswith(_MAGIC):
                    return  # padding after the end
                stream = zlib.decompressobj(form)
            try:
                made = stream.decompress(data, _PIECE)
            except zlib.error as error:
                if begun or form != _ZLIB:
                    raise BadPackingError from error
                # Some servers send bare deflate streams under this name.
                form, stream = _BARE, zlib.decompressobj(_BARE)
                continue
            begun = True
            data = stream.unused_data if stream.eof else stream.unconsumed_tail
            if made:
                yield made
    if begun and not stream.eof:
        if left := stream.flush():
            yield left
        if not stream.eof:
            raise TruncatedError
