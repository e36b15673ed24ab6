"""What Prefect, the lake and the evaluators add to the bare stages: in time, and in CPU seconds of all processes.

    python -m tests.benchmarks.overhead [COPIES]      (make bench-overhead; the demo corpus times 50)

Both sides run once on the demo corpus itself and once on it many times over. The first gives what does not grow
with the corpus (starting Python, models, the server, sub-flows); the difference is what documents cost.
"""

import argparse
import tempfile
from pathlib import Path

from tasks.demo.build import build
from tests.benchmarks.processes import Measured, measure


def main() -> None:
    """Builds both corpora, measures both sides on each, prints the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("copies", type=int, nargs="?", default=50, help="how many times the demo corpus (50)")
    copies = parser.parse_args().copies
    with tempfile.TemporaryDirectory() as folder:
        one, many = Path(folder) / "one", Path(folder) / "many"
        few, documents = (len(build(place, copies=n).documents) for place, n in ((one, 2), (many, copies)))
        bare = [_bare(place) for place in (one, many)]
        full = [_full(place) for place in (one, many)]
    print(f"documents                 {few} and {documents}")
    for name, unit in (("wall_seconds", "seconds"), ("cpu_seconds", "CPU seconds")):
        alone, whole = ([float(getattr(side, name)) for side in sides] for sides in (bare, full))
        per_bare, per_full = ((side[1] - side[0]) / (documents - few) for side in (alone, whole))
        print(f"bare stages, {unit:12} {alone[1]:.1f} ({per_bare * 1000:.1f} ms a document)")
        print(f"whole run, {unit:14} {whole[1]:.1f} ({per_full * 1000:.1f} ms a document)")
        print(f"added per document        {(per_full / per_bare - 1) * 100:+.1f} % (goal: at most 10 %)")
        print(f"fixed: server, sub-flows  {whole[0] - alone[0] - (per_full - per_bare) * few:.1f} {unit}")


def _bare(folder: Path) -> Measured:
    return measure(["-m", "tests.benchmarks.bare", str(folder / "corpusgate.yaml")], folder / "bare.log")


def _full(folder: Path) -> Measured:
    return measure(["-m", "flows", "run", str(folder / "corpusgate.yaml")], folder / "run.log")


if __name__ == "__main__":
    main()
