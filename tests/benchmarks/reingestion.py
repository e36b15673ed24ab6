"""What a re-run costs: of small documents, of which nothing or one in a hundred has changed, against the full run.

    python -m tests.benchmarks.reingestion [DOCUMENTS]      (make bench-reingestion; 10,000 documents)

The lake of a full run can be kept and used again: `--folder FOLDER`. A run of a single document gives what does not
grow with the corpus: starting Python, the models and the server, and sub-flows. With `--days N` as many small runs
follow, of a smaller corpus, each after an edit, an addition or a deletion: the lake's files and the times of its runs
must be bounded.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from tests.benchmarks.processes import Measured, measure

_PARTS = ("stages", "measures", "ledger", "quarantine", "raw", "runs", "gold", "index")
_SYLLABLES = ("ba", "den", "dor", "fel", "gan", "hol", "kar", "lim", "mer", "nov", "ost", "pel", "quin", "ras", "yar")
_THINGS = ("pump", "valve", "harbour", "ledger", "bridge", "motor", "crane", "seal", "filter", "gauge", "depot", "lamp")
_VERBS = ("checks", "replaces", "carries", "measures", "covers", "follows", "opens", "repairs", "records", "supplies")


def main() -> None:
    """Builds the corpus, runs it three times, prints times and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=int, nargs="?", default=10_000)
    parser.add_argument("--folder", type=Path, help="keep corpus and lake here, and use those that are there")
    parser.add_argument("--days", type=int, default=0, help="small daily runs of a corpus of 200 documents (0)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        if arguments.days:
            _days(folder / "days", arguments.days)
            return
        fixed = _fixed(folder / "one")
        configuration = folder / "corpusgate.yaml"
        full = None if configuration.exists() else _run(build_texts(folder, arguments.documents), "full run")
        unchanged = _run(configuration, "nothing changed")
        change(folder, max(1, arguments.documents // 100), seed=time.time_ns())
        changed = _run(configuration, "1 % changed")
    print(
        f"unchanged: {unchanged.wall_seconds - fixed.wall_seconds:.1f} s beyond a run of one document (goal: under 10)"
    )
    if full is not None:
        for name in ("wall_seconds", "cpu_seconds"):
            ratio = float(getattr(full, name)) / float(getattr(changed, name))
            print(f"1 % changed, {name.replace('_', ' ')}: {ratio:.1f} times as fast as the full run (goal: 30)")


def _days(folder: Path, days: int) -> None:
    """Prints the number of files and the time of the first, and of the last ten of as many daily runs."""
    configuration = build_texts(folder, 200)
    _run(configuration, "day 0")
    for day in range(1, days + 1):
        change(folder, 2, seed=day)
        (folder / "texts" / "000" / f"note-{day:05d}.md").unlink(missing_ok=True)
        measured = measure(["-m", "flows", "run", str(configuration)], folder / "run.log")
        if day in (1, 2) or day % 10 == 0:
            lake = folder / "lake"
            files = {part: sum(path.is_file() for path in (lake / part).rglob("*")) for part in _PARTS}
            said = "  ".join(f"{part} {count}" for part, count in files.items())
            print(f"day {day:4}  {measured.wall_seconds:5.1f} s  {measured.cpu_seconds:5.1f} CPU s  {said}", flush=True)


def build_texts(folder: Path, documents: int) -> Path:
    """Writes as many small text documents (1 to 2 KB each, no two alike) and a configuration; returns its path."""
    chance = random.Random(documents)
    for number in range(documents):
        path = folder / "texts" / f"{number // 500:03d}" / f"note-{number:05d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_text(chance, number), encoding="utf-8")
    configuration = folder / "corpusgate.yaml"
    source = {"name": "notes", "type": "files", "root": "./texts"}
    classes = [
        {"class": name, "path": f"**/note-*{digits}.md"} for name, digits in (("odd", "[13579]"), ("even", "[02468]"))
    ]
    configuration.write_text(json.dumps({"lake": "./lake", "sources": [source], "classes": classes}), encoding="utf-8")
    return configuration


def change(folder: Path, documents: int, seed: int) -> None:
    """Gives as many documents another paragraph."""
    chance = random.Random(seed)
    for path in chance.sample(sorted((folder / "texts").rglob("*.md")), documents):
        path.write_text(path.read_text(encoding="utf-8") + "\n" + _paragraph(chance) + "\n", encoding="utf-8")


def _text(chance: random.Random, number: int) -> str:
    parts = [f"# Note {number} on the {chance.choice(_THINGS)} of {_name(chance)}"]
    for _ in range(chance.randint(2, 4)):
        parts += [f"## {_name(chance)} and the {chance.choice(_THINGS)}", _paragraph(chance)]
    return "\n\n".join(parts) + "\n"


def _paragraph(chance: random.Random) -> str:
    return " ".join(
        f"The {_name(chance).lower()} {chance.choice(_THINGS)} {chance.choice(_VERBS)} the {chance.choice(_THINGS)} "
        f"of {_name(chance)}, and {chance.randint(2, 999)} {_name(chance).lower()} are in the {chance.choice(_THINGS)}."
        for _ in range(chance.randint(3, 5))
    )


def _name(chance: random.Random) -> str:
    return "".join(chance.choices(_SYLLABLES, k=3)).capitalize()


def _fixed(folder: Path) -> Measured:
    configuration = folder / "corpusgate.yaml"
    if not configuration.exists():
        build_texts(folder, 1)
        measure(["-m", "flows", "run", str(configuration)], folder / "first.log")
    return _run(configuration, "one document")


def _run(configuration: Path, name: str) -> Measured:
    log = configuration.parent / "run.log"
    measured = measure(["-m", "flows", "run", str(configuration)], log)
    print(
        f"{name:16} {measured.wall_seconds:6.1f} s  {measured.cpu_seconds:6.1f} CPU seconds"
        f"  peak {measured.peak_root_bytes / 2**20:.0f} MiB",
        flush=True,
    )
    return measured


if __name__ == "__main__":
    main()
