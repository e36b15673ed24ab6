"""What a re-run costs: of documents of which nothing or one in a hundred has changed, against the full run; and whether
a hundred unreadable scans among them are noticed.

    python -m tests.benchmarks.reingestion [DOCUMENTS]      (make bench-reingestion; 10,000 documents)

`--sections` makes the documents longer: 3 are 1 to 2 KB, 10 about 5 KB, as much as the main text of a web page.
The lake of a full run can be kept and used again: `--folder FOLDER`. A run of a single document gives what does not
grow with the corpus: starting Python, the models and the server, and sub-flows.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from tests.benchmarks.processes import Measured, measure
from tests.scans import unreadable_scan

_SCANS = 100

_SYLLABLES = ("ba", "den", "dor", "fel", "gan", "hol", "kar", "lim", "mer", "nov", "ost", "pel", "quin", "ras", "yar")
_THINGS = ("pump", "valve", "harbour", "ledger", "bridge", "motor", "crane", "seal", "filter", "gauge", "depot", "lamp")
_VERBS = ("checks", "replaces", "carries", "measures", "covers", "follows", "opens", "repairs", "records", "supplies")


def main() -> None:
    """Builds the corpus, runs it three times, prints times and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=int, nargs="?", default=10_000)
    parser.add_argument("--folder", type=Path, help="keep corpus and lake here, and use those that are there")
    parser.add_argument("--sections", type=int, default=10, help="sections of a document, give or take one (10)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        fixed = _fixed(folder / "one")
        configuration = folder / "corpusgate.yaml"
        full = (
            None
            if configuration.exists()
            else _run(build_texts(folder, arguments.documents, arguments.sections), "full run")
        )
        unchanged = _run(configuration, "nothing changed")
        change(folder, max(1, arguments.documents // 100), seed=time.time_ns())
        changed = _run(configuration, "1 % changed")
        for number in range(_SCANS):
            path = folder / "texts" / "scans" / f"{number}.pdf"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(unreadable_scan(number))
        _run(configuration, "unreadable scans")
        named = _named(folder / "lake")
    print(
        f"unchanged: {unchanged.wall_seconds - fixed.wall_seconds:.1f} s beyond a run of one document (goal: under 10)"
    )
    print(f"unreadable scans: {named} of {_SCANS} are named by a rule that blocks")
    if full is not None:
        for name in ("wall_seconds", "cpu_seconds"):
            ratio = float(getattr(full, name)) / float(getattr(changed, name))
            print(f"1 % changed, {name.replace('_', ' ')}: {ratio:.1f} times as fast as the full run (goal: 30)")


def build_texts(folder: Path, documents: int, sections: int = 3) -> Path:
    """Writes as many text documents (no two alike) and a configuration; returns its path."""
    for number in range(documents):
        write_note(folder, number, sections)
    configuration = folder / "corpusgate.yaml"
    source = {"name": "notes", "type": "files", "root": "./texts"}
    classes = [
        {"class": name, "path": f"**/note-*{digits}.md"} for name, digits in (("odd", "[13579]"), ("even", "[02468]"))
    ] + [{"class": "scan", "path": "scans/**"}]
    configuration.write_text(json.dumps({"lake": "./lake", "sources": [source], "classes": classes}), encoding="utf-8")
    return configuration


def write_note(folder: Path, number: int, sections: int = 3) -> None:
    """Writes one of the documents; the same number gives the same text."""
    path = folder / "texts" / f"{number // 500:03d}" / f"note-{number:05d}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text(random.Random(number), number, sections), encoding="utf-8")


def change(folder: Path, documents: int, seed: int) -> None:
    """Gives as many documents another paragraph."""
    chance = random.Random(seed)
    for path in chance.sample(sorted((folder / "texts").rglob("*.md")), documents):
        path.write_text(path.read_text(encoding="utf-8") + "\n" + _paragraph(chance) + "\n", encoding="utf-8")


def _text(chance: random.Random, number: int, sections: int) -> str:
    parts = [f"# Note {number} on the {chance.choice(_THINGS)} of {_name(chance)}"]
    for _ in range(chance.randint(sections - 1, sections + 1)):
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


def _named(lake: Path) -> int:
    """How many documents the newest run's blocking findings on documents that failed in class `scan` are about."""
    newest = max((lake / "runs").iterdir(), key=lambda path: path.name)
    verdict = json.loads((newest / "verdict.json").read_text(encoding="utf-8"))
    return sum(
        reason["items"]
        for reason in verdict["reasons"]
        if (reason["metric"], reason["slice_value"]) == ("unexpected_quarantine", "scan")
        and (reason["severity"], reason["outcome"]) == ("fail", "broken")
    )


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
