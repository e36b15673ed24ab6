"""Maximum mean discrepancy against scipy's distances, in one process, seconds of CPU.

    python -m tests.benchmarks.drift      (make bench-drift)

The peer computes the three matrices of distances with `scipy.spatial.distance.cdist` and one Gaussian; ours is the
mean of three. Its p-value would take the matrix of all points; it is left out on that side.
"""

import resource
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tasks.metrics.mmd import mmd
from tasks.metrics.neighbours import neighbour_overlap
from tasks.metrics.separation import separation

_DIMENSION = 384
_PERMUTATIONS = 200


def main() -> None:
    """Prints seconds, ratios and memory."""
    one, other = _unit(5000, 1), _unit(5000, 2)
    before = _peak()
    mmd(one, other, permutations=_PERMUTATIONS)
    print(f"5,000 points a side take {_peak() - before:.0f} MiB more than their vectors")
    print(f"dimension {_DIMENSION}, {_PERMUTATIONS} permutations")
    print("points a side    cdist      mmd    ratio  goal    mmd + p-value  to one mmd  goal   auc      neighbours")
    for number in (500, 2000, 5000):
        one, other = _unit(number, 1), _unit(number, 2)
        peer = _seconds(lambda: _peer(one, other), 1)  # noqa: B023
        bare = _seconds(lambda: mmd(one, other))  # noqa: B023
        whole = _seconds(lambda: mmd(one, other, permutations=_PERMUTATIONS))  # noqa: B023
        area = _seconds(lambda: separation(one, other), 1)  # noqa: B023
        near = _seconds(lambda: neighbour_overlap(one, other), 1)  # noqa: B023
        print(
            f"{number:13} {peer:8.2f} {bare:8.3f} {peer / bare:7.0f}x   10x {whole:12.3f} s {whole / bare:10.2f}x    2x"
            f" {area:8.2f} s {near:8.2f} s"
        )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _peer(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    kernels = [np.exp(-cdist(a, b, "sqeuclidean") / 2) for a, b in ((one, one), (other, other), (one, other))]
    m, n = len(one), len(other)
    return float(
        (kernels[0].sum() - m) / (m * (m - 1)) + (kernels[1].sum() - n) / (n * (n - 1)) - 2 * kernels[2].mean()
    )


def _unit(number: int, seed: int) -> NDArray[np.float32]:
    points = np.random.default_rng(seed).normal(size=(number, _DIMENSION))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def _seconds(call: Callable[[], object], repeats: int = 3) -> float:
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return best


if __name__ == "__main__":
    main()
