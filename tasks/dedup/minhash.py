"""MinHash signatures, compiled: all hashes of a document's shingles in one pass over its characters.

A. Broder, "On the resemblance and containment of documents" (1997). A shingle is a run of `shingle_size` code
points of the comparison text. Its fingerprint is a rolled polynomial modulo 2**64, mixed to 32 bits; hash i of
it is a[i]*x + b[i] modulo 2**32 with odd a[i], a permutation of the 32-bit numbers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.dedup.compared import Shared
from tasks.metrics.compilation import compiled

_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_SEED = 20_011
_EMPTY = np.uint32(0xFFFFFFFF)
_SAMPLED_BITS = 6
_SAMPLED = np.uint64(64 - _SAMPLED_BITS)
_ANCHOR = np.uint64(64 - _SAMPLED_BITS - 32)

ANCHOR_SIZE = 20
"""Code points in the shingles that anchors are sampled from: of five, the rarest stand in half of all texts; of twenty,
hardly one stands in a text that has nothing to do with it."""


def coefficients(hashes: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The multipliers (odd) and summands of the hash functions; the first n are the same for every count.

    >>> few, many = coefficients(16), coefficients(128)
    >>> bool((few[0] == many[0][:16]).all() and (few[1] == many[1][:16]).all())
    True
    """
    drawn = np.random.Generator(np.random.PCG64(_SEED)).integers(0, 2**32, size=(hashes, 2), dtype=np.uint32)
    return np.ascontiguousarray(drawn[:, 0] | np.uint32(1)), np.ascontiguousarray(drawn[:, 1])


@compiled
def _mix(x: Any) -> Any:
    """The finalizer of MurmurHash3: every input bit reaches every output bit."""
    x ^= x >> np.uint64(33)
    x *= _MIX_1
    x ^= x >> np.uint64(33)
    x *= _MIX_2
    return x ^ (x >> np.uint64(33))


@compiled
def _fingerprints(points: Any, size: int, out: Any) -> None:
    """64-bit fingerprints of all shingles of one text, rolled."""
    leaving = np.uint64(1)
    for _ in range(size):
        leaving *= _BASE
    rolled = np.uint64(0)
    for i in range(points.size):
        rolled = rolled * _BASE + np.uint64(points[i]) + np.uint64(1)
        if i >= size:
            rolled -= leaving * (np.uint64(points[i - size]) + np.uint64(1))
        if i >= size - 1:
            out[i - size + 1] = _mix(rolled)


@compiled
def _signatures(points: Any, starts: Any, size: int, a: Any, b: Any, out: Any, bands: Any) -> None:
    hashes = a.size
    rows = hashes // bands.shape[1]
    for d in range(starts.size - 1):
        least = out[d]
        text = points[starts[d] : starts[d + 1]]
        if text.size >= size:
            shingles = np.empty(text.size - size + 1, np.uint64)
            _fingerprints(text, size, shingles)
            for s in range(shingles.size):
                x = np.uint32(shingles[s])
                for j in range(hashes):
                    h = np.uint32(a[j] * x + b[j])
                    least[j] = min(least[j], h)
        for band in range(bands.shape[1]):
            key = np.uint64(band + 1)
            for row in range(rows):
                key = _mix(key * _BASE + np.uint64(least[band * rows + row]))
            bands[d, band] = key


@compiled
def _common(a: Any, b: Any) -> Any:
    """How many numbers two sorted arrays of distinct numbers share."""
    i = j = count = 0
    while i < a.size and j < b.size:
        if a[i] < b[j]:
            i += 1
        elif a[i] > b[j]:
            j += 1
        else:
            count += 1
            i += 1
            j += 1
    return count


@compiled
def _sample(fingerprints: Any, out: Any) -> Any:
    """Writes the anchors among fingerprints to `out`; returns how many there are."""
    count = 0
    for i in range(fingerprints.size):
        if fingerprints[i] >> _SAMPLED == np.uint64(0):
            out[count] = np.uint32(fingerprints[i] >> _ANCHOR)
            count += 1
    return count


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def signatures(
    texts: list[str], *, shingle_size: int, hashes: int, bands: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """Signature (documents x hashes) and band keys (documents x bands) of comparison texts.

    A text shorter than a shingle has the empty signature (all bits set). Band keys hold the band's number, so
    that equal keys mean the same band.
    """
    a, b = coefficients(hashes)
    starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    out = np.full((len(texts), hashes), _EMPTY, dtype=np.uint32)
    keys = np.zeros((len(texts), bands), dtype=np.uint64)
    _signatures(code_points("".join(texts)), starts, shingle_size, a, b, out, keys)
    return out, keys


def anchors(text: str) -> NDArray[np.uint32]:
    """The distinct anchors of a comparison text, sorted: the runs of `ANCHOR_SIZE` code points whose fingerprint begins
    with six zero bits, on average one in 64.

    Which they are depends on nothing but the run: if a text holds another one, it holds its anchors, whatever the sizes
    (the sketch modulo m of A. Broder, "On the resemblance and containment of documents", 1997). An anchor is 32 further
    bits of the fingerprint.
    """
    fingerprints = _rolled(text, ANCHOR_SIZE)
    out = np.empty(fingerprints.size, dtype=np.uint32)
    return np.unique(out[: _sample(fingerprints, out)])


def shingle_set(text: str, shingle_size: int) -> NDArray[np.uint64]:
    """The distinct 64-bit fingerprints of a text's shingles, sorted."""
    found = _rolled(text, shingle_size)
    # Not `np.unique`, which hashes first and takes ten times as long.
    found.sort()
    first = np.ones(found.size, np.bool_)
    np.not_equal(found[1:], found[:-1], out=first[1:])
    return found[first]


def _rolled(text: str, shingle_size: int) -> NDArray[np.uint64]:
    out = np.empty(max(0, len(text) - shingle_size + 1), dtype=np.uint64)
    if out.size:
        _fingerprints(code_points(text), shingle_size, out)
    return out


def shared(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> Shared:
    """How much two shingle sets (sorted, distinct) share."""
    return Shared(int(_common(a, b)), a.size, b.size)
