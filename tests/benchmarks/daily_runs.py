"""Whether a lake ages well: many small runs, each after two edits, an addition and a deletion.

    python -m tests.benchmarks.daily_runs [DAYS]      (200 days)

The runs are made in this process and without Prefect, so that what is timed is the engine. What must be bounded: the
files of each part of the lake, a run's CPU seconds, and those of the plan that precedes it.
"""

import argparse
import tempfile
import time
from pathlib import Path

from tasks.run.configuration import load_configuration
from tasks.run.options import WHOLE
from tasks.run.preview import preview
from tests.benchmarks.reingestion import build_texts, change, write_note
from tests.engine import run_engine

_DOCUMENTS = 200
_PARTS = ("stages", "measures", "ledger", "quarantine", "raw", "runs", "gold", "index", "cache")


def main() -> None:
    """Prints files and CPU seconds of the first two days and of every tenth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("days", type=int, nargs="?", default=200)
    days = parser.parse_args().days
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        configuration = load_configuration(build_texts(folder, _DOCUMENTS))
        # A day here takes seconds: no generation is young at its end.
        kept = configuration.run.model_copy(update={"keep_retired_seconds": 0.0})
        configuration = configuration.model_copy(update={"run": kept})
        run_engine(configuration)
        for day in range(1, days + 1):
            change(folder, 2, seed=day)
            write_note(folder, _DOCUMENTS + day)
            oldest = min((folder / "texts").rglob("*.md"), key=lambda path: path.name)
            oldest.unlink()
            started = time.process_time()
            preview(configuration, WHOLE, names=5)
            planned = time.process_time()
            run = run_engine(configuration)
            ended = time.process_time()
            if day <= 2 or day % 10 == 0:
                files = {
                    part: sum(1 for path in (folder / "lake" / part).rglob("*") if path.is_file()) for part in _PARTS
                }
                size = sum(path.stat().st_size for path in (folder / "lake").rglob("*") if path.is_file())
                print(
                    f"day {day:4}  {run.verdict.status}  CPU s: plan {planned - started:.2f} run {ended - planned:.2f}"
                    f"  {size / 2**20:6.1f} MiB  {sum(files.values())} files: "
                    + "  ".join(f"{part} {count}" for part, count in files.items()),
                    flush=True,
                )


if __name__ == "__main__":
    main()
