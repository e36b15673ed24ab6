"""What Prefect, the lake and the evaluators add to the bare stages, in CPU seconds of the whole process tree.

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
    per_bare = (bare[1].cpu_seconds - bare[0].cpu_seconds) / (documents - few)
    per_full = (full[1].cpu_seconds - full[0].cpu_seconds) / (documents - few)
    fixed = full[0].cpu_seconds - bare[0].cpu_seconds - (per_full - per_bare) * few
    print(f"documents                       {documents}")
    print(f"bare stages, CPU seconds        {bare[1].cpu_seconds:.1f} ({per_bare * 1000:.1f} ms a document)")
    print(f"corpusgate run, CPU seconds     {full[1].cpu_seconds:.1f} ({per_full * 1000:.1f} ms a document)")
    print(f"added per document              {(per_full / per_bare - 1) * 100:.1f} % (goal: at most 10 %)")
    print(f"fixed: server, sub-flows, start {fixed:.1f} CPU seconds")
    print(f"wall seconds                    bare {bare[1].wall_seconds:.0f}, run {full[1].wall_seconds:.0f}")


def _bare(folder: Path) -> Measured:
    return measure(["-m", "tests.benchmarks.bare", str(folder / "corpusgate.yaml")], folder / "bare.log")


def _full(folder: Path) -> Measured:
    return measure(["-m", "flows", "run", str(folder / "corpusgate.yaml")], folder / "run.log")


if __name__ == "__main__":
    main()
