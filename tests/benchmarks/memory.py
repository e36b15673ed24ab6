"""Peak memory of a run must not grow with the corpus: 500 against 5,000 documents.

    python -m tests.benchmarks.memory [FEW MANY]      (make bench-memory)

Layout analysis of borderless tables is off: it costs a second a page in the parser's own processes and nothing in
the memory of the run. Many copies without it have a TEDS that is demonstrably below the gate's floor, so that the large
run is blocked; that is a right verdict on such settings.
"""

import argparse
import tempfile
from pathlib import Path

import yaml

from tasks.demo.build import build
from tests.benchmarks.processes import Measured, measure


def main() -> None:
    """Runs both corpora and prints the peaks and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("few", type=int, nargs="?", default=500)
    parser.add_argument("many", type=int, nargs="?", default=5000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small = _run(Path(folder) / "few", arguments.few)
        large = _run(Path(folder) / "many", arguments.many)
    for name, one, other in (
        ("the run's own process", small.peak_root_bytes, large.peak_root_bytes),
        ("with server and workers", small.peak_tree_bytes, large.peak_tree_bytes),
    ):
        print(f"{name:24} {one / 2**20:7.0f} MiB  {other / 2**20:7.0f} MiB  ratio {other / one:.2f} (goal: under 1.20)")


def _run(folder: Path, documents: int) -> Measured:
    per_copy = len(build(folder / "probe").documents)
    built = build(folder, copies=max(2, round(documents / per_copy)))
    settings = yaml.safe_load(built.configuration.read_text(encoding="utf-8"))
    settings.setdefault("stages", {}).setdefault("parse", {})["tables"] = "ruled"
    built.configuration.write_text(yaml.safe_dump(settings), encoding="utf-8")
    measured = measure(["-m", "flows", "run", str(built.configuration)], folder / "run.log")
    print(f"{len(built.documents)} documents: {measured.wall_seconds:.0f} s, {measured.cpu_seconds:.0f} CPU seconds")
    print(next(line for line in (folder / "run.log").read_text(encoding="utf-8").splitlines() if "  run " in line))
    return measured


if __name__ == "__main__":
    main()
